"""What brokers keep in files or hand to each other: aborted transactions, producers, the quorum's state, principals."""

DECLARATION = """
message AbortedTxn
versions 0
flexible none
fields
    producer_id         int64  0+  means producer
    first_offset        int64  0+
    last_offset         int64  0+
    last_stable_offset  int64  0+

message ProducerSnapshot
versions 1
flexible none
fields
    crc               uint32    1+
    producer_entries  []struct  1+
        producer_id               int64  1+  means producer
        epoch                     int16  1+
        last_sequence             int32  1+
        last_offset               int64  1+
        offset_delta              int32  1+
        timestamp                 int64  1+
        coordinator_epoch         int32  1+
        current_txn_first_offset  int64  1+

message QuorumStateData
versions 0-1
flexible 0+
fields
    cluster_id          string    0
    leader_id           int32     0+  = -1  means broker
    leader_epoch        int32     0+  = -1  means epoch
    voted_id            int32     0+  = -1  means broker
    voted_directory_id  uuid      1+
    applied_offset      int64     0
    current_voters      []struct  0   null 0
        voter_id  int32  0

message DefaultPrincipalData
versions 0
flexible 0+
fields
    type                 string  0+
    name                 string  0+
    token_authenticated  bool    0+
"""
