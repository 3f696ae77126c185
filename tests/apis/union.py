"""Every API with its versions, as Kafka's releases have had them: key, name, older name, versions, first flexible."""

from __future__ import annotations

from typing import Final

UNION: Final = """
0 Produce - 0-13 9+
1 Fetch - 0-18 12+
2 ListOffsets ListOffset 0-11 6+
3 Metadata - 0-13 9+
4 LeaderAndIsr - 0-7 4+
5 StopReplica - 0-4 2+
6 UpdateMetadata - 0-8 6+
7 ControlledShutdown - 0-3 3+
8 OffsetCommit - 0-10 8+
9 OffsetFetch - 0-10 6+
10 FindCoordinator - 0-6 3+
11 JoinGroup - 0-9 6+
12 Heartbeat - 0-4 4+
13 LeaveGroup - 0-5 4+
14 SyncGroup - 0-5 4+
15 DescribeGroups - 0-6 5+
16 ListGroups - 0-5 3+
17 SaslHandshake - 0-1 none
18 ApiVersions - 0-5 3+
19 CreateTopics - 0-7 5+
20 DeleteTopics - 0-6 4+
21 DeleteRecords - 0-2 2+
22 InitProducerId - 0-6 2+
23 OffsetForLeaderEpoch - 0-4 4+
24 AddPartitionsToTxn - 0-5 3+
25 AddOffsetsToTxn - 0-4 3+
26 EndTxn - 0-5 3+
27 WriteTxnMarkers - 0-2 1+
28 TxnOffsetCommit - 0-6 3+
29 DescribeAcls - 0-3 2+
30 CreateAcls - 0-3 2+
31 DeleteAcls - 0-3 2+
32 DescribeConfigs - 0-4 4+
33 AlterConfigs - 0-2 2+
34 AlterReplicaLogDirs - 0-2 2+
35 DescribeLogDirs - 0-5 2+
36 SaslAuthenticate - 0-2 2+
37 CreatePartitions - 0-3 2+
38 CreateDelegationToken - 0-3 2+
39 RenewDelegationToken - 0-2 2+
40 ExpireDelegationToken - 0-2 2+
41 DescribeDelegationToken - 0-3 2+
42 DeleteGroups - 0-3 2+
43 ElectLeaders ElectPreferredLeaders 0-2 2+
44 IncrementalAlterConfigs - 0-1 1+
45 AlterPartitionReassignments - 0-1 0+
46 ListPartitionReassignments - 0 0+
47 OffsetDelete - 0 none
48 DescribeClientQuotas - 0-1 1+
49 AlterClientQuotas - 0-1 1+
50 DescribeUserScramCredentials - 0 0+
51 AlterUserScramCredentials - 0 0+
52 Vote - 0-2 0+
53 BeginQuorumEpoch - 0-1 1+
54 EndQuorumEpoch - 0-1 1+
55 DescribeQuorum - 0-2 0+
56 AlterPartition AlterIsr 0-3 0+
57 UpdateFeatures - 0-2 0+
58 Envelope - 0 0+
59 FetchSnapshot - 0-1 0+
60 DescribeCluster - 0-2 0+
61 DescribeProducers - 0 0+
62 BrokerRegistration - 0-4 0+
63 BrokerHeartbeat - 0-2 0+
64 UnregisterBroker - 0 0+
65 DescribeTransactions - 0 0+
66 ListTransactions - 0-2 0+
67 AllocateProducerIds - 0 0+
68 ConsumerGroupHeartbeat - 0-1 0+
69 ConsumerGroupDescribe - 0-1 0+
70 ControllerRegistration - 0 0+
71 GetTelemetrySubscriptions - 0 0+
72 PushTelemetry - 0 0+
73 AssignReplicasToDirs - 0 0+
74 ListConfigResources ListClientMetricsResources 0-1 0+
75 DescribeTopicPartitions - 0 0+
76 ShareGroupHeartbeat - 0-1 0+
77 ShareGroupDescribe - 0-1 0+
78 ShareFetch - 0-2 0+
79 ShareAcknowledge - 0-2 0+
80 AddRaftVoter - 0-1 0+
81 RemoveRaftVoter - 0 0+
82 UpdateRaftVoter - 0 0+
83 InitializeShareGroupState - 0 0+
84 ReadShareGroupState - 0 0+
85 WriteShareGroupState - 0-1 0+
86 DeleteShareGroupState - 0 0+
87 ReadShareGroupStateSummary - 0-1 0+
88 StreamsGroupHeartbeat - 0-1 0+
89 StreamsGroupDescribe - 0-1 0+
90 DescribeShareGroupOffsets - 0-1 0+
91 AlterShareGroupOffsets - 0 0+
92 DeleteShareGroupOffsets - 0 0+
93 StreamsGroupTopologyDescriptionUpdate - 0 0+
94 UnregisterController - 0 0+
"""

ROWS: Final = [line.split() for line in UNION.split("\n") if line]

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
