"""APIs and their versions from published protocol guides, by the guide's release."""

from __future__ import annotations

from typing import Final

# APIs and versions that four published protocol guides describe.
GUIDES: Final = {
    "4.0": (
        "Produce:3-12 Fetch:4-17 ListOffsets:1-10 Metadata:0-13 OffsetCommit:2-9 OffsetFetch:1-9 "
        "FindCoordinator:0-6 JoinGroup:2-9 Heartbeat:0-4 LeaveGroup:0-5 SyncGroup:0-5 DescribeGroups:0-6 "
        "ListGroups:0-5 SaslHandshake:0-1 ApiVersions:0-4 CreateTopics:2-7 DeleteTopics:1-6 DeleteRecords:0-2 "
        "InitProducerId:0-5 OffsetForLeaderEpoch:2-4 AddPartitionsToTxn:0-5 AddOffsetsToTxn:0-4 EndTxn:0-5 "
        "WriteTxnMarkers:1-1 TxnOffsetCommit:0-5 DescribeAcls:1-3 CreateAcls:1-3 DeleteAcls:1-3 "
        "DescribeConfigs:1-4 AlterConfigs:0-2 AlterReplicaLogDirs:1-2 DescribeLogDirs:1-4 "
        "SaslAuthenticate:0-2 CreatePartitions:0-3 CreateDelegationToken:1-3 RenewDelegationToken:1-2 "
        "ExpireDelegationToken:1-2 DescribeDelegationToken:1-3 DeleteGroups:0-2 ElectLeaders:0-2 "
        "IncrementalAlterConfigs:0-1 AlterPartitionReassignments:0-0 ListPartitionReassignments:0-0 "
        "OffsetDelete:0-0 DescribeClientQuotas:0-1 AlterClientQuotas:0-1 DescribeUserScramCredentials:0-0 "
        "AlterUserScramCredentials:0-0 DescribeQuorum:0-2 UpdateFeatures:0-2 DescribeCluster:0-2 "
        "DescribeProducers:0-0 UnregisterBroker:0-0 DescribeTransactions:0-0 ListTransactions:0-1 "
        "ConsumerGroupHeartbeat:0-1 ConsumerGroupDescribe:0-1 GetTelemetrySubscriptions:0-0 PushTelemetry:0-0 "
        "ListClientMetricsResources:0-0 DescribeTopicPartitions:0-0 ShareGroupHeartbeat:0-0 "
        "ShareGroupDescribe:0-0 ShareFetch:0-0 ShareAcknowledge:0-0 AddRaftVoter:0-0 RemoveRaftVoter:0-0 "
        "InitializeShareGroupState:0-0 ReadShareGroupState:0-0 WriteShareGroupState:0-0 "
        "DeleteShareGroupState:0-0 ReadShareGroupStateSummary:0-0"
    ),
    "0.9": (
        "Produce:0-2 Fetch:0-2 Offsets:0-0 Metadata:0-0 LeaderAndIsr:0-0 StopReplica:0-0 UpdateMetadata:0-1 "
        "ControlledShutdown:1-1 OffsetCommit:0-2 OffsetFetch:0-1 GroupCoordinator:0-0 JoinGroup:0-0 "
        "Heartbeat:0-0 LeaveGroup:0-0 SyncGroup:0-0 DescribeGroups:0-0 ListGroups:0-0"
    ),
    "0.10": (
        "Produce:0-2 Fetch:0-3 Offsets:0-1 Metadata:0-2 LeaderAndIsr:0-0 StopReplica:0-0 UpdateMetadata:0-2 "
        "ControlledShutdown:1-1 OffsetCommit:0-2 OffsetFetch:0-1 GroupCoordinator:0-0 JoinGroup:0-1 "
        "Heartbeat:0-0 LeaveGroup:0-0 SyncGroup:0-0 DescribeGroups:0-0 ListGroups:0-0 SaslHandshake:0-0 "
        "ApiVersions:0-0 CreateTopics:0-0 DeleteTopics:0-0"
    ),
    "clipping": ("Produce:0-9 Fetch:0-13 ListOffsets:0-7"),
}
