"""Records of `__cluster_metadata`, the log of KRaft controllers (KIP-500 and what came since)."""

DECLARATION = """
message RegisterBrokerRecord
versions 0-4
flexible 0+
fields
    broker_id               int32     0+  is brokerId
    is_migrating_zk_broker  bool      2+
    incarnation_id          uuid      0+
    broker_epoch            int64     0+  means epoch
    end_points              []struct  0+
        name               string  0+  key
        host               string  0+
        port               uint16  0+
        security_protocol  int16   0+  means security_protocol
    features                []struct  0+
        name                   string  0+  key
        min_supported_version  int16   0+
        max_supported_version  int16   0+
    rack                    string    0+  null 0+
    fenced                  bool      0+  = true
    in_controlled_shutdown  bool      1+
    log_dirs                []uuid    3+  tag 0
    cordoned_log_dirs       []uuid    4+  null 4+  tag 1  = null

message UnregisterBrokerRecord
versions 0
flexible 0+
fields
    broker_id     int32  0+  is brokerId
    broker_epoch  int64  0+  means epoch

message TopicRecord
versions 0
flexible 0+
fields
    name      string  0+  is topicName
    topic_id  uuid    0+

message PartitionRecord
versions 0-2
flexible 0+
fields
    partition_id              int32    0+  = -1  means none
    topic_id                  uuid     0+
    replicas                  []int32  0+  is brokerId
    isr                       []int32  0+
    removing_replicas         []int32  0+  is brokerId
    adding_replicas           []int32  0+  is brokerId
    leader                    int32    0+  = -1  is brokerId  means broker
    leader_recovery_state     int8     0+  tag 0  means recovery
    leader_epoch              int32    0+  = -1  means epoch
    partition_epoch           int32    0+  = -1  means epoch
    directories               []uuid   1+
    eligible_leader_replicas  []int32  2+  null 2+  tag 1  = null  is brokerId
    last_known_elr            []int32  2+  null 2+  tag 2  = null  is brokerId

message ConfigRecord
versions 0
flexible 0+
fields
    resource_type  int8    0+  means config_resource
    resource_name  string  0+
    name           string  0+
    value          string  0+  null 0+  secret unless name

message PartitionChangeRecord
versions 0-2
flexible 0+
fields
    partition_id              int32    0+  = -1  means none
    topic_id                  uuid     0+
    isr                       []int32  0+  null 0+  tag 0  = null  is brokerId
    leader                    int32    0+  tag 1  = -2  is brokerId  means changed_leader
    replicas                  []int32  0+  null 0+  tag 2  = null  is brokerId
    removing_replicas         []int32  0+  null 0+  tag 3  = null  is brokerId
    adding_replicas           []int32  0+  null 0+  tag 4  = null  is brokerId
    leader_recovery_state     int8     0+  tag 5  = -1  means changed_recovery
    directories               []uuid   1+  null 1+  tag 8  = null
    eligible_leader_replicas  []int32  2+  null 2+  tag 6  = null  is brokerId
    last_known_elr            []int32  2+  null 2+  tag 7  = null  is brokerId

message AccessControlRecord
versions 0
flexible 0+
fields
    resource_type    int8    0+  means acl_resource
    resource_name    string  0+  null 0+
    pattern_type     int8    0+  means pattern
    principal        string  0+
    host             string  0+
    operation        int8    0+  means operation
    permission_type  int8    0+  means permission

message FenceBrokerRecord
versions 0
flexible 0+
fields
    id     int32  0+  is brokerId
    epoch  int64  0+

message UnfenceBrokerRecord
versions 0
flexible 0+
fields
    id     int32  0+  is brokerId
    epoch  int64  0+

message RemoveTopicRecord
versions 0
flexible 0+
fields
    topic_id  uuid  0+

message DelegationTokenRecord
versions 0
flexible 0+
fields
    owner                 string    0+
    requester             string    0+
    renewers              []string  0+
    issue_timestamp       int64     0+
    max_timestamp         int64     0+
    expiration_timestamp  int64     0+
    token_id              string    0+

message UserScramCredentialRecord
versions 0
flexible 0+
fields
    name        string  0+
    mechanism   int8    0+  means mechanism
    salt        bytes   0+  secret
    stored_key  bytes   0+  secret
    server_key  bytes   0+  secret
    iterations  int32   0+

message FeatureLevelRecord
versions 0
flexible 0+
fields
    name           string  0+
    feature_level  int16   0+

message ClientQuotaRecord
versions 0
flexible 0+
fields
    entity  []struct  0+
        entity_type  string  0+
        entity_name  string  0+  null 0+
    key     string    0+
    value   float64   0+
    remove  bool      0+

message QuotaRecord
versions 0
flexible none
fields
    entity  []struct  0+
        entity_type  string  0+
        entity_name  string  0+  null 0+
    key     string    0+
    value   float64   0+
    remove  bool      0+

message ProducerIdsRecord
versions 0
flexible 0+
fields
    broker_id         int32  0+  is brokerId
    broker_epoch      int64  0+  = -1  means epoch
    next_producer_id  int64  0+  means producer  was producer_ids_end

message RemoveFeatureLevelRecord
versions 0
flexible 0+
fields
    name  string  0+

message BrokerRegistrationChangeRecord
versions 0-3
flexible 0+
fields
    broker_id               int32   0+  is brokerId
    broker_epoch            int64   0+  means epoch
    fenced                  int8    0+  tag 0  means fencing
    in_controlled_shutdown  int8    1+  tag 1  means controlled_shutdown
    log_dirs                []uuid  2+  tag 2
    cordoned_log_dirs       []uuid  3+  null 3+  tag 3  = null

message AccessControlEntryRecord
versions 0
flexible 0+
fields
    id               uuid    0+
    resource_type    int8    0+  means acl_resource
    resource_name    string  0+
    pattern_type     int8    0+  means pattern
    principal        string  0+
    host             string  0+
    operation        int8    0+  means operation
    permission_type  int8    0+  means permission

message RemoveAccessControlEntryRecord
versions 0
flexible 0+
fields
    id  uuid  0+

message NoOpRecord
versions 0
flexible 0+
fields

message ZkMigrationStateRecord
versions 0
flexible 0+
fields
    zk_migration_state  int8  0+  means zk_migration

message RemoveUserScramCredentialRecord
versions 0
flexible 0+
fields
    name       string  0+
    mechanism  int8    0+  means mechanism

message BeginTransactionRecord
versions 0
flexible 0+
fields
    name  string  0+  null 0+  tag 0  = null

message EndTransactionRecord
versions 0
flexible 0+
fields

message AbortTransactionRecord
versions 0
flexible 0+
fields
    reason  string  0+  null 0+  tag 0  = null

message RemoveDelegationTokenRecord
versions 0
flexible 0+
fields
    token_id  string  0+

message RegisterControllerRecord
versions 0
flexible 0+
fields
    controller_id       int32     0+
    incarnation_id      uuid      0+
    zk_migration_ready  bool      0+
    end_points          []struct  0+
        name               string  0+  key
        host               string  0+
        port               uint16  0+
        security_protocol  int16   0+  means security_protocol
    features            []struct  0+
        name                   string  0+  key
        min_supported_version  int16   0+
        max_supported_version  int16   0+

message ClearElrRecord
versions 0
flexible 0+
fields
    topic_name  string  0+  is topicName

message UnregisterControllerRecord
versions 0
flexible 0+
fields
    controller_id  int32  0+
"""
