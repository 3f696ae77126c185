"""ApiVersions: a client asks which APIs and versions a broker speaks (KIP-35, KIP-511, KIP-584 features, KIP-1242)."""

DECLARATION = """
api 18 ApiVersions
versions 0-5
flexible 3+
listeners broker controller
route any
sent by client tool broker controller
errors_observed INVALID_REQUEST
errors_expected UNSUPPORTED_VERSION (KIP-511) the client is newer than the broker, and asks again as the broker can
example {"client_software_name": "kw", "client_software_version": "1", "cluster_id": null, "node_id": -1}
request
    client_software_name     string  3+  ignorable
    client_software_version  string  3+  ignorable
    cluster_id               string  5+  null 5+  = null  ignorable
    node_id                  int32   5+  = -1  ignorable  means broker
response
    error_code                int16     0+
    api_keys                  []struct  0+
        api_key      int16  0+  key  was index
        min_version  int16  0+
        max_version  int16  0+
    throttle_time_ms          int32     1+  ignorable
    supported_features        []struct  3+  tag 0  ignorable  since 2.7
        name         string  3+  key
        min_version  int16   3+
        max_version  int16   3+
    finalized_features_epoch  int64     3+  tag 1  = -1  ignorable  means unknown  since 2.7
    finalized_features        []struct  3+  tag 2  ignorable  since 2.7
        name               string  3+  key
        max_version_level  int16   3+
        min_version_level  int16   3+
    zk_migration_ready        bool      3+  tag 3  ignorable  since 3.4
"""
