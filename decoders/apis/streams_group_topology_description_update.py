"""StreamsGroupTopologyDescriptionUpdate: a Kafka Streams client hands in a readable description of its topology."""

DECLARATION = """
api 93 StreamsGroupTopologyDescriptionUpdate
versions 0
flexible 0+
listeners broker
route group group_id
sent by client
mutates
errors_listed COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR GROUP_AUTHORIZATION_FAILED
    INVALID_REQUEST UNSUPPORTED_VERSION UNKNOWN_MEMBER_ID GROUP_ID_NOT_FOUND STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED
line group >group_id  topology epoch >topology_epoch  >member_id:member
example
    {"group_id": "kw-example", "member_id": "kw-example", "topology_epoch": -1,
     "topology_description": {"subtopologies": [], "global_stores": []}}
request
    group_id              string  0+  is groupId
    member_id             string  0+
    topology_epoch        int32   0+
    topology_description  struct  0+
        subtopologies  []struct  0+
            subtopology_id  string                     0+
            nodes           []TopologyDescriptionNode  0+
        global_stores  []struct  0+
            source     TopologyDescriptionNode  0+
            processor  TopologyDescriptionNode  0+
response
    throttle_time_ms  int32   0+
    error_code        int16   0+
    error_message     string  0+  null 0+  = null
struct TopologyDescriptionNode 0+
    name           string    0+
    node_type      int8      0+  means topology_node
    source_topics  []string  0+  is topicName
    sink_topic     string    0+  null 0+  = null  is topicName
    stores         []string  0+
    successors     []string  0+
"""
