# bash completion for kw; made by `kw completion bash`
_kw() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in sniff|call|apis|errors|encode|profile|completion) verb=${COMP_WORDS[i]}; break ;; esac
    done
    COMPREPLY=()
    case "$verb $before" in
        "sniff -i"|"sniff --interface") COMPREPLY=($(compgen -W "any $(ls /sys/class/net 2>/dev/null)" -- "$word")); return ;;
        "sniff --bpf") compopt +o default; return ;;
        "sniff -w"|"sniff --write") return ;;
        "sniff --port") compopt +o default; return ;;
        "sniff --api") COMPREPLY=($(compgen -W "Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets StreamsGroupTopologyDescriptionUpdate UnregisterController" -- "$word")); return ;;
        "sniff --client-id") compopt +o default; return ;;
        "sniff --topic") compopt +o default; return ;;
        "sniff --slower-than") compopt +o default; return ;;
        "sniff --limit") compopt +o default; return ;;
        "sniff --sort") COMPREPLY=($(compgen -W "time" -- "$word")); return ;;
        "sniff -o"|"sniff --output") COMPREPLY=($(compgen -W "text table ndjson json csv hex" -- "$word")); return ;;
        "sniff --color") COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
        "call --api-version") compopt +o default; return ;;
        "call --as-kafka") compopt +o default; return ;;
        "call --node") compopt +o default; return ;;
        "call --raw-body") compopt +o default; return ;;
        "call --only") COMPREPLY=($(compgen -W "request response" -- "$word")); return ;;
        "call --select") compopt +o default; return ;;
        "call --compression") COMPREPLY=($(compgen -W "none gzip snappy lz4 zstd" -- "$word")); return ;;
        "call --acks") COMPREPLY=($(compgen -W "all 1 0" -- "$word")); return ;;
        "call --magic") compopt +o default; return ;;
        "call --repeat") compopt +o default; return ;;
        "call --interval") compopt +o default; return ;;
        "call --against") compopt +o default; return ;;
        "call -b"|"call --bootstrap-server") compopt +o default; return ;;
        "call --bootstrap-controller") compopt +o default; return ;;
        "call -X"|"call --property") compopt +o default; return ;;
        "call -F"|"call --command-config") return ;;
        "call --profile") compopt +o default; return ;;
        "call --client-id") compopt +o default; return ;;
        "call --timeout") compopt +o default; return ;;
        "call --connect-timeout") compopt +o default; return ;;
        "call --dial-map") compopt +o default; return ;;
        "call -o"|"call --output") COMPREPLY=($(compgen -W "text table ndjson json csv hex" -- "$word")); return ;;
        "call --color") COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
        "apis --release") compopt +o default; return ;;
        "apis --diff") compopt +o default; return ;;
        "apis --grep") compopt +o default; return ;;
        "apis -o"|"apis --output") COMPREPLY=($(compgen -W "text ndjson json" -- "$word")); return ;;
        "apis --color") COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
        "errors --grep") compopt +o default; return ;;
        "errors -o"|"errors --output") COMPREPLY=($(compgen -W "text ndjson json" -- "$word")); return ;;
        "errors --color") COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
        "encode --correlation-id") compopt +o default; return ;;
        "encode --client-id") compopt +o default; return ;;
        "encode -o"|"encode --output") COMPREPLY=($(compgen -W "hex base64 raw" -- "$word")); return ;;
        "profile -o"|"profile --output") COMPREPLY=($(compgen -W "text ndjson json" -- "$word")); return ;;
        "profile --color") COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
    esac
    case "$verb" in
        "") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--version -h --help" -- "$word")); else COMPREPLY=($(compgen -W "sniff call apis errors encode profile completion" -- "$word")); fi ;;
        "sniff") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "-i --interface --bpf -w --write --port --api --client-id --topic --errors --slower-than --limit --records --reveal-secrets --sort --strict -o --output --color -v --verbose -q --quiet --debug -h --help" -- "$word")); else :; fi ;;
        "call") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--api-version --as-kafka --force --node --split --example --skeleton --edit --dry-run --raw-body --only --select --records --reveal-secrets --compression --acks --magic --repeat --interval --against -b --bootstrap-server --bootstrap-controller -X --property -F --command-config --profile --client-id --timeout --connect-timeout --dial-map -o --output --color -v --verbose -q --quiet --debug -h --help" -- "$word")); else :; fi ;;
        "apis") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--release --diff --grep -o --output --color -h --help" -- "$word")); else :; fi ;;
        "errors") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--grep -o --output --color -h --help" -- "$word")); else :; fi ;;
        "encode") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--response --frame --correlation-id --client-id --skeleton -o --output -h --help" -- "$word")); else :; fi ;;
        "profile") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "-h --help --use --force -v --verbose -o --output --color --reveal-secrets --none" -- "$word")); else COMPREPLY=($(compgen -W "import list remove show use" -- "$word")); fi ;;
        "completion") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "-h --help" -- "$word")); else COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")); fi ;;
    esac
}
complete -o default -F _kw kw
