# bash completion for kw; made by `kw completion bash`
_kw_add() {  # offer the word $1, quoted as the cursor needs it; $2: signs that keep their meaning for the shell
    local text=${1:${#cut}} open=${quote#\$} active at one code quoted
    [[ $1 == "$cut"?* ]] || return 0
    case ${LC_ALL:-${LC_CTYPE:-$LANG}} in  # elsewhere a sign may be a part of a character, and is run (GBK, Big5)
        '' | C | POSIX | *[Uu][Tt][Ff]8* | *[Uu][Tt][Ff]-8*) ;;
        *) (LC_ALL=C && [[ $text == *[^\ -~]* ]]) && return 0 ;;
    esac
    printf -v code %q "$text"
    [[ $code == \$\'* ]] && return 0  # it has a control character, or bytes that are no text
    case $quote in
        \") active='["$`\\!]' ;;
        \' | \$\') active="['"'`\\]' ;;
        *) active="[^${2-}[:alnum:]_./:=,@%+-]" ;;
    esac
    if [[ $text != *$active* ]]; then
        quoted=$text
    else
        for ((at = 0; at < ${#text}; at++)); do
            one=${text:at:1}
            if [[ $one != $active || ${text:at:2} == != && $quote ]]; then
                quoted+=$one
            elif [[ ! $quote && $one != [\$\`\\] ]]; then
                quoted+=\\$one
            else  # by its number, which means the same between backticks and to the history
                printf -v code '\\x%02x' "'$one"
                [[ $quote == \$\' ]] || code=$open\$\'$code\'$open
                quoted+=$code
            fi
        done
    fi
    [[ $text == *[=.:/\(] ]] && compopt -o nospace 2> /dev/null
    COMPREPLY+=("$open$quoted$open")
}
_kw_offer() {  # the words of $1 that begin as `plain`; `head` goes before them
    local -a all
    local one
    read -ra all <<< "$1"
    for one in "${all[@]}"; do
        [[ $one == "$plain"* ]] && _kw_add "$head$one"
    done
}
_kw_glob() {  # the files $1*$2, with NUL behind each; in a process of its own
    set +f
    GLOBIGNORE=
    shopt -u failglob nocaseglob
    shopt -s nullglob dotglob
    printf '%s\0' "$1"*"$2"
}
_kw_files() {
    local one where=$plain
    [[ $tilde && $plain == \~/* ]] && where=$HOME${plain:1}
    while IFS= read -r -d '' one; do
        [[ ! $one || $one == */. || $one == */.. ]] && continue
        [[ -d $one ]] && one+=/
        one=$plain${one:${#where}}
        [[ ! $head && $one == -* ]] && one=./$one  # or kw takes it for an option
        _kw_add "$head$one" "${tilde:+~}"
    done < <(_kw_glob "$where")
    [[ ${COMPREPLY[*]} == *[^[:alnum:][:space:]_./-]* ]] || compopt -o filenames 2> /dev/null  # lists without folders
}
_kw_profiles() {
    local one
    while IFS= read -r -d '' one; do
        one=${one##*/} one=${one%.properties}
        [[ $one == "$plain"* ]] && _kw_add "$head$one"
    done < <(_kw_glob "${XDG_CONFIG_HOME:-$HOME/.config}/kw/profiles/" .properties)
}
_kw_interfaces() {
    local one
    _kw_offer any
    while IFS= read -r -d '' one; do
        one=${one##*/}
        [[ $one == "$plain"* ]] && _kw_add "$head$one"
    done < <(_kw_glob /sys/class/net/)
}
_kw_live() {  # what kw itself knows about $1 (ValueKind), in 0.3 s, or nothing
    local one
    local -a limit=()
    type -P timeout > /dev/null && limit=(timeout "${KW_COMPLETION_LIMIT:-0.3}")
    while IFS=$'\t' read -r one _; do
        _kw_add "$head$one"
    done < <("${limit[@]}" "${line[0]}" __complete "$1${quote:+-quoted}" "$plain" "${line[@]:1:last-1}" 2> /dev/null)
}
_kw_versions() {
    local low=1 high=0 words= all=
    _kw_facts
    for ((; high >= low; high--)); do all+="$high "; done
    _kw_offer "$all"
}
_kw_body() {  # path=value: the paths of the request, then what the field may hold
    local low high words= values= one
    local -a all
    _kw_facts
    if [[ $plain == @* || $plain == *=@* ]]; then
        head=${plain%%@*}@ plain=${plain#*@}
        _kw_files
        return
    fi
    one=${plain%%=*}
    while [[ $one =~ ^(.*)\[[0-9]+\](.*)$ ]]; do one="${BASH_REMATCH[1]}[]${BASH_REMATCH[2]}"; done
    if [[ $plain == *=* ]]; then
        _kw_values "${one%:}"
        if [[ ! $values ]]; then
            _kw_live body
            return
        fi
        head=${plain%%=*}=
        plain=${plain#*=}
        _kw_offer "$values"
    else
        head=$plain plain=$one
        read -ra all <<< "$words"
        for one in "${all[@]}"; do
            [[ $one == "$plain"* ]] && _kw_add "$head${one:${#plain}}" ][
        done
    fi
}
_kw_kind() {
    local apis="Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets StreamsGroupTopologyDescriptionUpdate UnregisterController"
    local errors="UNKNOWN_SERVER_ERROR NONE OFFSET_OUT_OF_RANGE CORRUPT_MESSAGE UNKNOWN_TOPIC_OR_PARTITION INVALID_FETCH_SIZE LEADER_NOT_AVAILABLE NOT_LEADER_OR_FOLLOWER REQUEST_TIMED_OUT BROKER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE MESSAGE_TOO_LARGE STALE_CONTROLLER_EPOCH OFFSET_METADATA_TOO_LARGE NETWORK_EXCEPTION COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR INVALID_TOPIC_EXCEPTION RECORD_LIST_TOO_LARGE NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND INVALID_REQUIRED_ACKS ILLEGAL_GENERATION INCONSISTENT_GROUP_PROTOCOL INVALID_GROUP_ID UNKNOWN_MEMBER_ID INVALID_SESSION_TIMEOUT REBALANCE_IN_PROGRESS INVALID_COMMIT_OFFSET_SIZE TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED INVALID_TIMESTAMP UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE UNSUPPORTED_VERSION TOPIC_ALREADY_EXISTS INVALID_PARTITIONS INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT INVALID_CONFIG NOT_CONTROLLER INVALID_REQUEST UNSUPPORTED_FOR_MESSAGE_FORMAT POLICY_VIOLATION OUT_OF_ORDER_SEQUENCE_NUMBER DUPLICATE_SEQUENCE_NUMBER INVALID_PRODUCER_EPOCH INVALID_TXN_STATE INVALID_PRODUCER_ID_MAPPING INVALID_TRANSACTION_TIMEOUT CONCURRENT_TRANSACTIONS TRANSACTION_COORDINATOR_FENCED TRANSACTIONAL_ID_AUTHORIZATION_FAILED SECURITY_DISABLED OPERATION_NOT_ATTEMPTED KAFKA_STORAGE_ERROR LOG_DIR_NOT_FOUND SASL_AUTHENTICATION_FAILED UNKNOWN_PRODUCER_ID REASSIGNMENT_IN_PROGRESS DELEGATION_TOKEN_AUTH_DISABLED DELEGATION_TOKEN_NOT_FOUND DELEGATION_TOKEN_OWNER_MISMATCH DELEGATION_TOKEN_REQUEST_NOT_ALLOWED DELEGATION_TOKEN_AUTHORIZATION_FAILED DELEGATION_TOKEN_EXPIRED INVALID_PRINCIPAL_TYPE NON_EMPTY_GROUP GROUP_ID_NOT_FOUND FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH LISTENER_NOT_FOUND TOPIC_DELETION_DISABLED FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH UNSUPPORTED_COMPRESSION_TYPE STALE_BROKER_EPOCH OFFSET_NOT_AVAILABLE MEMBER_ID_REQUIRED PREFERRED_LEADER_NOT_AVAILABLE GROUP_MAX_SIZE_REACHED FENCED_INSTANCE_ID ELIGIBLE_LEADERS_NOT_AVAILABLE ELECTION_NOT_NEEDED NO_REASSIGNMENT_IN_PROGRESS GROUP_SUBSCRIBED_TO_TOPIC INVALID_RECORD UNSTABLE_OFFSET_COMMIT THROTTLING_QUOTA_EXCEEDED PRODUCER_FENCED RESOURCE_NOT_FOUND DUPLICATE_RESOURCE UNACCEPTABLE_CREDENTIAL INCONSISTENT_VOTER_SET INVALID_UPDATE_VERSION FEATURE_UPDATE_FAILED PRINCIPAL_DESERIALIZATION_FAILURE SNAPSHOT_NOT_FOUND POSITION_OUT_OF_RANGE UNKNOWN_TOPIC_ID DUPLICATE_BROKER_REGISTRATION BROKER_ID_NOT_REGISTERED INCONSISTENT_TOPIC_ID INCONSISTENT_CLUSTER_ID TRANSACTIONAL_ID_NOT_FOUND FETCH_SESSION_TOPIC_ID_ERROR INELIGIBLE_REPLICA NEW_LEADER_ELECTED OFFSET_MOVED_TO_TIERED_STORAGE FENCED_MEMBER_EPOCH UNRELEASED_INSTANCE_ID UNSUPPORTED_ASSIGNOR STALE_MEMBER_EPOCH MISMATCHED_ENDPOINT_TYPE UNSUPPORTED_ENDPOINT_TYPE UNKNOWN_CONTROLLER_ID UNKNOWN_SUBSCRIPTION_ID TELEMETRY_TOO_LARGE INVALID_REGISTRATION TRANSACTION_ABORTABLE INVALID_RECORD_STATE SHARE_SESSION_NOT_FOUND INVALID_SHARE_SESSION_EPOCH FENCED_STATE_EPOCH INVALID_VOTER_KEY DUPLICATE_VOTER VOTER_NOT_FOUND INVALID_REGULAR_EXPRESSION REBOOTSTRAP_REQUIRED STREAMS_INVALID_TOPOLOGY STREAMS_INVALID_TOPOLOGY_EPOCH STREAMS_TOPOLOGY_FENCED SHARE_SESSION_LIMIT_REACHED GROUP_DELETION_FAILED STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED CONTROLLER_ID_NOT_REGISTERED"
    local releases="4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2"
    case $kind in
        words) _kw_offer "$list" ;;
        apis) _kw_offer "$apis" ;;
        versions) _kw_versions ;;
        body) _kw_body ;;
        errors) _kw_offer "$errors" ;;
        releases) _kw_offer "$releases" ;;
        profiles) _kw_profiles ;;
        interfaces) _kw_interfaces ;;
        files) _kw_files ;;
        columns | fault | faults | filter | node | property) _kw_live $kind ;;
    esac
}
_kw_split() {  # the words of $1, without their quotes, into `line`
    # `quote` is the quote that is open at the end, `cut` the part of the last word before what readline replaces.
    # Fails where that cannot be told.
    local text=$1 word= some= broke= dollar= at one
    line=() quote= cut= tilde=
    for ((at = 0; at < ${#text}; at++)); do
        one=${text:at:1}
        if [[ $one == \\ && $quote != \' ]]; then
            ((++at))
            one=${text:at:1} some=1 dollar=
            if [[ $quote == \" && $one && $one != [\"\$\`\\] ]]; then
                word+=\\$one
            elif [[ $quote != \$\' || $one == [\\\"?] ]]; then
                word+=$one
            elif [[ ${text:at} =~ ^x([0-9a-fA-F][0-9a-fA-F]) ]]; then
                printf -v one %b "\\x${BASH_REMATCH[1]}"
                word+=$one
                ((at += 2))
            elif [[ ${text:at} =~ ^(x[0-9a-fA-F]?)?$ ]]; then
                break
            else
                return 1  # readline ends the quotes at \', and names have nothing that the others stand for
            fi
        elif [[ $quote ]]; then
            if [[ $one == "${quote#\$}" ]]; then quote=; else word+=$one; fi
        elif [[ $one == [\'\"] ]]; then
            [[ $dollar ]] && word=${word%\$}
            quote=$one cut=$word some=1
            [[ $dollar && $one == \' ]] && quote=\$\'
            dollar=
        elif [[ $one == [[:space:]] ]]; then
            [[ $some ]] && line+=("$word")
            word= some= broke= dollar= tilde=
        else
            [[ $one == \~ && ! $some ]] && tilde=1
            word+=$one some=1
            if [[ $one == \$ && ! $dollar ]]; then dollar=1; else dollar=; fi
            [[ ${COMP_WORDBREAKS-} == *"$one"* ]] && broke=${word%@}
        fi
    done
    [[ $quote ]] || cut=$broke
    line+=("$word")
}
_kw_facts() {
    case $api in
        0|produce) low=0 high=13 words="topic= acks= transactional_id= producer_id= producer_epoch= base_sequence= key= value= header= partition= timestamp= timeout_ms= topic_data[].name= topic_data[].topic_id= topic_data[].partition_data[].index= topic_data[].partition_data[].records=" ;;
        1|fetch) low=0 high=18 words="topic= partition= offset= cluster_id= replica_id= replica_state.replica_id= replica_state.replica_epoch= max_wait_ms= min_bytes= max_bytes= isolation_level= session_id= session_epoch= topics[].topic= topics[].topic_id= topics[].partitions[].partition= topics[].partitions[].current_leader_epoch= topics[].partitions[].fetch_offset= topics[].partitions[].last_fetched_epoch= topics[].partitions[].log_start_offset= topics[].partitions[].partition_max_bytes= topics[].partitions[].replica_directory_id= topics[].partitions[].high_watermark= forgotten_topics_data[].topic= forgotten_topics_data[].topic_id= forgotten_topics_data[].partitions[]= rack_id=" ;;
        2|listoffsets|listoffset) low=0 high=11 words="replica_id= isolation_level= topics[].name= topics[].partitions[].partition_index= topics[].partitions[].current_leader_epoch= topics[].partitions[].timestamp= topics[].partitions[].max_num_offsets= timeout_ms=" ;;
        3|metadata) low=0 high=13 words="topics[].topic_id= topics[].name= allow_auto_topic_creation= include_cluster_authorized_operations= include_topic_authorized_operations=" ;;
        4|leaderandisr) low=0 high=7 words="controller_id= is_kraft_controller= controller_epoch= broker_epoch= type= ungrouped_partition_states[].topic_name= ungrouped_partition_states[].partition_index= ungrouped_partition_states[].controller_epoch= ungrouped_partition_states[].leader= ungrouped_partition_states[].leader_epoch= ungrouped_partition_states[].isr[]= ungrouped_partition_states[].partition_epoch= ungrouped_partition_states[].replicas[]= ungrouped_partition_states[].is_new= topic_states[].topic_name= topic_states[].topic_id= topic_states[].partition_states[].partition_index= topic_states[].partition_states[].controller_epoch= topic_states[].partition_states[].leader= topic_states[].partition_states[].leader_epoch= topic_states[].partition_states[].isr[]= topic_states[].partition_states[].partition_epoch= topic_states[].partition_states[].replicas[]= topic_states[].partition_states[].adding_replicas[]= topic_states[].partition_states[].removing_replicas[]= topic_states[].partition_states[].is_new= topic_states[].partition_states[].leader_recovery_state= live_leaders[].broker_id= live_leaders[].host_name= live_leaders[].port=" ;;
        5|stopreplica) low=0 high=4 words="controller_id= is_kraft_controller= controller_epoch= broker_epoch= delete_partitions= ungrouped_partitions[].topic_name= ungrouped_partitions[].partition_index= topics[].name= topics[].partition_indexes[]= topic_states[].topic_name= topic_states[].partition_states[].partition_index= topic_states[].partition_states[].leader_epoch= topic_states[].partition_states[].delete_partition=" ;;
        6|updatemetadata) low=0 high=8 words="controller_id= is_kraft_controller= type= controller_epoch= broker_epoch= ungrouped_partition_states[].topic_name= ungrouped_partition_states[].partition_index= ungrouped_partition_states[].controller_epoch= ungrouped_partition_states[].leader= ungrouped_partition_states[].leader_epoch= ungrouped_partition_states[].isr[]= ungrouped_partition_states[].zk_version= ungrouped_partition_states[].replicas[]= ungrouped_partition_states[].offline_replicas[]= topic_states[].topic_name= topic_states[].topic_id= topic_states[].partition_states[].partition_index= topic_states[].partition_states[].controller_epoch= topic_states[].partition_states[].leader= topic_states[].partition_states[].leader_epoch= topic_states[].partition_states[].isr[]= topic_states[].partition_states[].zk_version= topic_states[].partition_states[].replicas[]= topic_states[].partition_states[].offline_replicas[]= live_brokers[].id= live_brokers[].v0_host= live_brokers[].v0_port= live_brokers[].endpoints[].port= live_brokers[].endpoints[].host= live_brokers[].endpoints[].listener= live_brokers[].endpoints[].security_protocol= live_brokers[].rack=" ;;
        7|controlledshutdown) low=0 high=3 words="broker_id= broker_epoch=" ;;
        8|offsetcommit) low=0 high=10 words="group_id= generation_id_or_member_epoch= member_id= group_instance_id= retention_time_ms= topics[].name= topics[].topic_id= topics[].partitions[].partition_index= topics[].partitions[].committed_offset= topics[].partitions[].commit_timestamp= topics[].partitions[].committed_leader_epoch= topics[].partitions[].committed_metadata=" ;;
        9|offsetfetch) low=0 high=10 words="group_id= topics[].name= topics[].partition_indexes[]= groups[].group_id= groups[].member_id= groups[].member_epoch= groups[].topics[].name= groups[].topics[].topic_id= groups[].topics[].partition_indexes[]= require_stable=" ;;
        10|findcoordinator) low=0 high=6 words="key= key_type= coordinator_keys[]=" ;;
        11|joingroup) low=0 high=9 words="group_id= session_timeout_ms= rebalance_timeout_ms= member_id= group_instance_id= protocol_type= protocols[].name= protocols[].metadata= reason=" ;;
        12|heartbeat) low=0 high=4 words="group_id= generation_id= member_id= group_instance_id=" ;;
        13|leavegroup) low=0 high=5 words="group_id= member_id= members[].member_id= members[].group_instance_id= members[].reason=" ;;
        14|syncgroup) low=0 high=5 words="group_id= generation_id= member_id= group_instance_id= protocol_type= protocol_name= assignments[].member_id= assignments[].assignment=" ;;
        15|describegroups) low=0 high=6 words="groups[]= include_authorized_operations=" ;;
        16|listgroups) low=0 high=5 words="states_filter[]= types_filter[]=" ;;
        17|saslhandshake) low=0 high=1 words="mechanism=" ;;
        18|apiversions) low=0 high=5 words="client_software_name= client_software_version= cluster_id= node_id=" ;;
        19|createtopics) low=0 high=7 words="topics[].name= topics[].num_partitions= topics[].replication_factor= topics[].assignments[].partition_index= topics[].assignments[].broker_ids[]= topics[].configs[].name= topics[].configs[].value= timeout_ms= validate_only=" ;;
        20|deletetopics) low=0 high=6 words="topics[].name= topics[].topic_id= topic_names[]= timeout_ms=" ;;
        21|deleterecords) low=0 high=2 words="topics[].name= topics[].partitions[].partition_index= topics[].partitions[].offset= timeout_ms=" ;;
        22|initproducerid) low=0 high=6 words="transactional_id= transaction_timeout_ms= producer_id= producer_epoch= enable2_pc= keep_prepared_txn=" ;;
        23|offsetforleaderepoch) low=0 high=4 words="replica_id= topics[].topic= topics[].partitions[].partition= topics[].partitions[].current_leader_epoch= topics[].partitions[].leader_epoch=" ;;
        24|addpartitionstotxn) low=0 high=5 words="transactions[].transactional_id= transactions[].producer_id= transactions[].producer_epoch= transactions[].verify_only= transactions[].topics[].name= transactions[].topics[].partitions[]= v3_and_below_transactional_id= v3_and_below_producer_id= v3_and_below_producer_epoch= v3_and_below_topics[].name= v3_and_below_topics[].partitions[]=" ;;
        25|addoffsetstotxn) low=0 high=4 words="transactional_id= producer_id= producer_epoch= group_id=" ;;
        26|endtxn) low=0 high=5 words="transactional_id= producer_id= producer_epoch= committed=" ;;
        27|writetxnmarkers) low=0 high=2 words="markers[].producer_id= markers[].producer_epoch= markers[].transaction_result= markers[].topics[].name= markers[].topics[].partition_indexes[]= markers[].coordinator_epoch= markers[].transaction_version=" ;;
        28|txnoffsetcommit) low=0 high=6 words="transactional_id= group_id= producer_id= producer_epoch= generation_id_or_member_epoch= member_id= group_instance_id= topics[].name= topics[].topic_id= topics[].partitions[].partition_index= topics[].partitions[].committed_offset= topics[].partitions[].committed_leader_epoch= topics[].partitions[].committed_metadata=" ;;
        29|describeacls) low=0 high=3 words="resource_type_filter= resource_name_filter= pattern_type_filter= principal_filter= host_filter= operation= permission_type=" ;;
        30|createacls) low=0 high=3 words="creations[].resource_type= creations[].resource_name= creations[].resource_pattern_type= creations[].principal= creations[].host= creations[].operation= creations[].permission_type=" ;;
        31|deleteacls) low=0 high=3 words="filters[].resource_type_filter= filters[].resource_name_filter= filters[].pattern_type_filter= filters[].principal_filter= filters[].host_filter= filters[].operation= filters[].permission_type=" ;;
        32|describeconfigs) low=0 high=4 words="resources[].resource_type= resources[].resource_name= resources[].configuration_keys[]= include_synonyms= include_documentation=" ;;
        33|alterconfigs) low=0 high=2 words="resources[].resource_type= resources[].resource_name= resources[].configs[].name= resources[].configs[].value= validate_only=" ;;
        34|alterreplicalogdirs) low=0 high=2 words="dirs[].path= dirs[].topics[].name= dirs[].topics[].partitions[]=" ;;
        35|describelogdirs) low=0 high=5 words="topics[].topic= topics[].partitions[]=" ;;
        36|saslauthenticate) low=0 high=2 words="auth_bytes=" ;;
        37|createpartitions) low=0 high=3 words="topics[].name= topics[].count= topics[].assignments[].broker_ids[]= timeout_ms= validate_only=" ;;
        38|createdelegationtoken) low=0 high=3 words="owner_principal_type= owner_principal_name= renewers[].principal_type= renewers[].principal_name= max_lifetime_ms=" ;;
        39|renewdelegationtoken) low=0 high=2 words="hmac= renew_period_ms=" ;;
        40|expiredelegationtoken) low=0 high=2 words="hmac= expiry_time_period_ms=" ;;
        41|describedelegationtoken) low=0 high=3 words="owners[].principal_type= owners[].principal_name=" ;;
        42|deletegroups) low=0 high=3 words="groups_names[]=" ;;
        43|electleaders|electpreferredleaders) low=0 high=2 words="election_type= topic_partitions[].topic= topic_partitions[].partitions[]= timeout_ms=" ;;
        44|incrementalalterconfigs) low=0 high=1 words="resources[].resource_type= resources[].resource_name= resources[].configs[].name= resources[].configs[].config_operation= resources[].configs[].value= validate_only=" ;;
        45|alterpartitionreassignments) low=0 high=1 words="timeout_ms= allow_replication_factor_change= topics[].name= topics[].partitions[].partition_index= topics[].partitions[].replicas[]=" ;;
        46|listpartitionreassignments) low=0 high=0 words="timeout_ms= topics[].name= topics[].partition_indexes[]=" ;;
        47|offsetdelete) low=0 high=0 words="group_id= topics[].name= topics[].partitions[].partition_index=" ;;
        48|describeclientquotas) low=0 high=1 words="components[].entity_type= components[].match_type= components[].match= strict=" ;;
        49|alterclientquotas) low=0 high=1 words="entries[].entity[].entity_type= entries[].entity[].entity_name= entries[].ops[].key= entries[].ops[].value= entries[].ops[].remove= validate_only=" ;;
        50|describeuserscramcredentials) low=0 high=0 words="users[].name=" ;;
        51|alteruserscramcredentials) low=0 high=0 words="deletions[].name= deletions[].mechanism= upsertions[].name= upsertions[].mechanism= upsertions[].iterations= upsertions[].salt= upsertions[].salted_password=" ;;
        52|vote) low=0 high=2 words="cluster_id= voter_id= topics[].topic_name= topics[].partitions[].partition_index= topics[].partitions[].replica_epoch= topics[].partitions[].replica_id= topics[].partitions[].replica_directory_id= topics[].partitions[].voter_directory_id= topics[].partitions[].last_offset_epoch= topics[].partitions[].last_offset= topics[].partitions[].pre_vote=" ;;
        53|beginquorumepoch) low=0 high=1 words="cluster_id= voter_id= topics[].topic_name= topics[].partitions[].partition_index= topics[].partitions[].voter_directory_id= topics[].partitions[].leader_id= topics[].partitions[].leader_epoch= leader_endpoints[].name= leader_endpoints[].host= leader_endpoints[].port=" ;;
        54|endquorumepoch) low=0 high=1 words="cluster_id= topics[].topic_name= topics[].partitions[].partition_index= topics[].partitions[].leader_id= topics[].partitions[].leader_epoch= topics[].partitions[].preferred_successors[]= topics[].partitions[].preferred_candidates[].candidate_id= topics[].partitions[].preferred_candidates[].candidate_directory_id= leader_endpoints[].name= leader_endpoints[].host= leader_endpoints[].port=" ;;
        55|describequorum) low=0 high=2 words="topics[].topic_name= topics[].partitions[].partition_index=" ;;
        56|alterpartition|alterisr) low=0 high=3 words="broker_id= broker_epoch= topics[].topic_name= topics[].topic_id= topics[].partitions[].partition_index= topics[].partitions[].leader_epoch= topics[].partitions[].new_isr[]= topics[].partitions[].new_isr_with_epochs[].broker_id= topics[].partitions[].new_isr_with_epochs[].broker_epoch= topics[].partitions[].leader_recovery_state= topics[].partitions[].partition_epoch=" ;;
        57|updatefeatures) low=0 high=2 words="timeout_ms= feature_updates[].feature= feature_updates[].max_version_level= feature_updates[].allow_downgrade= feature_updates[].upgrade_type= validate_only=" ;;
        58|envelope) low=0 high=0 words="request_data= request_principal= client_host_address=" ;;
        59|fetchsnapshot) low=0 high=1 words="cluster_id= replica_id= max_bytes= topics[].name= topics[].partitions[].partition= topics[].partitions[].current_leader_epoch= topics[].partitions[].snapshot_id.end_offset= topics[].partitions[].snapshot_id.epoch= topics[].partitions[].position= topics[].partitions[].replica_directory_id=" ;;
        60|describecluster) low=0 high=2 words="include_cluster_authorized_operations= endpoint_type= include_fenced_brokers=" ;;
        61|describeproducers) low=0 high=0 words="topics[].name= topics[].partition_indexes[]=" ;;
        62|brokerregistration) low=0 high=4 words="broker_id= cluster_id= incarnation_id= listeners[].name= listeners[].host= listeners[].port= listeners[].security_protocol= features[].name= features[].min_supported_version= features[].max_supported_version= rack= is_migrating_zk_broker= log_dirs[]= previous_broker_epoch=" ;;
        63|brokerheartbeat) low=0 high=2 words="broker_id= broker_epoch= current_metadata_offset= want_fence= want_shut_down= offline_log_dirs[]= cordoned_log_dirs[]=" ;;
        64|unregisterbroker) low=0 high=0 words="broker_id=" ;;
        65|describetransactions) low=0 high=0 words="transactional_ids[]=" ;;
        66|listtransactions) low=0 high=2 words="state_filters[]= producer_id_filters[]= duration_filter= transactional_id_pattern=" ;;
        67|allocateproducerids) low=0 high=0 words="broker_id= broker_epoch=" ;;
        68|consumergroupheartbeat) low=0 high=1 words="group_id= member_id= member_epoch= instance_id= rack_id= rebalance_timeout_ms= subscribed_topic_names[]= subscribed_topic_regex= server_assignor= topic_partitions[].topic_id= topic_partitions[].partitions[]=" ;;
        69|consumergroupdescribe) low=0 high=1 words="group_ids[]= include_authorized_operations=" ;;
        70|controllerregistration) low=0 high=0 words="controller_id= incarnation_id= zk_migration_ready= listeners[].name= listeners[].host= listeners[].port= listeners[].security_protocol= features[].name= features[].min_supported_version= features[].max_supported_version=" ;;
        71|gettelemetrysubscriptions) low=0 high=0 words="client_instance_id=" ;;
        72|pushtelemetry) low=0 high=0 words="client_instance_id= subscription_id= terminating= compression_type= metrics=" ;;
        73|assignreplicastodirs) low=0 high=0 words="broker_id= broker_epoch= directories[].id= directories[].topics[].topic_id= directories[].topics[].partitions[].partition_index=" ;;
        74|listconfigresources|listclientmetricsresources) low=0 high=1 words="resource_types[]=" ;;
        75|describetopicpartitions) low=0 high=0 words="topics[].name= response_partition_limit= cursor.topic_name= cursor.partition_index=" ;;
        76|sharegroupheartbeat) low=0 high=1 words="group_id= member_id= member_epoch= rack_id= subscribed_topic_names[]=" ;;
        77|sharegroupdescribe) low=0 high=1 words="group_ids[]= include_authorized_operations=" ;;
        78|sharefetch) low=0 high=2 words="group_id= member_id= share_session_epoch= max_wait_ms= min_bytes= max_bytes= max_records= batch_size= share_acquire_mode= is_renew_ack= topics[].topic_id= topics[].partitions[].partition_index= topics[].partitions[].partition_max_bytes= topics[].partitions[].acknowledgement_batches[].first_offset= topics[].partitions[].acknowledgement_batches[].last_offset= topics[].partitions[].acknowledgement_batches[].acknowledge_types[]= forgotten_topics_data[].topic_id= forgotten_topics_data[].partitions[]=" ;;
        79|shareacknowledge) low=0 high=2 words="group_id= member_id= share_session_epoch= is_renew_ack= topics[].topic_id= topics[].partitions[].partition_index= topics[].partitions[].acknowledgement_batches[].first_offset= topics[].partitions[].acknowledgement_batches[].last_offset= topics[].partitions[].acknowledgement_batches[].acknowledge_types[]=" ;;
        80|addraftvoter) low=0 high=1 words="cluster_id= timeout_ms= voter_id= voter_directory_id= listeners[].name= listeners[].host= listeners[].port= ack_when_committed=" ;;
        81|removeraftvoter) low=0 high=0 words="cluster_id= voter_id= voter_directory_id=" ;;
        82|updateraftvoter) low=0 high=0 words="cluster_id= current_leader_epoch= voter_id= voter_directory_id= listeners[].name= listeners[].host= listeners[].port= kraft_version_feature.min_supported_version= kraft_version_feature.max_supported_version=" ;;
        83|initializesharegroupstate) low=0 high=0 words="group_id= topics[].topic_id= topics[].partitions[].partition= topics[].partitions[].state_epoch= topics[].partitions[].start_offset=" ;;
        84|readsharegroupstate) low=0 high=0 words="group_id= topics[].topic_id= topics[].partitions[].partition= topics[].partitions[].leader_epoch=" ;;
        85|writesharegroupstate) low=0 high=1 words="group_id= topics[].topic_id= topics[].partitions[].partition= topics[].partitions[].state_epoch= topics[].partitions[].leader_epoch= topics[].partitions[].start_offset= topics[].partitions[].delivery_complete_count= topics[].partitions[].state_batches[].first_offset= topics[].partitions[].state_batches[].last_offset= topics[].partitions[].state_batches[].delivery_state= topics[].partitions[].state_batches[].delivery_count=" ;;
        86|deletesharegroupstate) low=0 high=0 words="group_id= topics[].topic_id= topics[].partitions[].partition=" ;;
        87|readsharegroupstatesummary) low=0 high=1 words="group_id= topics[].topic_id= topics[].partitions[].partition= topics[].partitions[].leader_epoch=" ;;
        88|streamsgroupheartbeat) low=0 high=1 words="group_id= member_id= member_epoch= endpoint_information_epoch= instance_id= rack_id= rebalance_timeout_ms= topology.epoch= topology.subtopologies[].subtopology_id= topology.subtopologies[].source_topics[]= topology.subtopologies[].source_topic_regex[]= topology.subtopologies[].state_changelog_topics[].name= topology.subtopologies[].state_changelog_topics[].partitions= topology.subtopologies[].state_changelog_topics[].replication_factor= topology.subtopologies[].state_changelog_topics[].topic_configs[].key= topology.subtopologies[].state_changelog_topics[].topic_configs[].value= topology.subtopologies[].repartition_sink_topics[]= topology.subtopologies[].repartition_source_topics[].name= topology.subtopologies[].repartition_source_topics[].partitions= topology.subtopologies[].repartition_source_topics[].replication_factor= topology.subtopologies[].repartition_source_topics[].topic_configs[].key= topology.subtopologies[].repartition_source_topics[].topic_configs[].value= topology.subtopologies[].copartition_groups[].source_topics[]= topology.subtopologies[].copartition_groups[].source_topic_regex[]= topology.subtopologies[].copartition_groups[].repartition_source_topics[]= active_tasks[].subtopology_id= active_tasks[].partitions[]= standby_tasks[].subtopology_id= standby_tasks[].partitions[]= warmup_tasks[].subtopology_id= warmup_tasks[].partitions[]= process_id= user_endpoint.host= user_endpoint.port= client_tags[].key= client_tags[].value= task_offsets[].subtopology_id= task_offsets[].partition= task_offsets[].offset= task_end_offsets[].subtopology_id= task_end_offsets[].partition= task_end_offsets[].offset= shutdown_application=" ;;
        89|streamsgroupdescribe) low=0 high=1 words="group_ids[]= include_authorized_operations= include_topology_description=" ;;
        90|describesharegroupoffsets) low=0 high=1 words="groups[].group_id= groups[].topics[].topic_name= groups[].topics[].partitions[]=" ;;
        91|altersharegroupoffsets) low=0 high=0 words="group_id= topics[].topic_name= topics[].partitions[].partition_index= topics[].partitions[].start_offset=" ;;
        92|deletesharegroupoffsets) low=0 high=0 words="group_id= topics[].topic_name=" ;;
        93|streamsgrouptopologydescriptionupdate) low=0 high=0 words="group_id= member_id= topology_epoch= topology_description.subtopologies[].subtopology_id= topology_description.subtopologies[].nodes[].name= topology_description.subtopologies[].nodes[].node_type= topology_description.subtopologies[].nodes[].source_topics[]= topology_description.subtopologies[].nodes[].sink_topic= topology_description.subtopologies[].nodes[].stores[]= topology_description.subtopologies[].nodes[].successors[]= topology_description.global_stores[].source.name= topology_description.global_stores[].source.node_type= topology_description.global_stores[].source.source_topics[]= topology_description.global_stores[].source.sink_topic= topology_description.global_stores[].source.stores[]= topology_description.global_stores[].source.successors[]= topology_description.global_stores[].processor.name= topology_description.global_stores[].processor.node_type= topology_description.global_stores[].processor.source_topics[]= topology_description.global_stores[].processor.sink_topic= topology_description.global_stores[].processor.stores[]= topology_description.global_stores[].processor.successors[]=" ;;
        94|unregistercontroller) low=0 high=0 words="controller_id=" ;;
    esac
}
_kw_values() {
    case "$api $1" in
        "0 acks"|"produce acks") values="-1 0 1" ;;
        "1 replica_id"|"fetch replica_id") values="-1 -2 -3" ;;
        "1 replica_state.replica_id"|"fetch replica_state.replica_id") values="-1 -2 -3" ;;
        "1 replica_state.replica_epoch"|"fetch replica_state.replica_epoch") values="-1" ;;
        "1 isolation_level"|"fetch isolation_level") values="0 1" ;;
        "1 session_id"|"fetch session_id") values="0" ;;
        "1 session_epoch"|"fetch session_epoch") values="0 -1" ;;
        "1 topics[].partitions[].current_leader_epoch"|"fetch topics[].partitions[].current_leader_epoch") values="-1" ;;
        "1 topics[].partitions[].last_fetched_epoch"|"fetch topics[].partitions[].last_fetched_epoch") values="-1" ;;
        "1 topics[].partitions[].log_start_offset"|"fetch topics[].partitions[].log_start_offset") values="-1" ;;
        "1 topics[].partitions[].high_watermark"|"fetch topics[].partitions[].high_watermark") values="-1 9223372036854775807" ;;
        "2 replica_id"|"listoffsets replica_id"|"listoffset replica_id") values="-1 -2 -3" ;;
        "2 isolation_level"|"listoffsets isolation_level"|"listoffset isolation_level") values="0 1" ;;
        "2 topics[].partitions[].current_leader_epoch"|"listoffsets topics[].partitions[].current_leader_epoch"|"listoffset topics[].partitions[].current_leader_epoch") values="-1" ;;
        "2 topics[].partitions[].timestamp"|"listoffsets topics[].partitions[].timestamp"|"listoffset topics[].partitions[].timestamp") values="-1 -2 -3 -4 -5 -6" ;;
        "3 allow_auto_topic_creation"|"metadata allow_auto_topic_creation") values="true false" ;;
        "3 include_cluster_authorized_operations"|"metadata include_cluster_authorized_operations") values="true false" ;;
        "3 include_topic_authorized_operations"|"metadata include_topic_authorized_operations") values="true false" ;;
        "4 is_kraft_controller"|"leaderandisr is_kraft_controller") values="true false" ;;
        "4 broker_epoch"|"leaderandisr broker_epoch") values="-1" ;;
        "4 type"|"leaderandisr type") values="0 1 2" ;;
        "4 ungrouped_partition_states[].leader"|"leaderandisr ungrouped_partition_states[].leader") values="-1 -2" ;;
        "4 ungrouped_partition_states[].leader_epoch"|"leaderandisr ungrouped_partition_states[].leader_epoch") values="-1" ;;
        "4 ungrouped_partition_states[].is_new"|"leaderandisr ungrouped_partition_states[].is_new") values="true false" ;;
        "4 topic_states[].partition_states[].leader"|"leaderandisr topic_states[].partition_states[].leader") values="-1 -2" ;;
        "4 topic_states[].partition_states[].leader_epoch"|"leaderandisr topic_states[].partition_states[].leader_epoch") values="-1" ;;
        "4 topic_states[].partition_states[].is_new"|"leaderandisr topic_states[].partition_states[].is_new") values="true false" ;;
        "4 topic_states[].partition_states[].leader_recovery_state"|"leaderandisr topic_states[].partition_states[].leader_recovery_state") values="0 1" ;;
        "5 is_kraft_controller"|"stopreplica is_kraft_controller") values="true false" ;;
        "5 broker_epoch"|"stopreplica broker_epoch") values="-1" ;;
        "5 delete_partitions"|"stopreplica delete_partitions") values="true false" ;;
        "5 topic_states[].partition_states[].leader_epoch"|"stopreplica topic_states[].partition_states[].leader_epoch") values="-1 -2" ;;
        "5 topic_states[].partition_states[].delete_partition"|"stopreplica topic_states[].partition_states[].delete_partition") values="true false" ;;
        "6 is_kraft_controller"|"updatemetadata is_kraft_controller") values="true false" ;;
        "6 type"|"updatemetadata type") values="0 1 2" ;;
        "6 broker_epoch"|"updatemetadata broker_epoch") values="-1" ;;
        "6 ungrouped_partition_states[].leader"|"updatemetadata ungrouped_partition_states[].leader") values="-1 -2" ;;
        "6 ungrouped_partition_states[].leader_epoch"|"updatemetadata ungrouped_partition_states[].leader_epoch") values="-1" ;;
        "6 topic_states[].partition_states[].leader"|"updatemetadata topic_states[].partition_states[].leader") values="-1 -2" ;;
        "6 topic_states[].partition_states[].leader_epoch"|"updatemetadata topic_states[].partition_states[].leader_epoch") values="-1" ;;
        "6 live_brokers[].endpoints[].security_protocol"|"updatemetadata live_brokers[].endpoints[].security_protocol") values="0 1 2 3" ;;
        "7 broker_epoch"|"controlledshutdown broker_epoch") values="-1" ;;
        "8 generation_id_or_member_epoch"|"offsetcommit generation_id_or_member_epoch") values="-1" ;;
        "8 retention_time_ms"|"offsetcommit retention_time_ms") values="-1" ;;
        "8 topics[].partitions[].committed_offset"|"offsetcommit topics[].partitions[].committed_offset") values="-1" ;;
        "8 topics[].partitions[].commit_timestamp"|"offsetcommit topics[].partitions[].commit_timestamp") values="-1" ;;
        "8 topics[].partitions[].committed_leader_epoch"|"offsetcommit topics[].partitions[].committed_leader_epoch") values="-1" ;;
        "9 groups[].member_epoch"|"offsetfetch groups[].member_epoch") values="-1" ;;
        "9 require_stable"|"offsetfetch require_stable") values="true false" ;;
        "10 key_type"|"findcoordinator key_type") values="0 1 2" ;;
        "12 generation_id"|"heartbeat generation_id") values="-1" ;;
        "14 generation_id"|"syncgroup generation_id") values="-1" ;;
        "15 include_authorized_operations"|"describegroups include_authorized_operations") values="true false" ;;
        "18 node_id"|"apiversions node_id") values="-1" ;;
        "19 topics[].num_partitions"|"createtopics topics[].num_partitions") values="-1" ;;
        "19 topics[].replication_factor"|"createtopics topics[].replication_factor") values="-1" ;;
        "19 validate_only"|"createtopics validate_only") values="true false" ;;
        "21 topics[].partitions[].offset"|"deleterecords topics[].partitions[].offset") values="-1" ;;
        "22 producer_id"|"initproducerid producer_id") values="-1" ;;
        "22 producer_epoch"|"initproducerid producer_epoch") values="-1" ;;
        "22 enable2_pc"|"initproducerid enable2_pc") values="true false" ;;
        "22 keep_prepared_txn"|"initproducerid keep_prepared_txn") values="true false" ;;
        "23 replica_id"|"offsetforleaderepoch replica_id") values="-1 -2 -3" ;;
        "23 topics[].partitions[].current_leader_epoch"|"offsetforleaderepoch topics[].partitions[].current_leader_epoch") values="-1" ;;
        "23 topics[].partitions[].leader_epoch"|"offsetforleaderepoch topics[].partitions[].leader_epoch") values="-1" ;;
        "24 transactions[].producer_id"|"addpartitionstotxn transactions[].producer_id") values="-1" ;;
        "24 transactions[].producer_epoch"|"addpartitionstotxn transactions[].producer_epoch") values="-1" ;;
        "24 transactions[].verify_only"|"addpartitionstotxn transactions[].verify_only") values="true false" ;;
        "24 v3_and_below_producer_id"|"addpartitionstotxn v3_and_below_producer_id") values="-1" ;;
        "24 v3_and_below_producer_epoch"|"addpartitionstotxn v3_and_below_producer_epoch") values="-1" ;;
        "25 producer_id"|"addoffsetstotxn producer_id") values="-1" ;;
        "25 producer_epoch"|"addoffsetstotxn producer_epoch") values="-1" ;;
        "26 producer_id"|"endtxn producer_id") values="-1" ;;
        "26 producer_epoch"|"endtxn producer_epoch") values="-1" ;;
        "26 committed"|"endtxn committed") values="true false" ;;
        "27 markers[].producer_id"|"writetxnmarkers markers[].producer_id") values="-1" ;;
        "27 markers[].producer_epoch"|"writetxnmarkers markers[].producer_epoch") values="-1" ;;
        "27 markers[].transaction_result"|"writetxnmarkers markers[].transaction_result") values="true false" ;;
        "28 producer_id"|"txnoffsetcommit producer_id") values="-1" ;;
        "28 producer_epoch"|"txnoffsetcommit producer_epoch") values="-1" ;;
        "28 generation_id_or_member_epoch"|"txnoffsetcommit generation_id_or_member_epoch") values="-1" ;;
        "28 topics[].partitions[].committed_offset"|"txnoffsetcommit topics[].partitions[].committed_offset") values="-1" ;;
        "28 topics[].partitions[].committed_leader_epoch"|"txnoffsetcommit topics[].partitions[].committed_leader_epoch") values="-1" ;;
        "29 resource_type_filter"|"describeacls resource_type_filter") values="0 1 2 3 4 5 6 7" ;;
        "29 pattern_type_filter"|"describeacls pattern_type_filter") values="0 1 2 3 4" ;;
        "29 operation"|"describeacls operation") values="0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15" ;;
        "29 permission_type"|"describeacls permission_type") values="0 1 2 3" ;;
        "30 creations[].resource_type"|"createacls creations[].resource_type") values="0 1 2 3 4 5 6 7" ;;
        "30 creations[].resource_pattern_type"|"createacls creations[].resource_pattern_type") values="0 1 2 3 4" ;;
        "30 creations[].operation"|"createacls creations[].operation") values="0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15" ;;
        "30 creations[].permission_type"|"createacls creations[].permission_type") values="0 1 2 3" ;;
        "31 filters[].resource_type_filter"|"deleteacls filters[].resource_type_filter") values="0 1 2 3 4 5 6 7" ;;
        "31 filters[].pattern_type_filter"|"deleteacls filters[].pattern_type_filter") values="0 1 2 3 4" ;;
        "31 filters[].operation"|"deleteacls filters[].operation") values="0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15" ;;
        "31 filters[].permission_type"|"deleteacls filters[].permission_type") values="0 1 2 3" ;;
        "32 resources[].resource_type"|"describeconfigs resources[].resource_type") values="0 2 4 8 16 32" ;;
        "32 include_synonyms"|"describeconfigs include_synonyms") values="true false" ;;
        "32 include_documentation"|"describeconfigs include_documentation") values="true false" ;;
        "33 resources[].resource_type"|"alterconfigs resources[].resource_type") values="0 2 4 8 16 32" ;;
        "33 validate_only"|"alterconfigs validate_only") values="true false" ;;
        "37 validate_only"|"createpartitions validate_only") values="true false" ;;
        "38 max_lifetime_ms"|"createdelegationtoken max_lifetime_ms") values="-1" ;;
        "39 renew_period_ms"|"renewdelegationtoken renew_period_ms") values="-1" ;;
        "40 expiry_time_period_ms"|"expiredelegationtoken expiry_time_period_ms") values="-1" ;;
        "43 election_type"|"electleaders election_type"|"electpreferredleaders election_type") values="0 1" ;;
        "44 resources[].resource_type"|"incrementalalterconfigs resources[].resource_type") values="0 2 4 8 16 32" ;;
        "44 resources[].configs[].config_operation"|"incrementalalterconfigs resources[].configs[].config_operation") values="0 1 2 3" ;;
        "44 validate_only"|"incrementalalterconfigs validate_only") values="true false" ;;
        "45 allow_replication_factor_change"|"alterpartitionreassignments allow_replication_factor_change") values="true false" ;;
        "48 components[].match_type"|"describeclientquotas components[].match_type") values="0 1 2" ;;
        "48 strict"|"describeclientquotas strict") values="true false" ;;
        "49 entries[].ops[].remove"|"alterclientquotas entries[].ops[].remove") values="true false" ;;
        "49 validate_only"|"alterclientquotas validate_only") values="true false" ;;
        "51 deletions[].mechanism"|"alteruserscramcredentials deletions[].mechanism") values="0 1 2" ;;
        "51 upsertions[].mechanism"|"alteruserscramcredentials upsertions[].mechanism") values="0 1 2" ;;
        "52 voter_id"|"vote voter_id") values="-1" ;;
        "52 topics[].partitions[].replica_epoch"|"vote topics[].partitions[].replica_epoch") values="-1" ;;
        "52 topics[].partitions[].replica_id"|"vote topics[].partitions[].replica_id") values="-1 -2 -3" ;;
        "52 topics[].partitions[].last_offset_epoch"|"vote topics[].partitions[].last_offset_epoch") values="-1" ;;
        "52 topics[].partitions[].pre_vote"|"vote topics[].partitions[].pre_vote") values="true false" ;;
        "53 voter_id"|"beginquorumepoch voter_id") values="-1" ;;
        "53 topics[].partitions[].leader_id"|"beginquorumepoch topics[].partitions[].leader_id") values="-1" ;;
        "53 topics[].partitions[].leader_epoch"|"beginquorumepoch topics[].partitions[].leader_epoch") values="-1" ;;
        "54 topics[].partitions[].leader_id"|"endquorumepoch topics[].partitions[].leader_id") values="-1" ;;
        "54 topics[].partitions[].leader_epoch"|"endquorumepoch topics[].partitions[].leader_epoch") values="-1" ;;
        "56 broker_epoch"|"alterpartition broker_epoch"|"alterisr broker_epoch") values="-1" ;;
        "56 topics[].partitions[].leader_epoch"|"alterpartition topics[].partitions[].leader_epoch"|"alterisr topics[].partitions[].leader_epoch") values="-1" ;;
        "56 topics[].partitions[].new_isr_with_epochs[].broker_epoch"|"alterpartition topics[].partitions[].new_isr_with_epochs[].broker_epoch"|"alterisr topics[].partitions[].new_isr_with_epochs[].broker_epoch") values="-1" ;;
        "56 topics[].partitions[].leader_recovery_state"|"alterpartition topics[].partitions[].leader_recovery_state"|"alterisr topics[].partitions[].leader_recovery_state") values="0 1" ;;
        "57 feature_updates[].max_version_level"|"updatefeatures feature_updates[].max_version_level") values="0" ;;
        "57 feature_updates[].allow_downgrade"|"updatefeatures feature_updates[].allow_downgrade") values="true false" ;;
        "57 feature_updates[].upgrade_type"|"updatefeatures feature_updates[].upgrade_type") values="0 1 2 3" ;;
        "57 validate_only"|"updatefeatures validate_only") values="true false" ;;
        "59 replica_id"|"fetchsnapshot replica_id") values="-1 -2 -3" ;;
        "59 topics[].partitions[].current_leader_epoch"|"fetchsnapshot topics[].partitions[].current_leader_epoch") values="-1" ;;
        "59 topics[].partitions[].snapshot_id.end_offset"|"fetchsnapshot topics[].partitions[].snapshot_id.end_offset") values="-1" ;;
        "60 include_cluster_authorized_operations"|"describecluster include_cluster_authorized_operations") values="true false" ;;
        "60 endpoint_type"|"describecluster endpoint_type") values="1 2" ;;
        "60 include_fenced_brokers"|"describecluster include_fenced_brokers") values="true false" ;;
        "62 listeners[].security_protocol"|"brokerregistration listeners[].security_protocol") values="0 1 2 3" ;;
        "62 is_migrating_zk_broker"|"brokerregistration is_migrating_zk_broker") values="true false" ;;
        "62 previous_broker_epoch"|"brokerregistration previous_broker_epoch") values="-1" ;;
        "63 broker_epoch"|"brokerheartbeat broker_epoch") values="-1" ;;
        "63 want_fence"|"brokerheartbeat want_fence") values="true false" ;;
        "63 want_shut_down"|"brokerheartbeat want_shut_down") values="true false" ;;
        "66 duration_filter"|"listtransactions duration_filter") values="-1" ;;
        "67 broker_epoch"|"allocateproducerids broker_epoch") values="-1" ;;
        "68 member_epoch"|"consumergroupheartbeat member_epoch") values="0 -1 -2" ;;
        "68 rebalance_timeout_ms"|"consumergroupheartbeat rebalance_timeout_ms") values="-1" ;;
        "69 include_authorized_operations"|"consumergroupdescribe include_authorized_operations") values="true false" ;;
        "70 zk_migration_ready"|"controllerregistration zk_migration_ready") values="true false" ;;
        "70 listeners[].security_protocol"|"controllerregistration listeners[].security_protocol") values="0 1 2 3" ;;
        "72 terminating"|"pushtelemetry terminating") values="true false" ;;
        "72 compression_type"|"pushtelemetry compression_type") values="0 1 2 3 4" ;;
        "73 broker_epoch"|"assignreplicastodirs broker_epoch") values="-1" ;;
        "74 resource_types[]"|"listconfigresources resource_types[]"|"listclientmetricsresources resource_types[]") values="0 2 4 8 16 32" ;;
        "76 member_epoch"|"sharegroupheartbeat member_epoch") values="0 -1 -2" ;;
        "77 include_authorized_operations"|"sharegroupdescribe include_authorized_operations") values="true false" ;;
        "78 share_session_epoch"|"sharefetch share_session_epoch") values="0 -1" ;;
        "78 share_acquire_mode"|"sharefetch share_acquire_mode") values="0 1" ;;
        "78 is_renew_ack"|"sharefetch is_renew_ack") values="true false" ;;
        "78 topics[].partitions[].acknowledgement_batches[].acknowledge_types[]"|"sharefetch topics[].partitions[].acknowledgement_batches[].acknowledge_types[]") values="0 1 2 3 4" ;;
        "79 share_session_epoch"|"shareacknowledge share_session_epoch") values="0 -1" ;;
        "79 is_renew_ack"|"shareacknowledge is_renew_ack") values="true false" ;;
        "79 topics[].partitions[].acknowledgement_batches[].acknowledge_types[]"|"shareacknowledge topics[].partitions[].acknowledgement_batches[].acknowledge_types[]") values="0 1 2 3 4" ;;
        "80 ack_when_committed"|"addraftvoter ack_when_committed") values="true false" ;;
        "82 current_leader_epoch"|"updateraftvoter current_leader_epoch") values="-1" ;;
        "83 topics[].partitions[].start_offset"|"initializesharegroupstate topics[].partitions[].start_offset") values="-1" ;;
        "84 topics[].partitions[].leader_epoch"|"readsharegroupstate topics[].partitions[].leader_epoch") values="-1" ;;
        "85 topics[].partitions[].leader_epoch"|"writesharegroupstate topics[].partitions[].leader_epoch") values="-1" ;;
        "85 topics[].partitions[].start_offset"|"writesharegroupstate topics[].partitions[].start_offset") values="-1" ;;
        "85 topics[].partitions[].delivery_complete_count"|"writesharegroupstate topics[].partitions[].delivery_complete_count") values="-1" ;;
        "85 topics[].partitions[].state_batches[].delivery_state"|"writesharegroupstate topics[].partitions[].state_batches[].delivery_state") values="0 1 2 3 4" ;;
        "87 topics[].partitions[].leader_epoch"|"readsharegroupstatesummary topics[].partitions[].leader_epoch") values="-1" ;;
        "88 member_epoch"|"streamsgroupheartbeat member_epoch") values="0 -1 -2" ;;
        "88 rebalance_timeout_ms"|"streamsgroupheartbeat rebalance_timeout_ms") values="-1" ;;
        "88 topology.subtopologies[].state_changelog_topics[].partitions"|"streamsgroupheartbeat topology.subtopologies[].state_changelog_topics[].partitions") values="0" ;;
        "88 topology.subtopologies[].state_changelog_topics[].replication_factor"|"streamsgroupheartbeat topology.subtopologies[].state_changelog_topics[].replication_factor") values="0" ;;
        "88 topology.subtopologies[].repartition_source_topics[].partitions"|"streamsgroupheartbeat topology.subtopologies[].repartition_source_topics[].partitions") values="0" ;;
        "88 topology.subtopologies[].repartition_source_topics[].replication_factor"|"streamsgroupheartbeat topology.subtopologies[].repartition_source_topics[].replication_factor") values="0" ;;
        "88 shutdown_application"|"streamsgroupheartbeat shutdown_application") values="true false" ;;
        "89 include_authorized_operations"|"streamsgroupdescribe include_authorized_operations") values="true false" ;;
        "89 include_topology_description"|"streamsgroupdescribe include_topology_description") values="true false" ;;
        "93 topology_description.subtopologies[].nodes[].node_type"|"streamsgrouptopologydescriptionupdate topology_description.subtopologies[].nodes[].node_type") values="1 2 3" ;;
        "93 topology_description.global_stores[].source.node_type"|"streamsgrouptopologydescriptionupdate topology_description.global_stores[].source.node_type") values="1 2 3" ;;
        "93 topology_description.global_stores[].processor.node_type"|"streamsgrouptopologydescriptionupdate topology_description.global_stores[].processor.node_type") values="1 2 3" ;;
    esac
}
_kw_verb() {
    case $verb in
        "") verbs="sniff call proxy stats clients groups topics brokers doctor audit report sql replay scrub pipeline apis errors decode encode profile mock playground completion help version" options="--version --debug -X -h --help" ;;
        "sniff") verbs="" options="--whole-connections --with-keys -r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --metrics --otlp --jobs --guess-requests --rotate-size --rotate-interval --keep --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit --records --reveal-secrets --names --sort --strict -o --output -J -e --field -E --field-option --columns --local --csv-safe --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "call") verbs="" options="--api-version --as-kafka --force --node --split --example --skeleton --edit --dry-run --raw-body --only --select --records --reveal-secrets --names --compression --acks --magic --lines --values -K --key-separator --repeat --interval --against -b --bootstrap-server --bootstrap-controller -X --property -F --command-config --profile --client-id --timeout --connect-timeout --dial-map -o --output -J -e --field -E --field-option --columns --local --csv-safe --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "proxy") verbs="ctl" options="-b --bootstrap-server --bootstrap-controller -X --property -F --command-config --profile --timeout --connect-timeout --dial-map --port-base --bind --advertise --tls-in --tls-cert --tls-key --tls-client-ca --allow-anonymous --metrics --check --as-kafka --max --hide --fault --faults --seed --script --script-timeout --control --hold-timeout --api --client-id --client --topic --group -f -Y --filter --errors --slower-than --records --reveal-secrets --names -o --output -J -e --field -E --field-option --columns --local --csv-safe --color --no-pager -v --verbose -q --quiet --debug --no-log --events -w --write --record --rotate-size --rotate-interval --log-overflow -h --help" ;;
        "proxy ctl") verbs="connections exchanges fault faults held hold holds listeners release unfault unhold" options="--port -h --help" ;;
        "proxy ctl connections") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl exchanges") verbs="" options="-n --limit -o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl fault") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl faults") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl held") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl hold") verbs="" options="--side --first -o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl holds") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl listeners") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl release") verbs="" options="--do -o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl unfault") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "proxy ctl unhold") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "stats") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --metrics --otlp --jobs --guess-requests --by --metric --bucket --sort --top --slowest --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit --strict -o --output -J -e --field -E --field-option --local --csv-safe --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "clients") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --name --jobs --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -o --output -J -e --field -E --field-option --csv-safe --color --no-pager -q --quiet --debug -h --help" ;;
        "groups") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --name --jobs --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -o --output -J -e --field -E --field-option --csv-safe --color --no-pager -q --quiet --debug -h --help" ;;
        "topics") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --name --jobs --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -o --output -J -e --field -E --field-option --csv-safe --color --no-pager -q --quiet --debug -h --help" ;;
        "brokers") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --name --jobs --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -o --output -J -e --field -E --field-option --csv-safe --color --no-pager -q --quiet --debug -h --help" ;;
        "doctor") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --metrics --otlp -b --bootstrap-server --bootstrap-controller -X --property -F --command-config --profile --timeout --connect-timeout --dial-map --fail-on --threshold --jobs --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -o --output -J -e --field -E --field-option --local --csv-safe --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "audit") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --target --clients --security --jobs --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -X --property --profile --timeout -o --output -J -e --field -E --field-option --csv-safe --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "report") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --html --force --target --records --reveal-secrets --jobs --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -o --output -J --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "sql") verbs="" options="-r --read -i --interface --bpf -w --write --follow --port --keylog --since --until --views --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -o --output -J --csv-safe --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "replay") verbs="" options="--speed --changes --map --dry-run --replay-client-id --port --keylog --since --until --api --client-id --client --topic --group -f -Y --filter --errors --slower-than -n -c --limit -b --bootstrap-server --bootstrap-controller -X --property -F --command-config --profile --timeout --connect-timeout --dial-map -o --output -J --local --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "scrub") verbs="" options="--keep --salt-file --names --force --port --keylog -q --quiet --debug -h --help" ;;
        "pipeline") verbs="compact report run sql watch" options="-h --help" ;;
        "pipeline compact") verbs="" options="--lateness --keep -q --quiet -h --help" ;;
        "pipeline report") verbs="" options="--target --html --force --master -o --output -J --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "pipeline run") verbs="" options="--since --until --out --point --api --client-id --client --topic --group -f -Y --filter --errors --slower-than --port --keylog --tables --bodies --reveal-secrets --engine --master --strict -v --verbose -q --quiet --debug --split-size --explain -h --help" ;;
        "pipeline sql") verbs="" options="--views -n -c --limit --master -o --output -J --csv-safe --color --no-pager -v --verbose -q --quiet --debug -h --help" ;;
        "pipeline watch") verbs="" options="--out --point --api --client-id --client --topic --group -f -Y --filter --errors --slower-than --port --keylog --tables --bodies --reveal-secrets --engine --master --strict -v --verbose -q --quiet --debug --lateness --interval --batch-size --keep --no-rename --format --metrics --doctor --threshold --once --finish -h --help" ;;
        "apis") verbs="" options="--release --diff --grep --about -o --output -J -e --field -E --field-option --csv-safe --color --no-pager --debug -h --help" ;;
        "errors") verbs="" options="--retriable --grep -o --output -J -e --field -E --field-option --csv-safe --color --no-pager --debug -h --help" ;;
        "decode") verbs="" options="--api --version --api-version --request --response --as --from --explain --records --reveal-secrets --names -o --output -J -e --field -E --field-option --color --no-pager -v --verbose --debug -h --help" ;;
        "encode") verbs="" options="--response --frame --correlation-id --client-id --skeleton -o --output --debug -h --help" ;;
        "profile") verbs="add current edit export import list remove rename show use" options="-h --help" ;;
        "profile add") verbs="" options="-b --bootstrap-server --bootstrap-controller -X --property -F --command-config --use --force -h --help" ;;
        "profile current") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "profile edit") verbs="" options="-h --help" ;;
        "profile export") verbs="" options="--as --reveal-secrets -h --help" ;;
        "profile import") verbs="" options="--context --use --force -v --verbose -h --help" ;;
        "profile list") verbs="" options="-o --output -J --color --no-pager --debug -h --help" ;;
        "profile remove") verbs="" options="-h --help" ;;
        "profile rename") verbs="" options="--force -h --help" ;;
        "profile show") verbs="" options="--reveal-secrets -o --output -J --color --no-pager --debug -h --help" ;;
        "profile use") verbs="" options="--none -h --help" ;;
        "mock") verbs="" options="--port --bind --advertise --calm --password --keylog --tls-in --tls-cert --tls-key --tls-client-ca --api --client-id --client --topic --group -f -Y --filter --errors --slower-than --records --reveal-secrets --names -o --output -J -e --field -E --field-option --columns --local --csv-safe --color --no-pager -v --verbose -q --quiet --debug --no-log --events -w --write --rotate-size --rotate-interval --log-overflow -h --help" ;;
        "playground") verbs="node" options="--nodes --version --port --listeners --topics --traffic --run --jars --mock --keep-going -q --quiet --debug -h --help" ;;
        "playground node") verbs="" options="--port --timeout -o --output -h --help" ;;
        "completion") verbs="" options="-h --help" ;;
        "help") verbs="" options="--search --man --no-pager --color -h --help" ;;
        "version") verbs="" options="--licenses -o --output -J --color --no-pager --debug -h --help" ;;
    esac
}
_kw_option() {  # how many values an option takes, and what they may be; `--option=` has its value with it
    case ${1%=} in
        " -X") left=1 kind=property ;;
        "sniff -r"|"sniff --read") left=1 kind=files ;;
        "sniff -i"|"sniff --interface") left=1 kind=interfaces ;;
        "sniff --bpf") left=1 kind= ;;
        "sniff -w"|"sniff --write") left=1 kind=files ;;
        "sniff --port") left=1 kind= ;;
        "sniff --keylog") left=1 kind=files ;;
        "sniff --since") left=1 kind= ;;
        "sniff --until") left=1 kind= ;;
        "sniff --metrics") left=1 kind= ;;
        "sniff --otlp") left=1 kind= ;;
        "sniff --jobs") left=1 kind= ;;
        "sniff --rotate-size") left=1 kind= ;;
        "sniff --rotate-interval") left=1 kind= ;;
        "sniff --keep") left=1 kind= ;;
        "sniff --api") left=1 kind=apis ;;
        "sniff --client-id") left=1 kind= ;;
        "sniff --client") left=1 kind= ;;
        "sniff --topic") left=1 kind= ;;
        "sniff --group") left=1 kind= ;;
        "sniff -f"|"sniff -Y"|"sniff --filter") left=1 kind=filter ;;
        "sniff --slower-than") left=1 kind= ;;
        "sniff -n"|"sniff -c"|"sniff --limit") left=1 kind= ;;
        "sniff --sort") left=1 kind=words list="time latency size" ;;
        "sniff -o"|"sniff --output") left=1 kind=words list="text table ndjson json csv yaml fields hex raw" ;;
        "sniff -e"|"sniff --field") left=1 kind=columns ;;
        "sniff -E"|"sniff --field-option") left=1 kind= ;;
        "sniff --columns") left=1 kind=columns ;;
        "sniff --color") left=1 kind=words list="auto always never" ;;
        "call --api-version") left=1 kind=versions ;;
        "call --as-kafka") left=1 kind=releases ;;
        "call --node") left=1 kind=node ;;
        "call --raw-body") left=1 kind= ;;
        "call --only") left=1 kind=words list="request response" ;;
        "call --select") left=1 kind= ;;
        "call --compression") left=1 kind=words list="none gzip snappy lz4 zstd" ;;
        "call --acks") left=1 kind=words list="all 1 0" ;;
        "call --magic") left=1 kind= ;;
        "call -K"|"call --key-separator") left=1 kind= ;;
        "call --repeat") left=1 kind= ;;
        "call --interval") left=1 kind= ;;
        "call --against") left=1 kind= ;;
        "call -b"|"call --bootstrap-server") left=1 kind= ;;
        "call --bootstrap-controller") left=1 kind= ;;
        "call -X"|"call --property") left=1 kind=property ;;
        "call -F"|"call --command-config") left=1 kind=files ;;
        "call --profile") left=1 kind=profiles ;;
        "call --client-id") left=1 kind= ;;
        "call --timeout") left=1 kind= ;;
        "call --connect-timeout") left=1 kind= ;;
        "call --dial-map") left=1 kind= ;;
        "call -o"|"call --output") left=1 kind=words list="text table ndjson json csv yaml fields hex" ;;
        "call -e"|"call --field") left=1 kind=columns ;;
        "call -E"|"call --field-option") left=1 kind= ;;
        "call --columns") left=1 kind=columns ;;
        "call --color") left=1 kind=words list="auto always never" ;;
        "proxy -b"|"proxy --bootstrap-server") left=1 kind= ;;
        "proxy --bootstrap-controller") left=1 kind= ;;
        "proxy -X"|"proxy --property") left=1 kind=property ;;
        "proxy -F"|"proxy --command-config") left=1 kind=files ;;
        "proxy --profile") left=1 kind=profiles ;;
        "proxy --timeout") left=1 kind= ;;
        "proxy --connect-timeout") left=1 kind= ;;
        "proxy --dial-map") left=1 kind= ;;
        "proxy --port-base") left=1 kind= ;;
        "proxy --bind") left=1 kind= ;;
        "proxy --advertise") left=1 kind= ;;
        "proxy --tls-cert") left=1 kind=files ;;
        "proxy --tls-key") left=1 kind=files ;;
        "proxy --tls-client-ca") left=1 kind=files ;;
        "proxy --metrics") left=1 kind= ;;
        "proxy --as-kafka") left=1 kind= ;;
        "proxy --max") left=1 kind= ;;
        "proxy --hide") left=1 kind= ;;
        "proxy --fault") left=1 kind=fault ;;
        "proxy --faults") left=1 kind=faults ;;
        "proxy --seed") left=1 kind= ;;
        "proxy --script") left=1 kind=files ;;
        "proxy --script-timeout") left=1 kind= ;;
        "proxy --control") left=1 kind= ;;
        "proxy --hold-timeout") left=1 kind= ;;
        "proxy --api") left=1 kind=apis ;;
        "proxy --client-id") left=1 kind= ;;
        "proxy --client") left=1 kind= ;;
        "proxy --topic") left=1 kind= ;;
        "proxy --group") left=1 kind= ;;
        "proxy -f"|"proxy -Y"|"proxy --filter") left=1 kind=filter ;;
        "proxy --slower-than") left=1 kind= ;;
        "proxy -o"|"proxy --output") left=1 kind=words list="text table ndjson json csv yaml fields hex" ;;
        "proxy -e"|"proxy --field") left=1 kind=columns ;;
        "proxy -E"|"proxy --field-option") left=1 kind= ;;
        "proxy --columns") left=1 kind=columns ;;
        "proxy --color") left=1 kind=words list="auto always never" ;;
        "proxy -w"|"proxy --write") left=1 kind=files ;;
        "proxy --record") left=1 kind=words list="client both" ;;
        "proxy --rotate-size") left=1 kind= ;;
        "proxy --rotate-interval") left=1 kind= ;;
        "proxy --log-overflow") left=1 kind=words list="drop block" ;;
        "proxy ctl --port") left=1 kind= ;;
        "proxy ctl connections -o"|"proxy ctl connections --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl connections --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl exchanges -n"|"proxy ctl exchanges --limit") left=1 kind= ;;
        "proxy ctl exchanges -o"|"proxy ctl exchanges --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl exchanges --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl fault -o"|"proxy ctl fault --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl fault --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl faults -o"|"proxy ctl faults --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl faults --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl held -o"|"proxy ctl held --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl held --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl hold --side") left=1 kind=words list="request response" ;;
        "proxy ctl hold --first") left=1 kind= ;;
        "proxy ctl hold -o"|"proxy ctl hold --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl hold --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl holds -o"|"proxy ctl holds --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl holds --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl listeners -o"|"proxy ctl listeners --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl listeners --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl release --do") left=1 kind=words list="pass close reset" ;;
        "proxy ctl release -o"|"proxy ctl release --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl release --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl unfault -o"|"proxy ctl unfault --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl unfault --color") left=1 kind=words list="auto always never" ;;
        "proxy ctl unhold -o"|"proxy ctl unhold --output") left=1 kind=words list="text ndjson json" ;;
        "proxy ctl unhold --color") left=1 kind=words list="auto always never" ;;
        "stats -r"|"stats --read") left=1 kind=files ;;
        "stats -i"|"stats --interface") left=1 kind=interfaces ;;
        "stats --bpf") left=1 kind= ;;
        "stats -w"|"stats --write") left=1 kind=files ;;
        "stats --port") left=1 kind= ;;
        "stats --keylog") left=1 kind=files ;;
        "stats --since") left=1 kind= ;;
        "stats --until") left=1 kind= ;;
        "stats --metrics") left=1 kind= ;;
        "stats --otlp") left=1 kind= ;;
        "stats --jobs") left=1 kind= ;;
        "stats --by") left=1 kind=words list="api version client client_id address software library user mechanism broker connection topic partition group error file time" ;;
        "stats --metric") left=1 kind=words list="latency bytes errors records throttle total queue local remote response_queue send" ;;
        "stats --bucket") left=1 kind= ;;
        "stats --sort") left=1 kind=words list="count rate errors unanswered undecoded values sum min p50 p90 p95 p99 max bytes request_bytes response_bytes waited waited_ms batches record_bytes name" ;;
        "stats --top") left=1 kind= ;;
        "stats --slowest") left=1 kind= ;;
        "stats --api") left=1 kind=apis ;;
        "stats --client-id") left=1 kind= ;;
        "stats --client") left=1 kind= ;;
        "stats --topic") left=1 kind= ;;
        "stats --group") left=1 kind= ;;
        "stats -f"|"stats -Y"|"stats --filter") left=1 kind=filter ;;
        "stats --slower-than") left=1 kind= ;;
        "stats -n"|"stats -c"|"stats --limit") left=1 kind= ;;
        "stats -o"|"stats --output") left=1 kind=words list="text table ndjson json csv yaml fields" ;;
        "stats -e"|"stats --field") left=1 kind= ;;
        "stats -E"|"stats --field-option") left=1 kind= ;;
        "stats --color") left=1 kind=words list="auto always never" ;;
        "clients -r"|"clients --read") left=1 kind=files ;;
        "clients -i"|"clients --interface") left=1 kind=interfaces ;;
        "clients --bpf") left=1 kind= ;;
        "clients -w"|"clients --write") left=1 kind=files ;;
        "clients --port") left=1 kind= ;;
        "clients --keylog") left=1 kind=files ;;
        "clients --since") left=1 kind= ;;
        "clients --until") left=1 kind= ;;
        "clients --name") left=1 kind= ;;
        "clients --jobs") left=1 kind= ;;
        "clients --api") left=1 kind=apis ;;
        "clients --client-id") left=1 kind= ;;
        "clients --client") left=1 kind= ;;
        "clients --topic") left=1 kind= ;;
        "clients --group") left=1 kind= ;;
        "clients -f"|"clients -Y"|"clients --filter") left=1 kind=filter ;;
        "clients --slower-than") left=1 kind= ;;
        "clients -n"|"clients -c"|"clients --limit") left=1 kind= ;;
        "clients -o"|"clients --output") left=1 kind=words list="text table ndjson json csv yaml fields" ;;
        "clients -e"|"clients --field") left=1 kind= ;;
        "clients -E"|"clients --field-option") left=1 kind= ;;
        "clients --color") left=1 kind=words list="auto always never" ;;
        "groups -r"|"groups --read") left=1 kind=files ;;
        "groups -i"|"groups --interface") left=1 kind=interfaces ;;
        "groups --bpf") left=1 kind= ;;
        "groups -w"|"groups --write") left=1 kind=files ;;
        "groups --port") left=1 kind= ;;
        "groups --keylog") left=1 kind=files ;;
        "groups --since") left=1 kind= ;;
        "groups --until") left=1 kind= ;;
        "groups --name") left=1 kind= ;;
        "groups --jobs") left=1 kind= ;;
        "groups --api") left=1 kind=apis ;;
        "groups --client-id") left=1 kind= ;;
        "groups --client") left=1 kind= ;;
        "groups --topic") left=1 kind= ;;
        "groups --group") left=1 kind= ;;
        "groups -f"|"groups -Y"|"groups --filter") left=1 kind=filter ;;
        "groups --slower-than") left=1 kind= ;;
        "groups -n"|"groups -c"|"groups --limit") left=1 kind= ;;
        "groups -o"|"groups --output") left=1 kind=words list="text table ndjson json csv yaml fields" ;;
        "groups -e"|"groups --field") left=1 kind= ;;
        "groups -E"|"groups --field-option") left=1 kind= ;;
        "groups --color") left=1 kind=words list="auto always never" ;;
        "topics -r"|"topics --read") left=1 kind=files ;;
        "topics -i"|"topics --interface") left=1 kind=interfaces ;;
        "topics --bpf") left=1 kind= ;;
        "topics -w"|"topics --write") left=1 kind=files ;;
        "topics --port") left=1 kind= ;;
        "topics --keylog") left=1 kind=files ;;
        "topics --since") left=1 kind= ;;
        "topics --until") left=1 kind= ;;
        "topics --name") left=1 kind= ;;
        "topics --jobs") left=1 kind= ;;
        "topics --api") left=1 kind=apis ;;
        "topics --client-id") left=1 kind= ;;
        "topics --client") left=1 kind= ;;
        "topics --topic") left=1 kind= ;;
        "topics --group") left=1 kind= ;;
        "topics -f"|"topics -Y"|"topics --filter") left=1 kind=filter ;;
        "topics --slower-than") left=1 kind= ;;
        "topics -n"|"topics -c"|"topics --limit") left=1 kind= ;;
        "topics -o"|"topics --output") left=1 kind=words list="text table ndjson json csv yaml fields" ;;
        "topics -e"|"topics --field") left=1 kind= ;;
        "topics -E"|"topics --field-option") left=1 kind= ;;
        "topics --color") left=1 kind=words list="auto always never" ;;
        "brokers -r"|"brokers --read") left=1 kind=files ;;
        "brokers -i"|"brokers --interface") left=1 kind=interfaces ;;
        "brokers --bpf") left=1 kind= ;;
        "brokers -w"|"brokers --write") left=1 kind=files ;;
        "brokers --port") left=1 kind= ;;
        "brokers --keylog") left=1 kind=files ;;
        "brokers --since") left=1 kind= ;;
        "brokers --until") left=1 kind= ;;
        "brokers --name") left=1 kind= ;;
        "brokers --jobs") left=1 kind= ;;
        "brokers --api") left=1 kind=apis ;;
        "brokers --client-id") left=1 kind= ;;
        "brokers --client") left=1 kind= ;;
        "brokers --topic") left=1 kind= ;;
        "brokers --group") left=1 kind= ;;
        "brokers -f"|"brokers -Y"|"brokers --filter") left=1 kind=filter ;;
        "brokers --slower-than") left=1 kind= ;;
        "brokers -n"|"brokers -c"|"brokers --limit") left=1 kind= ;;
        "brokers -o"|"brokers --output") left=1 kind=words list="text table ndjson json csv yaml fields" ;;
        "brokers -e"|"brokers --field") left=1 kind= ;;
        "brokers -E"|"brokers --field-option") left=1 kind= ;;
        "brokers --color") left=1 kind=words list="auto always never" ;;
        "doctor -r"|"doctor --read") left=1 kind=files ;;
        "doctor -i"|"doctor --interface") left=1 kind=interfaces ;;
        "doctor --bpf") left=1 kind= ;;
        "doctor -w"|"doctor --write") left=1 kind=files ;;
        "doctor --port") left=1 kind= ;;
        "doctor --keylog") left=1 kind=files ;;
        "doctor --since") left=1 kind= ;;
        "doctor --until") left=1 kind= ;;
        "doctor --metrics") left=1 kind= ;;
        "doctor --otlp") left=1 kind= ;;
        "doctor -b"|"doctor --bootstrap-server") left=1 kind= ;;
        "doctor --bootstrap-controller") left=1 kind= ;;
        "doctor -X"|"doctor --property") left=1 kind=property ;;
        "doctor -F"|"doctor --command-config") left=1 kind=files ;;
        "doctor --profile") left=1 kind=profiles ;;
        "doctor --timeout") left=1 kind= ;;
        "doctor --connect-timeout") left=1 kind= ;;
        "doctor --dial-map") left=1 kind= ;;
        "doctor --fail-on") left=1 kind=words list="error warning never" ;;
        "doctor --threshold") left=1 kind= ;;
        "doctor --jobs") left=1 kind= ;;
        "doctor --api") left=1 kind=apis ;;
        "doctor --client-id") left=1 kind= ;;
        "doctor --client") left=1 kind= ;;
        "doctor --topic") left=1 kind= ;;
        "doctor --group") left=1 kind= ;;
        "doctor -f"|"doctor -Y"|"doctor --filter") left=1 kind=filter ;;
        "doctor --slower-than") left=1 kind= ;;
        "doctor -n"|"doctor -c"|"doctor --limit") left=1 kind= ;;
        "doctor -o"|"doctor --output") left=1 kind=words list="text table ndjson json csv yaml fields" ;;
        "doctor -e"|"doctor --field") left=1 kind= ;;
        "doctor -E"|"doctor --field-option") left=1 kind= ;;
        "doctor --color") left=1 kind=words list="auto always never" ;;
        "audit -r"|"audit --read") left=1 kind=files ;;
        "audit -i"|"audit --interface") left=1 kind=interfaces ;;
        "audit --bpf") left=1 kind= ;;
        "audit -w"|"audit --write") left=1 kind=files ;;
        "audit --port") left=1 kind= ;;
        "audit --keylog") left=1 kind=files ;;
        "audit --since") left=1 kind= ;;
        "audit --until") left=1 kind= ;;
        "audit --target") left=1 kind=releases ;;
        "audit --clients") left=1 kind= ;;
        "audit --jobs") left=1 kind= ;;
        "audit --api") left=1 kind=apis ;;
        "audit --client-id") left=1 kind= ;;
        "audit --client") left=1 kind= ;;
        "audit --topic") left=1 kind= ;;
        "audit --group") left=1 kind= ;;
        "audit -f"|"audit -Y"|"audit --filter") left=1 kind=filter ;;
        "audit --slower-than") left=1 kind= ;;
        "audit -n"|"audit -c"|"audit --limit") left=1 kind= ;;
        "audit -X"|"audit --property") left=1 kind=property ;;
        "audit --profile") left=1 kind=profiles ;;
        "audit --timeout") left=1 kind= ;;
        "audit -o"|"audit --output") left=1 kind=words list="text table ndjson json csv yaml fields" ;;
        "audit -e"|"audit --field") left=1 kind= ;;
        "audit -E"|"audit --field-option") left=1 kind= ;;
        "audit --color") left=1 kind=words list="auto always never" ;;
        "report -r"|"report --read") left=1 kind=files ;;
        "report -i"|"report --interface") left=1 kind=interfaces ;;
        "report --bpf") left=1 kind= ;;
        "report -w"|"report --write") left=1 kind=files ;;
        "report --port") left=1 kind= ;;
        "report --keylog") left=1 kind=files ;;
        "report --since") left=1 kind= ;;
        "report --until") left=1 kind= ;;
        "report --html") left=1 kind=files ;;
        "report --target") left=1 kind=releases ;;
        "report --jobs") left=1 kind= ;;
        "report --api") left=1 kind=apis ;;
        "report --client-id") left=1 kind= ;;
        "report --client") left=1 kind= ;;
        "report --topic") left=1 kind= ;;
        "report --group") left=1 kind= ;;
        "report -f"|"report -Y"|"report --filter") left=1 kind=filter ;;
        "report --slower-than") left=1 kind= ;;
        "report -n"|"report -c"|"report --limit") left=1 kind= ;;
        "report -o"|"report --output") left=1 kind=words list="text md ndjson json" ;;
        "report --color") left=1 kind=words list="auto always never" ;;
        "sql -r"|"sql --read") left=1 kind=files ;;
        "sql -i"|"sql --interface") left=1 kind=interfaces ;;
        "sql --bpf") left=1 kind= ;;
        "sql -w"|"sql --write") left=1 kind=files ;;
        "sql --port") left=1 kind= ;;
        "sql --keylog") left=1 kind=files ;;
        "sql --since") left=1 kind= ;;
        "sql --until") left=1 kind= ;;
        "sql --api") left=1 kind=apis ;;
        "sql --client-id") left=1 kind= ;;
        "sql --client") left=1 kind= ;;
        "sql --topic") left=1 kind= ;;
        "sql --group") left=1 kind= ;;
        "sql -f"|"sql -Y"|"sql --filter") left=1 kind=filter ;;
        "sql --slower-than") left=1 kind= ;;
        "sql -n"|"sql -c"|"sql --limit") left=1 kind= ;;
        "sql -o"|"sql --output") left=1 kind=words list="text table ndjson json csv" ;;
        "sql --color") left=1 kind=words list="auto always never" ;;
        "replay --speed") left=1 kind= ;;
        "replay --changes") left=1 kind= ;;
        "replay --map") left=1 kind= ;;
        "replay --replay-client-id") left=1 kind= ;;
        "replay --port") left=1 kind= ;;
        "replay --keylog") left=1 kind=files ;;
        "replay --since") left=1 kind= ;;
        "replay --until") left=1 kind= ;;
        "replay --api") left=1 kind=apis ;;
        "replay --client-id") left=1 kind= ;;
        "replay --client") left=1 kind= ;;
        "replay --topic") left=1 kind= ;;
        "replay --group") left=1 kind= ;;
        "replay -f"|"replay -Y"|"replay --filter") left=1 kind=filter ;;
        "replay --slower-than") left=1 kind= ;;
        "replay -n"|"replay -c"|"replay --limit") left=1 kind= ;;
        "replay -b"|"replay --bootstrap-server") left=1 kind= ;;
        "replay --bootstrap-controller") left=1 kind= ;;
        "replay -X"|"replay --property") left=1 kind=property ;;
        "replay -F"|"replay --command-config") left=1 kind=files ;;
        "replay --profile") left=1 kind=profiles ;;
        "replay --timeout") left=1 kind= ;;
        "replay --connect-timeout") left=1 kind= ;;
        "replay --dial-map") left=1 kind= ;;
        "replay -o"|"replay --output") left=1 kind=words list="text table ndjson json" ;;
        "replay --color") left=1 kind=words list="auto always never" ;;
        "scrub --keep") left=1 kind=words list="topics groups clients users transactions hosts members" ;;
        "scrub --salt-file") left=1 kind= ;;
        "scrub --names") left=1 kind= ;;
        "scrub --port") left=1 kind= ;;
        "scrub --keylog") left=1 kind=files ;;
        "pipeline compact --lateness") left=1 kind= ;;
        "pipeline compact --keep") left=1 kind= ;;
        "pipeline report --target") left=1 kind=releases ;;
        "pipeline report --html") left=1 kind=files ;;
        "pipeline report --master") left=1 kind= ;;
        "pipeline report -o"|"pipeline report --output") left=1 kind=words list="text md ndjson json" ;;
        "pipeline report --color") left=1 kind=words list="auto always never" ;;
        "pipeline run --since") left=1 kind= ;;
        "pipeline run --until") left=1 kind= ;;
        "pipeline run --out") left=1 kind=files ;;
        "pipeline run --point") left=1 kind= ;;
        "pipeline run --api") left=1 kind=apis ;;
        "pipeline run --client-id") left=1 kind= ;;
        "pipeline run --client") left=1 kind= ;;
        "pipeline run --topic") left=1 kind= ;;
        "pipeline run --group") left=1 kind= ;;
        "pipeline run -f"|"pipeline run -Y"|"pipeline run --filter") left=1 kind=filter ;;
        "pipeline run --slower-than") left=1 kind= ;;
        "pipeline run --port") left=1 kind= ;;
        "pipeline run --keylog") left=1 kind=files ;;
        "pipeline run --tables") left=1 kind=words list="exchanges topic_partitions connections skipped" ;;
        "pipeline run --engine") left=1 kind=words list="auto local stitch shuffle" ;;
        "pipeline run --master") left=1 kind= ;;
        "pipeline run --split-size") left=1 kind= ;;
        "pipeline sql -n"|"pipeline sql -c"|"pipeline sql --limit") left=1 kind= ;;
        "pipeline sql --master") left=1 kind= ;;
        "pipeline sql -o"|"pipeline sql --output") left=1 kind=words list="text table ndjson json csv" ;;
        "pipeline sql --color") left=1 kind=words list="auto always never" ;;
        "pipeline watch --out") left=1 kind=files ;;
        "pipeline watch --point") left=1 kind= ;;
        "pipeline watch --api") left=1 kind=apis ;;
        "pipeline watch --client-id") left=1 kind= ;;
        "pipeline watch --client") left=1 kind= ;;
        "pipeline watch --topic") left=1 kind= ;;
        "pipeline watch --group") left=1 kind= ;;
        "pipeline watch -f"|"pipeline watch -Y"|"pipeline watch --filter") left=1 kind=filter ;;
        "pipeline watch --slower-than") left=1 kind= ;;
        "pipeline watch --port") left=1 kind= ;;
        "pipeline watch --keylog") left=1 kind=files ;;
        "pipeline watch --tables") left=1 kind=words list="exchanges topic_partitions connections skipped" ;;
        "pipeline watch --engine") left=1 kind=words list="auto local stitch shuffle" ;;
        "pipeline watch --master") left=1 kind= ;;
        "pipeline watch --lateness") left=1 kind= ;;
        "pipeline watch --interval") left=1 kind= ;;
        "pipeline watch --batch-size") left=1 kind= ;;
        "pipeline watch --keep") left=1 kind= ;;
        "pipeline watch --format") left=1 kind=words list="parquet delta iceberg" ;;
        "pipeline watch --metrics") left=1 kind= ;;
        "pipeline watch --threshold") left=1 kind= ;;
        "apis --release") left=1 kind=releases ;;
        "apis --diff") left=2 kind=releases ;;
        "apis --grep") left=1 kind= ;;
        "apis -o"|"apis --output") left=1 kind=words list="text ndjson json csv yaml fields" ;;
        "apis -e"|"apis --field") left=1 kind= ;;
        "apis -E"|"apis --field-option") left=1 kind= ;;
        "apis --color") left=1 kind=words list="auto always never" ;;
        "errors --grep") left=1 kind= ;;
        "errors -o"|"errors --output") left=1 kind=words list="text ndjson json csv yaml fields" ;;
        "errors -e"|"errors --field") left=1 kind= ;;
        "errors -E"|"errors --field-option") left=1 kind= ;;
        "errors --color") left=1 kind=words list="auto always never" ;;
        "decode --api") left=1 kind=apis ;;
        "decode --version"|"decode --api-version") left=1 kind=versions ;;
        "decode --as") left=1 kind= ;;
        "decode --from") left=1 kind=words list="auto hex base64 raw" ;;
        "decode -o"|"decode --output") left=1 kind=words list="text json ndjson yaml fields hex" ;;
        "decode -e"|"decode --field") left=1 kind= ;;
        "decode -E"|"decode --field-option") left=1 kind= ;;
        "decode --color") left=1 kind=words list="auto always never" ;;
        "encode --correlation-id") left=1 kind= ;;
        "encode --client-id") left=1 kind= ;;
        "encode -o"|"encode --output") left=1 kind=words list="hex base64 raw" ;;
        "profile add -b"|"profile add --bootstrap-server") left=1 kind= ;;
        "profile add --bootstrap-controller") left=1 kind= ;;
        "profile add -X"|"profile add --property") left=1 kind=property ;;
        "profile add -F"|"profile add --command-config") left=1 kind=files ;;
        "profile current -o"|"profile current --output") left=1 kind=words list="text ndjson json" ;;
        "profile current --color") left=1 kind=words list="auto always never" ;;
        "profile export --as") left=1 kind=words list="kw java librdkafka env" ;;
        "profile import --context") left=1 kind= ;;
        "profile list -o"|"profile list --output") left=1 kind=words list="text ndjson json" ;;
        "profile list --color") left=1 kind=words list="auto always never" ;;
        "profile show -o"|"profile show --output") left=1 kind=words list="text ndjson json" ;;
        "profile show --color") left=1 kind=words list="auto always never" ;;
        "mock --port") left=1 kind= ;;
        "mock --bind") left=1 kind= ;;
        "mock --advertise") left=1 kind= ;;
        "mock --password") left=1 kind= ;;
        "mock --keylog") left=1 kind=files ;;
        "mock --tls-cert") left=1 kind=files ;;
        "mock --tls-key") left=1 kind=files ;;
        "mock --tls-client-ca") left=1 kind=files ;;
        "mock --api") left=1 kind=apis ;;
        "mock --client-id") left=1 kind= ;;
        "mock --client") left=1 kind= ;;
        "mock --topic") left=1 kind= ;;
        "mock --group") left=1 kind= ;;
        "mock -f"|"mock -Y"|"mock --filter") left=1 kind=filter ;;
        "mock --slower-than") left=1 kind= ;;
        "mock -o"|"mock --output") left=1 kind=words list="text table ndjson json csv yaml fields hex" ;;
        "mock -e"|"mock --field") left=1 kind=columns ;;
        "mock -E"|"mock --field-option") left=1 kind= ;;
        "mock --columns") left=1 kind=columns ;;
        "mock --color") left=1 kind=words list="auto always never" ;;
        "mock -w"|"mock --write") left=1 kind=files ;;
        "mock --rotate-size") left=1 kind= ;;
        "mock --rotate-interval") left=1 kind= ;;
        "mock --log-overflow") left=1 kind=words list="drop block" ;;
        "playground --nodes") left=1 kind= ;;
        "playground --version") left=1 kind=words list="4.3.1 3.9.1" ;;
        "playground --port") left=1 kind= ;;
        "playground --listeners") left=1 kind= ;;
        "playground --topics") left=1 kind= ;;
        "playground --run") left=1 kind= ;;
        "playground --jars") left=1 kind=files ;;
        "playground node --port") left=1 kind= ;;
        "playground node --timeout") left=1 kind= ;;
        "playground node -o"|"playground node --output") left=1 kind=words list="text ndjson json" ;;
        "help --search") left=1 kind= ;;
        "help --color") left=1 kind=words list="auto always never" ;;
        "version -o"|"version --output") left=1 kind=words list="text ndjson json" ;;
        "version --color") left=1 kind=words list="auto always never" ;;
    esac
    [[ $1 == *= ]] && left=0
}
_kw_place() {  # what the argument at a place may be
    case $1 in
        "sniff "*) kind=files ;;
        "call 0") kind=apis ;;
        "call "*) kind=body ;;
        "stats "*) kind=files ;;
        "clients "*) kind=files ;;
        "groups "*) kind=files ;;
        "topics "*) kind=files ;;
        "brokers "*) kind=files ;;
        "doctor "*) kind=files ;;
        "audit "*) kind=files ;;
        "report "*) kind=files ;;
        "sql "*) kind=files ;;
        "replay "*) kind=files ;;
        "pipeline compact 0") kind=files ;;
        "pipeline report 0") kind=files ;;
        "pipeline run "*) kind=files ;;
        "pipeline sql 0") kind=files ;;
        "pipeline watch "*) kind=files ;;
        "apis 0") kind=apis ;;
        "apis 1") kind=versions ;;
        "errors "*) kind=errors ;;
        "decode "*) kind=files ;;
        "encode 0") kind=apis ;;
        "encode 1") kind=versions ;;
        "encode "*) kind=body ;;
        "profile add "*) kind=property ;;
        "profile edit 0") kind=profiles ;;
        "profile export 0") kind=profiles ;;
        "profile import "*) kind=files ;;
        "profile remove 0") kind=profiles ;;
        "profile rename 0") kind=profiles ;;
        "profile show 0") kind=profiles ;;
        "profile use 0") kind=profiles ;;
        "playground node 0") kind=words list="list stop kill start restart pause unpause" ;;
        "completion 0") kind=words list="bash zsh fish" ;;
        "help "*) kind=words list="sniff stats clients groups topics brokers doctor audit replay scrub call proxy mock faults as-kafka scripts control decode encode apis errors playground pipeline report sql completion other-tools filter columns record hex words produce-fetch connect tls logins request-log failures telemetry options exit-codes tables watch runbook spark library contributing changes" ;;
    esac
}
_kw() {
    local verb= api= left=0 place=0 kind= list= verbs= options= head= quote= cut= tilde= fold=1 at last plain
    local IFS=$' \t\n'
    local -a line
    COMPREPLY=()
    _kw_split "${COMP_LINE:0:COMP_POINT}" || return 0
    last=$((${#line[@]} - 1))
    ((last > 0)) || return 0
    shopt -q nocasematch && fold=0
    shopt -s nocasematch
    _kw_verb
    for ((at = 1; at < last; at++)); do
        plain=${line[at]}
        if ((left)); then
            [[ $kind == apis ]] && api=$plain
            ((left--))
        elif [[ $plain == -?* ]]; then
            kind= list=
            _kw_option "$verb $plain"
        elif [[ " $verbs " == *" $plain "* ]]; then
            verb+="${verb:+ }$plain"
            _kw_verb
        else
            kind=
            _kw_place "$verb $place"
            [[ $kind == apis ]] && api=$plain
            ((place++))
        fi
    done
    plain=${line[last]}
    if ((!left)); then
        kind= list=
        if [[ $plain == --*=* ]]; then
            _kw_option "$verb ${plain%%=*}="
            head=${plain%%=*}= plain=${plain#*=}
        elif [[ $plain == -* ]]; then
            kind=words list=$options
        elif [[ $verbs ]]; then
            kind=words list=$verbs
        else
            _kw_place "$verb $place"
        fi
    fi
    api=${api//[-_]/}
    _kw_kind
    ((fold)) && shopt -u nocasematch
    return 0
}
complete -F _kw kw
