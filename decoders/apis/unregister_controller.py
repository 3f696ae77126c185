"""UnregisterController: removes a controller's registration from the cluster."""

DECLARATION = """
api 94 UnregisterController
versions 0
flexible 0+
listeners broker controller
request
    controller_id  int32  0+
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+
"""
