"""UnregisterController: removes a controller's registration from the cluster."""

DECLARATION = """
api 94 UnregisterController
versions 0
flexible 0+
listeners broker controller
route controller
sent by tool
mutates
replay never
    # a controller is known by its registration
errors_observed CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER CONTROLLER_ID_NOT_REGISTERED
line controller >controller_id
example {"controller_id": -1}
request
    controller_id  int32  0+
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+
"""
