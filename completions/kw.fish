# fish completion for kw; made by `kw completion fish`
function __kw_line  # the command, then its arguments; options and their values are left out
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l verb
    set -l arguments
    set -l left 0
    set -l option
    for token in $tokens
        if test $left -gt 0
            set left (math $left - 1)
        else if string match -q -- '-*' $token
            set option $token
            string match -q -- '*=*' $token; or set left (__kw_takes "$verb" $token)
        else if contains -- (string join ' ' $verb $token) $__kw_verbs
            set verb (string join ' ' $verb $token)
        else
            set -a arguments $token
        end
    end
    if test $left -gt 0; and test "$tokens[-1]" != "$option"  # an option waits for its second value
        echo "$verb $option"
        return
    end
    echo "$verb"
    test (count $arguments) -gt 0; and printf '%s\n' $arguments
end
function __kw_in  # whether the line is at this command, and at this place among its arguments where one is given
    set -l line (__kw_line)
    test "$line[1]" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    set -l place (math (count $line) - 1)
    test $place -eq $argv[2]; or string match -q -- "$argv[3]" more; and test $place -ge $argv[2]
end
function __kw_any  # whether the line is at one of these commands
    set -l line (__kw_line)
    contains -- "$line[1]" $argv
end
function __kw_api
    set -l tokens (commandline -opc)
    set -l api
    if set -l at (contains -i -- --api $tokens)
        set api $tokens[(math $at + 1)]
    else
        set -l line (__kw_line)
        set api $line[2]
    end
    string lower -- $api | string replace -ra '[-_]' ''
end
function __kw_versions
    set -l range (__kw_range (__kw_api))
    test (count $range) -eq 2; and seq $range[2] -1 $range[1]
end
function __kw_drawable  # the words without control characters and bytes that are no text, U+F6xx to fish: it draws them
    set -l locale (string match -v '' -- $LC_ALL $LC_CTYPE $LANG C)
    if string match -qri '^(C|POSIX)$|utf-?8' -- $locale[1]
        string match -rv '[\x00-\x1f\x7f-\x9f\x{f600}-\x{f6ff}]' -- $argv
    else  # a sign may be a part of a character, and is run (GBK, Big5)
        string match -r '^[\x20-\x7e]*$' -- $argv
    end
end
function __kw_files
    set -l word (commandline -ct | string replace -r '^(["\']?)--[^=]*=' '$1' | string collect)
    for file in (complete -C "'' $word" | string replace -r '\t.*' '')
        if not string match -qr '^[~$]' -- "$word"
            test -e $file; or test -L $file; or continue  # a line of a name with several
            string match -q '~*' -- $file; and set file ./$file
        end
        __kw_drawable $file
    end
end
function __kw_profiles
    set -l home $HOME/.config
    set -q XDG_CONFIG_HOME; and test -n "$XDG_CONFIG_HOME"; and set home $XDG_CONFIG_HOME
    for file in $home/kw/profiles/*.properties
        __kw_drawable (string replace -r '.*/(.*)\.properties$' '$1' -- $file | string collect)
    end
end
function __kw_live  # what kw itself knows about $1 (ValueKind), in 0.3 s, or nothing
    set -l tokens (commandline -opc)
    set -l word (commandline -ct)
    set -l quoted ''
    if string match -qr '^[\'"]' -- $word
        set quoted -quoted
        set word (string sub -s 2 -- $word)
    else
        set word (string unescape -- $word)
    end
    set -l limit
    type -q timeout; and set limit timeout (set -q KW_COMPLETION_LIMIT; and echo $KW_COMPLETION_LIMIT; or echo 0.3)
    $limit $tokens[1] __complete $argv[1]$quoted "$word" $tokens[2..-1] 2>/dev/null
end
function __kw_body  # path=value: the paths of the request, then what the field may hold
    set -l api (__kw_api)
    set -l token (commandline -ct | string unescape)
    if string match -qr '^([^=]*=)?@' -- $token
        set -l head (string replace -r '@.*' '@' -- $token)
        set -l begun (string replace -r '^[^@]*@' '' -- $token)
        for file in "$begun"*
            test -d $file; and set file $file/
            __kw_drawable $head$file
        end
        return
    end
    set -l path (string replace -r ':?=.*' '' -- $token)
    set -l plain (string replace -ra '\[\d+\]' '[]' -- $path)
    if string match -q '*=*' -- $token
        set -l head (string replace -r '=.*' '=' -- $token)
        set -l values (__kw_values "$api $plain")
        for value in $values
            echo $head$value
        end
        test (count $values) -gt 0; or __kw_live body
        return
    end
    set -l rows (__kw_live body)
    if test (count $rows) -gt 0
        printf '%s\n' $rows
    else if test "$plain" = "$path"
        __kw_fields $api
    else
        for field in (__kw_fields $api)
            string match -q -- (string escape --style=regex -- $plain)'*' $field
            if test (string sub -l (string length -- $plain) -- $field) = $plain
                echo $path(string sub -s (math (string length -- $plain) + 1) -- $field)
            end
        end
    end
end
function __kw_range
    switch "$argv[1]"
        case '0' 'produce'
            printf '%s\n' 0 13
        case '1' 'fetch'
            printf '%s\n' 0 18
        case '2' 'listoffsets' 'listoffset'
            printf '%s\n' 0 11
        case '3' 'metadata'
            printf '%s\n' 0 13
        case '4' 'leaderandisr'
            printf '%s\n' 0 7
        case '5' 'stopreplica'
            printf '%s\n' 0 4
        case '6' 'updatemetadata'
            printf '%s\n' 0 8
        case '7' 'controlledshutdown'
            printf '%s\n' 0 3
        case '8' 'offsetcommit'
            printf '%s\n' 0 10
        case '9' 'offsetfetch'
            printf '%s\n' 0 10
        case '10' 'findcoordinator'
            printf '%s\n' 0 6
        case '11' 'joingroup'
            printf '%s\n' 0 9
        case '12' 'heartbeat'
            printf '%s\n' 0 4
        case '13' 'leavegroup'
            printf '%s\n' 0 5
        case '14' 'syncgroup'
            printf '%s\n' 0 5
        case '15' 'describegroups'
            printf '%s\n' 0 6
        case '16' 'listgroups'
            printf '%s\n' 0 5
        case '17' 'saslhandshake'
            printf '%s\n' 0 1
        case '18' 'apiversions'
            printf '%s\n' 0 5
        case '19' 'createtopics'
            printf '%s\n' 0 7
        case '20' 'deletetopics'
            printf '%s\n' 0 6
        case '21' 'deleterecords'
            printf '%s\n' 0 2
        case '22' 'initproducerid'
            printf '%s\n' 0 6
        case '23' 'offsetforleaderepoch'
            printf '%s\n' 0 4
        case '24' 'addpartitionstotxn'
            printf '%s\n' 0 5
        case '25' 'addoffsetstotxn'
            printf '%s\n' 0 4
        case '26' 'endtxn'
            printf '%s\n' 0 5
        case '27' 'writetxnmarkers'
            printf '%s\n' 0 2
        case '28' 'txnoffsetcommit'
            printf '%s\n' 0 6
        case '29' 'describeacls'
            printf '%s\n' 0 3
        case '30' 'createacls'
            printf '%s\n' 0 3
        case '31' 'deleteacls'
            printf '%s\n' 0 3
        case '32' 'describeconfigs'
            printf '%s\n' 0 4
        case '33' 'alterconfigs'
            printf '%s\n' 0 2
        case '34' 'alterreplicalogdirs'
            printf '%s\n' 0 2
        case '35' 'describelogdirs'
            printf '%s\n' 0 5
        case '36' 'saslauthenticate'
            printf '%s\n' 0 2
        case '37' 'createpartitions'
            printf '%s\n' 0 3
        case '38' 'createdelegationtoken'
            printf '%s\n' 0 3
        case '39' 'renewdelegationtoken'
            printf '%s\n' 0 2
        case '40' 'expiredelegationtoken'
            printf '%s\n' 0 2
        case '41' 'describedelegationtoken'
            printf '%s\n' 0 3
        case '42' 'deletegroups'
            printf '%s\n' 0 3
        case '43' 'electleaders' 'electpreferredleaders'
            printf '%s\n' 0 2
        case '44' 'incrementalalterconfigs'
            printf '%s\n' 0 1
        case '45' 'alterpartitionreassignments'
            printf '%s\n' 0 1
        case '46' 'listpartitionreassignments'
            printf '%s\n' 0 0
        case '47' 'offsetdelete'
            printf '%s\n' 0 0
        case '48' 'describeclientquotas'
            printf '%s\n' 0 1
        case '49' 'alterclientquotas'
            printf '%s\n' 0 1
        case '50' 'describeuserscramcredentials'
            printf '%s\n' 0 0
        case '51' 'alteruserscramcredentials'
            printf '%s\n' 0 0
        case '52' 'vote'
            printf '%s\n' 0 2
        case '53' 'beginquorumepoch'
            printf '%s\n' 0 1
        case '54' 'endquorumepoch'
            printf '%s\n' 0 1
        case '55' 'describequorum'
            printf '%s\n' 0 2
        case '56' 'alterpartition' 'alterisr'
            printf '%s\n' 0 3
        case '57' 'updatefeatures'
            printf '%s\n' 0 2
        case '58' 'envelope'
            printf '%s\n' 0 0
        case '59' 'fetchsnapshot'
            printf '%s\n' 0 1
        case '60' 'describecluster'
            printf '%s\n' 0 2
        case '61' 'describeproducers'
            printf '%s\n' 0 0
        case '62' 'brokerregistration'
            printf '%s\n' 0 4
        case '63' 'brokerheartbeat'
            printf '%s\n' 0 2
        case '64' 'unregisterbroker'
            printf '%s\n' 0 0
        case '65' 'describetransactions'
            printf '%s\n' 0 0
        case '66' 'listtransactions'
            printf '%s\n' 0 2
        case '67' 'allocateproducerids'
            printf '%s\n' 0 0
        case '68' 'consumergroupheartbeat'
            printf '%s\n' 0 1
        case '69' 'consumergroupdescribe'
            printf '%s\n' 0 1
        case '70' 'controllerregistration'
            printf '%s\n' 0 0
        case '71' 'gettelemetrysubscriptions'
            printf '%s\n' 0 0
        case '72' 'pushtelemetry'
            printf '%s\n' 0 0
        case '73' 'assignreplicastodirs'
            printf '%s\n' 0 0
        case '74' 'listconfigresources' 'listclientmetricsresources'
            printf '%s\n' 0 1
        case '75' 'describetopicpartitions'
            printf '%s\n' 0 0
        case '76' 'sharegroupheartbeat'
            printf '%s\n' 0 1
        case '77' 'sharegroupdescribe'
            printf '%s\n' 0 1
        case '78' 'sharefetch'
            printf '%s\n' 0 2
        case '79' 'shareacknowledge'
            printf '%s\n' 0 2
        case '80' 'addraftvoter'
            printf '%s\n' 0 1
        case '81' 'removeraftvoter'
            printf '%s\n' 0 0
        case '82' 'updateraftvoter'
            printf '%s\n' 0 0
        case '83' 'initializesharegroupstate'
            printf '%s\n' 0 0
        case '84' 'readsharegroupstate'
            printf '%s\n' 0 0
        case '85' 'writesharegroupstate'
            printf '%s\n' 0 1
        case '86' 'deletesharegroupstate'
            printf '%s\n' 0 0
        case '87' 'readsharegroupstatesummary'
            printf '%s\n' 0 1
        case '88' 'streamsgroupheartbeat'
            printf '%s\n' 0 1
        case '89' 'streamsgroupdescribe'
            printf '%s\n' 0 1
        case '90' 'describesharegroupoffsets'
            printf '%s\n' 0 1
        case '91' 'altersharegroupoffsets'
            printf '%s\n' 0 0
        case '92' 'deletesharegroupoffsets'
            printf '%s\n' 0 0
        case '93' 'streamsgrouptopologydescriptionupdate'
            printf '%s\n' 0 0
        case '94' 'unregistercontroller'
            printf '%s\n' 0 0
    end
end
function __kw_fields
    switch "$argv[1]"
        case '0' 'produce'
            printf '%s\n' 'topic=' 'acks=' 'transactional_id=' 'producer_id=' 'producer_epoch=' 'base_sequence=' 'key=' 'value=' 'header=' 'partition=' 'timestamp=' 'timeout_ms=' 'topic_data[].name=' 'topic_data[].topic_id=' 'topic_data[].partition_data[].index=' 'topic_data[].partition_data[].records='
        case '1' 'fetch'
            printf '%s\n' 'topic=' 'partition=' 'offset=' 'cluster_id=' 'replica_id=' 'replica_state.replica_id=' 'replica_state.replica_epoch=' 'max_wait_ms=' 'min_bytes=' 'max_bytes=' 'isolation_level=' 'session_id=' 'session_epoch=' 'topics[].topic=' 'topics[].topic_id=' 'topics[].partitions[].partition=' 'topics[].partitions[].current_leader_epoch=' 'topics[].partitions[].fetch_offset=' 'topics[].partitions[].last_fetched_epoch=' 'topics[].partitions[].log_start_offset=' 'topics[].partitions[].partition_max_bytes=' 'topics[].partitions[].replica_directory_id=' 'topics[].partitions[].high_watermark=' 'forgotten_topics_data[].topic=' 'forgotten_topics_data[].topic_id=' 'forgotten_topics_data[].partitions[]=' 'rack_id='
        case '2' 'listoffsets' 'listoffset'
            printf '%s\n' 'replica_id=' 'isolation_level=' 'topics[].name=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].current_leader_epoch=' 'topics[].partitions[].timestamp=' 'topics[].partitions[].max_num_offsets=' 'timeout_ms='
        case '3' 'metadata'
            printf '%s\n' 'topics[].topic_id=' 'topics[].name=' 'allow_auto_topic_creation=' 'include_cluster_authorized_operations=' 'include_topic_authorized_operations='
        case '4' 'leaderandisr'
            printf '%s\n' 'controller_id=' 'is_kraft_controller=' 'controller_epoch=' 'broker_epoch=' 'type=' 'ungrouped_partition_states[].topic_name=' 'ungrouped_partition_states[].partition_index=' 'ungrouped_partition_states[].controller_epoch=' 'ungrouped_partition_states[].leader=' 'ungrouped_partition_states[].leader_epoch=' 'ungrouped_partition_states[].isr[]=' 'ungrouped_partition_states[].partition_epoch=' 'ungrouped_partition_states[].replicas[]=' 'ungrouped_partition_states[].is_new=' 'topic_states[].topic_name=' 'topic_states[].topic_id=' 'topic_states[].partition_states[].partition_index=' 'topic_states[].partition_states[].controller_epoch=' 'topic_states[].partition_states[].leader=' 'topic_states[].partition_states[].leader_epoch=' 'topic_states[].partition_states[].isr[]=' 'topic_states[].partition_states[].partition_epoch=' 'topic_states[].partition_states[].replicas[]=' 'topic_states[].partition_states[].adding_replicas[]=' 'topic_states[].partition_states[].removing_replicas[]=' 'topic_states[].partition_states[].is_new=' 'topic_states[].partition_states[].leader_recovery_state=' 'live_leaders[].broker_id=' 'live_leaders[].host_name=' 'live_leaders[].port='
        case '5' 'stopreplica'
            printf '%s\n' 'controller_id=' 'is_kraft_controller=' 'controller_epoch=' 'broker_epoch=' 'delete_partitions=' 'ungrouped_partitions[].topic_name=' 'ungrouped_partitions[].partition_index=' 'topics[].name=' 'topics[].partition_indexes[]=' 'topic_states[].topic_name=' 'topic_states[].partition_states[].partition_index=' 'topic_states[].partition_states[].leader_epoch=' 'topic_states[].partition_states[].delete_partition='
        case '6' 'updatemetadata'
            printf '%s\n' 'controller_id=' 'is_kraft_controller=' 'type=' 'controller_epoch=' 'broker_epoch=' 'ungrouped_partition_states[].topic_name=' 'ungrouped_partition_states[].partition_index=' 'ungrouped_partition_states[].controller_epoch=' 'ungrouped_partition_states[].leader=' 'ungrouped_partition_states[].leader_epoch=' 'ungrouped_partition_states[].isr[]=' 'ungrouped_partition_states[].zk_version=' 'ungrouped_partition_states[].replicas[]=' 'ungrouped_partition_states[].offline_replicas[]=' 'topic_states[].topic_name=' 'topic_states[].topic_id=' 'topic_states[].partition_states[].partition_index=' 'topic_states[].partition_states[].controller_epoch=' 'topic_states[].partition_states[].leader=' 'topic_states[].partition_states[].leader_epoch=' 'topic_states[].partition_states[].isr[]=' 'topic_states[].partition_states[].zk_version=' 'topic_states[].partition_states[].replicas[]=' 'topic_states[].partition_states[].offline_replicas[]=' 'live_brokers[].id=' 'live_brokers[].v0_host=' 'live_brokers[].v0_port=' 'live_brokers[].endpoints[].port=' 'live_brokers[].endpoints[].host=' 'live_brokers[].endpoints[].listener=' 'live_brokers[].endpoints[].security_protocol=' 'live_brokers[].rack='
        case '7' 'controlledshutdown'
            printf '%s\n' 'broker_id=' 'broker_epoch='
        case '8' 'offsetcommit'
            printf '%s\n' 'group_id=' 'generation_id_or_member_epoch=' 'member_id=' 'group_instance_id=' 'retention_time_ms=' 'topics[].name=' 'topics[].topic_id=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].committed_offset=' 'topics[].partitions[].commit_timestamp=' 'topics[].partitions[].committed_leader_epoch=' 'topics[].partitions[].committed_metadata='
        case '9' 'offsetfetch'
            printf '%s\n' 'group_id=' 'topics[].name=' 'topics[].partition_indexes[]=' 'groups[].group_id=' 'groups[].member_id=' 'groups[].member_epoch=' 'groups[].topics[].name=' 'groups[].topics[].topic_id=' 'groups[].topics[].partition_indexes[]=' 'require_stable='
        case '10' 'findcoordinator'
            printf '%s\n' 'key=' 'key_type=' 'coordinator_keys[]='
        case '11' 'joingroup'
            printf '%s\n' 'group_id=' 'session_timeout_ms=' 'rebalance_timeout_ms=' 'member_id=' 'group_instance_id=' 'protocol_type=' 'protocols[].name=' 'protocols[].metadata=' 'reason='
        case '12' 'heartbeat'
            printf '%s\n' 'group_id=' 'generation_id=' 'member_id=' 'group_instance_id='
        case '13' 'leavegroup'
            printf '%s\n' 'group_id=' 'member_id=' 'members[].member_id=' 'members[].group_instance_id=' 'members[].reason='
        case '14' 'syncgroup'
            printf '%s\n' 'group_id=' 'generation_id=' 'member_id=' 'group_instance_id=' 'protocol_type=' 'protocol_name=' 'assignments[].member_id=' 'assignments[].assignment='
        case '15' 'describegroups'
            printf '%s\n' 'groups[]=' 'include_authorized_operations='
        case '16' 'listgroups'
            printf '%s\n' 'states_filter[]=' 'types_filter[]='
        case '17' 'saslhandshake'
            printf '%s\n' 'mechanism='
        case '18' 'apiversions'
            printf '%s\n' 'client_software_name=' 'client_software_version=' 'cluster_id=' 'node_id='
        case '19' 'createtopics'
            printf '%s\n' 'topics[].name=' 'topics[].num_partitions=' 'topics[].replication_factor=' 'topics[].assignments[].partition_index=' 'topics[].assignments[].broker_ids[]=' 'topics[].configs[].name=' 'topics[].configs[].value=' 'timeout_ms=' 'validate_only='
        case '20' 'deletetopics'
            printf '%s\n' 'topics[].name=' 'topics[].topic_id=' 'topic_names[]=' 'timeout_ms='
        case '21' 'deleterecords'
            printf '%s\n' 'topics[].name=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].offset=' 'timeout_ms='
        case '22' 'initproducerid'
            printf '%s\n' 'transactional_id=' 'transaction_timeout_ms=' 'producer_id=' 'producer_epoch=' 'enable2_pc=' 'keep_prepared_txn='
        case '23' 'offsetforleaderepoch'
            printf '%s\n' 'replica_id=' 'topics[].topic=' 'topics[].partitions[].partition=' 'topics[].partitions[].current_leader_epoch=' 'topics[].partitions[].leader_epoch='
        case '24' 'addpartitionstotxn'
            printf '%s\n' 'transactions[].transactional_id=' 'transactions[].producer_id=' 'transactions[].producer_epoch=' 'transactions[].verify_only=' 'transactions[].topics[].name=' 'transactions[].topics[].partitions[]=' 'v3_and_below_transactional_id=' 'v3_and_below_producer_id=' 'v3_and_below_producer_epoch=' 'v3_and_below_topics[].name=' 'v3_and_below_topics[].partitions[]='
        case '25' 'addoffsetstotxn'
            printf '%s\n' 'transactional_id=' 'producer_id=' 'producer_epoch=' 'group_id='
        case '26' 'endtxn'
            printf '%s\n' 'transactional_id=' 'producer_id=' 'producer_epoch=' 'committed='
        case '27' 'writetxnmarkers'
            printf '%s\n' 'markers[].producer_id=' 'markers[].producer_epoch=' 'markers[].transaction_result=' 'markers[].topics[].name=' 'markers[].topics[].partition_indexes[]=' 'markers[].coordinator_epoch=' 'markers[].transaction_version='
        case '28' 'txnoffsetcommit'
            printf '%s\n' 'transactional_id=' 'group_id=' 'producer_id=' 'producer_epoch=' 'generation_id_or_member_epoch=' 'member_id=' 'group_instance_id=' 'topics[].name=' 'topics[].topic_id=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].committed_offset=' 'topics[].partitions[].committed_leader_epoch=' 'topics[].partitions[].committed_metadata='
        case '29' 'describeacls'
            printf '%s\n' 'resource_type_filter=' 'resource_name_filter=' 'pattern_type_filter=' 'principal_filter=' 'host_filter=' 'operation=' 'permission_type='
        case '30' 'createacls'
            printf '%s\n' 'creations[].resource_type=' 'creations[].resource_name=' 'creations[].resource_pattern_type=' 'creations[].principal=' 'creations[].host=' 'creations[].operation=' 'creations[].permission_type='
        case '31' 'deleteacls'
            printf '%s\n' 'filters[].resource_type_filter=' 'filters[].resource_name_filter=' 'filters[].pattern_type_filter=' 'filters[].principal_filter=' 'filters[].host_filter=' 'filters[].operation=' 'filters[].permission_type='
        case '32' 'describeconfigs'
            printf '%s\n' 'resources[].resource_type=' 'resources[].resource_name=' 'resources[].configuration_keys[]=' 'include_synonyms=' 'include_documentation='
        case '33' 'alterconfigs'
            printf '%s\n' 'resources[].resource_type=' 'resources[].resource_name=' 'resources[].configs[].name=' 'resources[].configs[].value=' 'validate_only='
        case '34' 'alterreplicalogdirs'
            printf '%s\n' 'dirs[].path=' 'dirs[].topics[].name=' 'dirs[].topics[].partitions[]='
        case '35' 'describelogdirs'
            printf '%s\n' 'topics[].topic=' 'topics[].partitions[]='
        case '36' 'saslauthenticate'
            printf '%s\n' 'auth_bytes='
        case '37' 'createpartitions'
            printf '%s\n' 'topics[].name=' 'topics[].count=' 'topics[].assignments[].broker_ids[]=' 'timeout_ms=' 'validate_only='
        case '38' 'createdelegationtoken'
            printf '%s\n' 'owner_principal_type=' 'owner_principal_name=' 'renewers[].principal_type=' 'renewers[].principal_name=' 'max_lifetime_ms='
        case '39' 'renewdelegationtoken'
            printf '%s\n' 'hmac=' 'renew_period_ms='
        case '40' 'expiredelegationtoken'
            printf '%s\n' 'hmac=' 'expiry_time_period_ms='
        case '41' 'describedelegationtoken'
            printf '%s\n' 'owners[].principal_type=' 'owners[].principal_name='
        case '42' 'deletegroups'
            printf '%s\n' 'groups_names[]='
        case '43' 'electleaders' 'electpreferredleaders'
            printf '%s\n' 'election_type=' 'topic_partitions[].topic=' 'topic_partitions[].partitions[]=' 'timeout_ms='
        case '44' 'incrementalalterconfigs'
            printf '%s\n' 'resources[].resource_type=' 'resources[].resource_name=' 'resources[].configs[].name=' 'resources[].configs[].config_operation=' 'resources[].configs[].value=' 'validate_only='
        case '45' 'alterpartitionreassignments'
            printf '%s\n' 'timeout_ms=' 'allow_replication_factor_change=' 'topics[].name=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].replicas[]='
        case '46' 'listpartitionreassignments'
            printf '%s\n' 'timeout_ms=' 'topics[].name=' 'topics[].partition_indexes[]='
        case '47' 'offsetdelete'
            printf '%s\n' 'group_id=' 'topics[].name=' 'topics[].partitions[].partition_index='
        case '48' 'describeclientquotas'
            printf '%s\n' 'components[].entity_type=' 'components[].match_type=' 'components[].match=' 'strict='
        case '49' 'alterclientquotas'
            printf '%s\n' 'entries[].entity[].entity_type=' 'entries[].entity[].entity_name=' 'entries[].ops[].key=' 'entries[].ops[].value=' 'entries[].ops[].remove=' 'validate_only='
        case '50' 'describeuserscramcredentials'
            printf '%s\n' 'users[].name='
        case '51' 'alteruserscramcredentials'
            printf '%s\n' 'deletions[].name=' 'deletions[].mechanism=' 'upsertions[].name=' 'upsertions[].mechanism=' 'upsertions[].iterations=' 'upsertions[].salt=' 'upsertions[].salted_password='
        case '52' 'vote'
            printf '%s\n' 'cluster_id=' 'voter_id=' 'topics[].topic_name=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].replica_epoch=' 'topics[].partitions[].replica_id=' 'topics[].partitions[].replica_directory_id=' 'topics[].partitions[].voter_directory_id=' 'topics[].partitions[].last_offset_epoch=' 'topics[].partitions[].last_offset=' 'topics[].partitions[].pre_vote='
        case '53' 'beginquorumepoch'
            printf '%s\n' 'cluster_id=' 'voter_id=' 'topics[].topic_name=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].voter_directory_id=' 'topics[].partitions[].leader_id=' 'topics[].partitions[].leader_epoch=' 'leader_endpoints[].name=' 'leader_endpoints[].host=' 'leader_endpoints[].port='
        case '54' 'endquorumepoch'
            printf '%s\n' 'cluster_id=' 'topics[].topic_name=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].leader_id=' 'topics[].partitions[].leader_epoch=' 'topics[].partitions[].preferred_successors[]=' 'topics[].partitions[].preferred_candidates[].candidate_id=' 'topics[].partitions[].preferred_candidates[].candidate_directory_id=' 'leader_endpoints[].name=' 'leader_endpoints[].host=' 'leader_endpoints[].port='
        case '55' 'describequorum'
            printf '%s\n' 'topics[].topic_name=' 'topics[].partitions[].partition_index='
        case '56' 'alterpartition' 'alterisr'
            printf '%s\n' 'broker_id=' 'broker_epoch=' 'topics[].topic_name=' 'topics[].topic_id=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].leader_epoch=' 'topics[].partitions[].new_isr[]=' 'topics[].partitions[].new_isr_with_epochs[].broker_id=' 'topics[].partitions[].new_isr_with_epochs[].broker_epoch=' 'topics[].partitions[].leader_recovery_state=' 'topics[].partitions[].partition_epoch='
        case '57' 'updatefeatures'
            printf '%s\n' 'timeout_ms=' 'feature_updates[].feature=' 'feature_updates[].max_version_level=' 'feature_updates[].allow_downgrade=' 'feature_updates[].upgrade_type=' 'validate_only='
        case '58' 'envelope'
            printf '%s\n' 'request_data=' 'request_principal=' 'client_host_address='
        case '59' 'fetchsnapshot'
            printf '%s\n' 'cluster_id=' 'replica_id=' 'max_bytes=' 'topics[].name=' 'topics[].partitions[].partition=' 'topics[].partitions[].current_leader_epoch=' 'topics[].partitions[].snapshot_id.end_offset=' 'topics[].partitions[].snapshot_id.epoch=' 'topics[].partitions[].position=' 'topics[].partitions[].replica_directory_id='
        case '60' 'describecluster'
            printf '%s\n' 'include_cluster_authorized_operations=' 'endpoint_type=' 'include_fenced_brokers='
        case '61' 'describeproducers'
            printf '%s\n' 'topics[].name=' 'topics[].partition_indexes[]='
        case '62' 'brokerregistration'
            printf '%s\n' 'broker_id=' 'cluster_id=' 'incarnation_id=' 'listeners[].name=' 'listeners[].host=' 'listeners[].port=' 'listeners[].security_protocol=' 'features[].name=' 'features[].min_supported_version=' 'features[].max_supported_version=' 'rack=' 'is_migrating_zk_broker=' 'log_dirs[]=' 'previous_broker_epoch='
        case '63' 'brokerheartbeat'
            printf '%s\n' 'broker_id=' 'broker_epoch=' 'current_metadata_offset=' 'want_fence=' 'want_shut_down=' 'offline_log_dirs[]=' 'cordoned_log_dirs[]='
        case '64' 'unregisterbroker'
            printf '%s\n' 'broker_id='
        case '65' 'describetransactions'
            printf '%s\n' 'transactional_ids[]='
        case '66' 'listtransactions'
            printf '%s\n' 'state_filters[]=' 'producer_id_filters[]=' 'duration_filter=' 'transactional_id_pattern='
        case '67' 'allocateproducerids'
            printf '%s\n' 'broker_id=' 'broker_epoch='
        case '68' 'consumergroupheartbeat'
            printf '%s\n' 'group_id=' 'member_id=' 'member_epoch=' 'instance_id=' 'rack_id=' 'rebalance_timeout_ms=' 'subscribed_topic_names[]=' 'subscribed_topic_regex=' 'server_assignor=' 'topic_partitions[].topic_id=' 'topic_partitions[].partitions[]='
        case '69' 'consumergroupdescribe'
            printf '%s\n' 'group_ids[]=' 'include_authorized_operations='
        case '70' 'controllerregistration'
            printf '%s\n' 'controller_id=' 'incarnation_id=' 'zk_migration_ready=' 'listeners[].name=' 'listeners[].host=' 'listeners[].port=' 'listeners[].security_protocol=' 'features[].name=' 'features[].min_supported_version=' 'features[].max_supported_version='
        case '71' 'gettelemetrysubscriptions'
            printf '%s\n' 'client_instance_id='
        case '72' 'pushtelemetry'
            printf '%s\n' 'client_instance_id=' 'subscription_id=' 'terminating=' 'compression_type=' 'metrics='
        case '73' 'assignreplicastodirs'
            printf '%s\n' 'broker_id=' 'broker_epoch=' 'directories[].id=' 'directories[].topics[].topic_id=' 'directories[].topics[].partitions[].partition_index='
        case '74' 'listconfigresources' 'listclientmetricsresources'
            printf '%s\n' 'resource_types[]='
        case '75' 'describetopicpartitions'
            printf '%s\n' 'topics[].name=' 'response_partition_limit=' 'cursor.topic_name=' 'cursor.partition_index='
        case '76' 'sharegroupheartbeat'
            printf '%s\n' 'group_id=' 'member_id=' 'member_epoch=' 'rack_id=' 'subscribed_topic_names[]='
        case '77' 'sharegroupdescribe'
            printf '%s\n' 'group_ids[]=' 'include_authorized_operations='
        case '78' 'sharefetch'
            printf '%s\n' 'group_id=' 'member_id=' 'share_session_epoch=' 'max_wait_ms=' 'min_bytes=' 'max_bytes=' 'max_records=' 'batch_size=' 'share_acquire_mode=' 'is_renew_ack=' 'topics[].topic_id=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].partition_max_bytes=' 'topics[].partitions[].acknowledgement_batches[].first_offset=' 'topics[].partitions[].acknowledgement_batches[].last_offset=' 'topics[].partitions[].acknowledgement_batches[].acknowledge_types[]=' 'forgotten_topics_data[].topic_id=' 'forgotten_topics_data[].partitions[]='
        case '79' 'shareacknowledge'
            printf '%s\n' 'group_id=' 'member_id=' 'share_session_epoch=' 'is_renew_ack=' 'topics[].topic_id=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].acknowledgement_batches[].first_offset=' 'topics[].partitions[].acknowledgement_batches[].last_offset=' 'topics[].partitions[].acknowledgement_batches[].acknowledge_types[]='
        case '80' 'addraftvoter'
            printf '%s\n' 'cluster_id=' 'timeout_ms=' 'voter_id=' 'voter_directory_id=' 'listeners[].name=' 'listeners[].host=' 'listeners[].port=' 'ack_when_committed='
        case '81' 'removeraftvoter'
            printf '%s\n' 'cluster_id=' 'voter_id=' 'voter_directory_id='
        case '82' 'updateraftvoter'
            printf '%s\n' 'cluster_id=' 'current_leader_epoch=' 'voter_id=' 'voter_directory_id=' 'listeners[].name=' 'listeners[].host=' 'listeners[].port=' 'kraft_version_feature.min_supported_version=' 'kraft_version_feature.max_supported_version='
        case '83' 'initializesharegroupstate'
            printf '%s\n' 'group_id=' 'topics[].topic_id=' 'topics[].partitions[].partition=' 'topics[].partitions[].state_epoch=' 'topics[].partitions[].start_offset='
        case '84' 'readsharegroupstate'
            printf '%s\n' 'group_id=' 'topics[].topic_id=' 'topics[].partitions[].partition=' 'topics[].partitions[].leader_epoch='
        case '85' 'writesharegroupstate'
            printf '%s\n' 'group_id=' 'topics[].topic_id=' 'topics[].partitions[].partition=' 'topics[].partitions[].state_epoch=' 'topics[].partitions[].leader_epoch=' 'topics[].partitions[].start_offset=' 'topics[].partitions[].delivery_complete_count=' 'topics[].partitions[].state_batches[].first_offset=' 'topics[].partitions[].state_batches[].last_offset=' 'topics[].partitions[].state_batches[].delivery_state=' 'topics[].partitions[].state_batches[].delivery_count='
        case '86' 'deletesharegroupstate'
            printf '%s\n' 'group_id=' 'topics[].topic_id=' 'topics[].partitions[].partition='
        case '87' 'readsharegroupstatesummary'
            printf '%s\n' 'group_id=' 'topics[].topic_id=' 'topics[].partitions[].partition=' 'topics[].partitions[].leader_epoch='
        case '88' 'streamsgroupheartbeat'
            printf '%s\n' 'group_id=' 'member_id=' 'member_epoch=' 'endpoint_information_epoch=' 'instance_id=' 'rack_id=' 'rebalance_timeout_ms=' 'topology.epoch=' 'topology.subtopologies[].subtopology_id=' 'topology.subtopologies[].source_topics[]=' 'topology.subtopologies[].source_topic_regex[]=' 'topology.subtopologies[].state_changelog_topics[].name=' 'topology.subtopologies[].state_changelog_topics[].partitions=' 'topology.subtopologies[].state_changelog_topics[].replication_factor=' 'topology.subtopologies[].state_changelog_topics[].topic_configs[].key=' 'topology.subtopologies[].state_changelog_topics[].topic_configs[].value=' 'topology.subtopologies[].repartition_sink_topics[]=' 'topology.subtopologies[].repartition_source_topics[].name=' 'topology.subtopologies[].repartition_source_topics[].partitions=' 'topology.subtopologies[].repartition_source_topics[].replication_factor=' 'topology.subtopologies[].repartition_source_topics[].topic_configs[].key=' 'topology.subtopologies[].repartition_source_topics[].topic_configs[].value=' 'topology.subtopologies[].copartition_groups[].source_topics[]=' 'topology.subtopologies[].copartition_groups[].source_topic_regex[]=' 'topology.subtopologies[].copartition_groups[].repartition_source_topics[]=' 'active_tasks[].subtopology_id=' 'active_tasks[].partitions[]=' 'standby_tasks[].subtopology_id=' 'standby_tasks[].partitions[]=' 'warmup_tasks[].subtopology_id=' 'warmup_tasks[].partitions[]=' 'process_id=' 'user_endpoint.host=' 'user_endpoint.port=' 'client_tags[].key=' 'client_tags[].value=' 'task_offsets[].subtopology_id=' 'task_offsets[].partition=' 'task_offsets[].offset=' 'task_end_offsets[].subtopology_id=' 'task_end_offsets[].partition=' 'task_end_offsets[].offset=' 'shutdown_application='
        case '89' 'streamsgroupdescribe'
            printf '%s\n' 'group_ids[]=' 'include_authorized_operations=' 'include_topology_description='
        case '90' 'describesharegroupoffsets'
            printf '%s\n' 'groups[].group_id=' 'groups[].topics[].topic_name=' 'groups[].topics[].partitions[]='
        case '91' 'altersharegroupoffsets'
            printf '%s\n' 'group_id=' 'topics[].topic_name=' 'topics[].partitions[].partition_index=' 'topics[].partitions[].start_offset='
        case '92' 'deletesharegroupoffsets'
            printf '%s\n' 'group_id=' 'topics[].topic_name='
        case '93' 'streamsgrouptopologydescriptionupdate'
            printf '%s\n' 'group_id=' 'member_id=' 'topology_epoch=' 'topology_description.subtopologies[].subtopology_id=' 'topology_description.subtopologies[].nodes[].name=' 'topology_description.subtopologies[].nodes[].node_type=' 'topology_description.subtopologies[].nodes[].source_topics[]=' 'topology_description.subtopologies[].nodes[].sink_topic=' 'topology_description.subtopologies[].nodes[].stores[]=' 'topology_description.subtopologies[].nodes[].successors[]=' 'topology_description.global_stores[].source.name=' 'topology_description.global_stores[].source.node_type=' 'topology_description.global_stores[].source.source_topics[]=' 'topology_description.global_stores[].source.sink_topic=' 'topology_description.global_stores[].source.stores[]=' 'topology_description.global_stores[].source.successors[]=' 'topology_description.global_stores[].processor.name=' 'topology_description.global_stores[].processor.node_type=' 'topology_description.global_stores[].processor.source_topics[]=' 'topology_description.global_stores[].processor.sink_topic=' 'topology_description.global_stores[].processor.stores[]=' 'topology_description.global_stores[].processor.successors[]='
        case '94' 'unregistercontroller'
            printf '%s\n' 'controller_id='
    end
end
function __kw_values
    switch "$argv[1]"
        case '0 acks' 'produce acks'
            printf '%s\t%s\n' -1 'all' 0 'none' 1 'leader'
        case '1 replica_id' 'fetch replica_id'
            printf '%s\t%s\n' -1 'consumer' -2 'debugging_consumer' -3 'future_local_replica'
        case '1 replica_state.replica_id' 'fetch replica_state.replica_id'
            printf '%s\t%s\n' -1 'consumer' -2 'debugging_consumer' -3 'future_local_replica'
        case '1 replica_state.replica_epoch' 'fetch replica_state.replica_epoch'
            printf '%s\t%s\n' -1 'none'
        case '1 isolation_level' 'fetch isolation_level'
            printf '%s\t%s\n' 0 'read_uncommitted' 1 'read_committed'
        case '1 session_id' 'fetch session_id'
            printf '%s\t%s\n' 0 'none'
        case '1 session_epoch' 'fetch session_epoch'
            printf '%s\t%s\n' 0 'initial' -1 'final'
        case '1 topics[].partitions[].current_leader_epoch' 'fetch topics[].partitions[].current_leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '1 topics[].partitions[].last_fetched_epoch' 'fetch topics[].partitions[].last_fetched_epoch'
            printf '%s\t%s\n' -1 'none'
        case '1 topics[].partitions[].log_start_offset' 'fetch topics[].partitions[].log_start_offset'
            printf '%s\t%s\n' -1 'unknown'
        case '1 topics[].partitions[].high_watermark' 'fetch topics[].partitions[].high_watermark'
            printf '%s\t%s\n' -1 'unknown' 9223372036854775807 'unsupported'
        case '2 replica_id' 'listoffsets replica_id' 'listoffset replica_id'
            printf '%s\t%s\n' -1 'consumer' -2 'debugging_consumer' -3 'future_local_replica'
        case '2 isolation_level' 'listoffsets isolation_level' 'listoffset isolation_level'
            printf '%s\t%s\n' 0 'read_uncommitted' 1 'read_committed'
        case '2 topics[].partitions[].current_leader_epoch' 'listoffsets topics[].partitions[].current_leader_epoch' 'listoffset topics[].partitions[].current_leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '2 topics[].partitions[].timestamp' 'listoffsets topics[].partitions[].timestamp' 'listoffset topics[].partitions[].timestamp'
            printf '%s\t%s\n' -1 'latest' -2 'earliest' -3 'max_timestamp' -4 'earliest_local' -5 'latest_tiered' -6 'earliest_pending_upload'
        case '3 allow_auto_topic_creation' 'metadata allow_auto_topic_creation'
            printf '%s\t%s\n' true '' false ''
        case '3 include_cluster_authorized_operations' 'metadata include_cluster_authorized_operations'
            printf '%s\t%s\n' true '' false ''
        case '3 include_topic_authorized_operations' 'metadata include_topic_authorized_operations'
            printf '%s\t%s\n' true '' false ''
        case '4 is_kraft_controller' 'leaderandisr is_kraft_controller'
            printf '%s\t%s\n' true '' false ''
        case '4 broker_epoch' 'leaderandisr broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '4 type' 'leaderandisr type'
            printf '%s\t%s\n' 0 'unknown' 1 'incremental' 2 'full'
        case '4 ungrouped_partition_states[].leader' 'leaderandisr ungrouped_partition_states[].leader'
            printf '%s\t%s\n' -1 'none' -2 'during_delete'
        case '4 ungrouped_partition_states[].leader_epoch' 'leaderandisr ungrouped_partition_states[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '4 ungrouped_partition_states[].is_new' 'leaderandisr ungrouped_partition_states[].is_new'
            printf '%s\t%s\n' true '' false ''
        case '4 topic_states[].partition_states[].leader' 'leaderandisr topic_states[].partition_states[].leader'
            printf '%s\t%s\n' -1 'none' -2 'during_delete'
        case '4 topic_states[].partition_states[].leader_epoch' 'leaderandisr topic_states[].partition_states[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '4 topic_states[].partition_states[].is_new' 'leaderandisr topic_states[].partition_states[].is_new'
            printf '%s\t%s\n' true '' false ''
        case '4 topic_states[].partition_states[].leader_recovery_state' 'leaderandisr topic_states[].partition_states[].leader_recovery_state'
            printf '%s\t%s\n' 0 'recovered' 1 'recovering'
        case '5 is_kraft_controller' 'stopreplica is_kraft_controller'
            printf '%s\t%s\n' true '' false ''
        case '5 broker_epoch' 'stopreplica broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '5 delete_partitions' 'stopreplica delete_partitions'
            printf '%s\t%s\n' true '' false ''
        case '5 topic_states[].partition_states[].leader_epoch' 'stopreplica topic_states[].partition_states[].leader_epoch'
            printf '%s\t%s\n' -1 'none' -2 'during_delete'
        case '5 topic_states[].partition_states[].delete_partition' 'stopreplica topic_states[].partition_states[].delete_partition'
            printf '%s\t%s\n' true '' false ''
        case '6 is_kraft_controller' 'updatemetadata is_kraft_controller'
            printf '%s\t%s\n' true '' false ''
        case '6 type' 'updatemetadata type'
            printf '%s\t%s\n' 0 'unknown' 1 'incremental' 2 'full'
        case '6 broker_epoch' 'updatemetadata broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '6 ungrouped_partition_states[].leader' 'updatemetadata ungrouped_partition_states[].leader'
            printf '%s\t%s\n' -1 'none' -2 'during_delete'
        case '6 ungrouped_partition_states[].leader_epoch' 'updatemetadata ungrouped_partition_states[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '6 topic_states[].partition_states[].leader' 'updatemetadata topic_states[].partition_states[].leader'
            printf '%s\t%s\n' -1 'none' -2 'during_delete'
        case '6 topic_states[].partition_states[].leader_epoch' 'updatemetadata topic_states[].partition_states[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '6 live_brokers[].endpoints[].security_protocol' 'updatemetadata live_brokers[].endpoints[].security_protocol'
            printf '%s\t%s\n' 0 'plaintext' 1 'ssl' 2 'sasl_plaintext' 3 'sasl_ssl'
        case '7 broker_epoch' 'controlledshutdown broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '8 generation_id_or_member_epoch' 'offsetcommit generation_id_or_member_epoch'
            printf '%s\t%s\n' -1 'no_group'
        case '8 retention_time_ms' 'offsetcommit retention_time_ms'
            printf '%s\t%s\n' -1 'broker_default'
        case '8 topics[].partitions[].committed_offset' 'offsetcommit topics[].partitions[].committed_offset'
            printf '%s\t%s\n' -1 'none'
        case '8 topics[].partitions[].commit_timestamp' 'offsetcommit topics[].partitions[].commit_timestamp'
            printf '%s\t%s\n' -1 'broker_default'
        case '8 topics[].partitions[].committed_leader_epoch' 'offsetcommit topics[].partitions[].committed_leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '9 groups[].member_epoch' 'offsetfetch groups[].member_epoch'
            printf '%s\t%s\n' -1 'no_group'
        case '9 require_stable' 'offsetfetch require_stable'
            printf '%s\t%s\n' true '' false ''
        case '10 key_type' 'findcoordinator key_type'
            printf '%s\t%s\n' 0 'group' 1 'transaction' 2 'share'
        case '12 generation_id' 'heartbeat generation_id'
            printf '%s\t%s\n' -1 'no_group'
        case '14 generation_id' 'syncgroup generation_id'
            printf '%s\t%s\n' -1 'no_group'
        case '15 include_authorized_operations' 'describegroups include_authorized_operations'
            printf '%s\t%s\n' true '' false ''
        case '18 node_id' 'apiversions node_id'
            printf '%s\t%s\n' -1 'none'
        case '19 topics[].num_partitions' 'createtopics topics[].num_partitions'
            printf '%s\t%s\n' -1 'broker_default'
        case '19 topics[].replication_factor' 'createtopics topics[].replication_factor'
            printf '%s\t%s\n' -1 'broker_default'
        case '19 validate_only' 'createtopics validate_only'
            printf '%s\t%s\n' true '' false ''
        case '21 topics[].partitions[].offset' 'deleterecords topics[].partitions[].offset'
            printf '%s\t%s\n' -1 'high_watermark'
        case '22 producer_id' 'initproducerid producer_id'
            printf '%s\t%s\n' -1 'none'
        case '22 producer_epoch' 'initproducerid producer_epoch'
            printf '%s\t%s\n' -1 'none'
        case '22 enable2_pc' 'initproducerid enable2_pc'
            printf '%s\t%s\n' true '' false ''
        case '22 keep_prepared_txn' 'initproducerid keep_prepared_txn'
            printf '%s\t%s\n' true '' false ''
        case '23 replica_id' 'offsetforleaderepoch replica_id'
            printf '%s\t%s\n' -1 'consumer' -2 'debugging_consumer' -3 'future_local_replica'
        case '23 topics[].partitions[].current_leader_epoch' 'offsetforleaderepoch topics[].partitions[].current_leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '23 topics[].partitions[].leader_epoch' 'offsetforleaderepoch topics[].partitions[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '24 transactions[].producer_id' 'addpartitionstotxn transactions[].producer_id'
            printf '%s\t%s\n' -1 'none'
        case '24 transactions[].producer_epoch' 'addpartitionstotxn transactions[].producer_epoch'
            printf '%s\t%s\n' -1 'none'
        case '24 transactions[].verify_only' 'addpartitionstotxn transactions[].verify_only'
            printf '%s\t%s\n' true '' false ''
        case '24 v3_and_below_producer_id' 'addpartitionstotxn v3_and_below_producer_id'
            printf '%s\t%s\n' -1 'none'
        case '24 v3_and_below_producer_epoch' 'addpartitionstotxn v3_and_below_producer_epoch'
            printf '%s\t%s\n' -1 'none'
        case '25 producer_id' 'addoffsetstotxn producer_id'
            printf '%s\t%s\n' -1 'none'
        case '25 producer_epoch' 'addoffsetstotxn producer_epoch'
            printf '%s\t%s\n' -1 'none'
        case '26 producer_id' 'endtxn producer_id'
            printf '%s\t%s\n' -1 'none'
        case '26 producer_epoch' 'endtxn producer_epoch'
            printf '%s\t%s\n' -1 'none'
        case '26 committed' 'endtxn committed'
            printf '%s\t%s\n' true '' false ''
        case '27 markers[].producer_id' 'writetxnmarkers markers[].producer_id'
            printf '%s\t%s\n' -1 'none'
        case '27 markers[].producer_epoch' 'writetxnmarkers markers[].producer_epoch'
            printf '%s\t%s\n' -1 'none'
        case '27 markers[].transaction_result' 'writetxnmarkers markers[].transaction_result'
            printf '%s\t%s\n' true '' false ''
        case '28 producer_id' 'txnoffsetcommit producer_id'
            printf '%s\t%s\n' -1 'none'
        case '28 producer_epoch' 'txnoffsetcommit producer_epoch'
            printf '%s\t%s\n' -1 'none'
        case '28 generation_id_or_member_epoch' 'txnoffsetcommit generation_id_or_member_epoch'
            printf '%s\t%s\n' -1 'no_group'
        case '28 topics[].partitions[].committed_offset' 'txnoffsetcommit topics[].partitions[].committed_offset'
            printf '%s\t%s\n' -1 'none'
        case '28 topics[].partitions[].committed_leader_epoch' 'txnoffsetcommit topics[].partitions[].committed_leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '29 resource_type_filter' 'describeacls resource_type_filter'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'topic' 3 'group' 4 'cluster' 5 'transactional_id' 6 'delegation_token' 7 'user'
        case '29 pattern_type_filter' 'describeacls pattern_type_filter'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'match' 3 'literal' 4 'prefixed'
        case '29 operation' 'describeacls operation'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'all' 3 'read' 4 'write' 5 'create' 6 'delete' 7 'alter' 8 'describe' 9 'cluster_action' 10 'describe_configs' 11 'alter_configs' 12 'idempotent_write' 13 'create_tokens' 14 'describe_tokens' 15 'two_phase_commit'
        case '29 permission_type' 'describeacls permission_type'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'deny' 3 'allow'
        case '30 creations[].resource_type' 'createacls creations[].resource_type'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'topic' 3 'group' 4 'cluster' 5 'transactional_id' 6 'delegation_token' 7 'user'
        case '30 creations[].resource_pattern_type' 'createacls creations[].resource_pattern_type'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'match' 3 'literal' 4 'prefixed'
        case '30 creations[].operation' 'createacls creations[].operation'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'all' 3 'read' 4 'write' 5 'create' 6 'delete' 7 'alter' 8 'describe' 9 'cluster_action' 10 'describe_configs' 11 'alter_configs' 12 'idempotent_write' 13 'create_tokens' 14 'describe_tokens' 15 'two_phase_commit'
        case '30 creations[].permission_type' 'createacls creations[].permission_type'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'deny' 3 'allow'
        case '31 filters[].resource_type_filter' 'deleteacls filters[].resource_type_filter'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'topic' 3 'group' 4 'cluster' 5 'transactional_id' 6 'delegation_token' 7 'user'
        case '31 filters[].pattern_type_filter' 'deleteacls filters[].pattern_type_filter'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'match' 3 'literal' 4 'prefixed'
        case '31 filters[].operation' 'deleteacls filters[].operation'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'all' 3 'read' 4 'write' 5 'create' 6 'delete' 7 'alter' 8 'describe' 9 'cluster_action' 10 'describe_configs' 11 'alter_configs' 12 'idempotent_write' 13 'create_tokens' 14 'describe_tokens' 15 'two_phase_commit'
        case '31 filters[].permission_type' 'deleteacls filters[].permission_type'
            printf '%s\t%s\n' 0 'unknown' 1 'any' 2 'deny' 3 'allow'
        case '32 resources[].resource_type' 'describeconfigs resources[].resource_type'
            printf '%s\t%s\n' 0 'unknown' 2 'topic' 4 'broker' 8 'broker_logger' 16 'client_metrics' 32 'group'
        case '32 include_synonyms' 'describeconfigs include_synonyms'
            printf '%s\t%s\n' true '' false ''
        case '32 include_documentation' 'describeconfigs include_documentation'
            printf '%s\t%s\n' true '' false ''
        case '33 resources[].resource_type' 'alterconfigs resources[].resource_type'
            printf '%s\t%s\n' 0 'unknown' 2 'topic' 4 'broker' 8 'broker_logger' 16 'client_metrics' 32 'group'
        case '33 validate_only' 'alterconfigs validate_only'
            printf '%s\t%s\n' true '' false ''
        case '37 validate_only' 'createpartitions validate_only'
            printf '%s\t%s\n' true '' false ''
        case '38 max_lifetime_ms' 'createdelegationtoken max_lifetime_ms'
            printf '%s\t%s\n' -1 'broker_default'
        case '39 renew_period_ms' 'renewdelegationtoken renew_period_ms'
            printf '%s\t%s\n' -1 'broker_default'
        case '40 expiry_time_period_ms' 'expiredelegationtoken expiry_time_period_ms'
            printf '%s\t%s\n' -1 'now'
        case '43 election_type' 'electleaders election_type' 'electpreferredleaders election_type'
            printf '%s\t%s\n' 0 'preferred' 1 'unclean'
        case '44 resources[].resource_type' 'incrementalalterconfigs resources[].resource_type'
            printf '%s\t%s\n' 0 'unknown' 2 'topic' 4 'broker' 8 'broker_logger' 16 'client_metrics' 32 'group'
        case '44 resources[].configs[].config_operation' 'incrementalalterconfigs resources[].configs[].config_operation'
            printf '%s\t%s\n' 0 'set' 1 'delete' 2 'append' 3 'subtract'
        case '44 validate_only' 'incrementalalterconfigs validate_only'
            printf '%s\t%s\n' true '' false ''
        case '45 allow_replication_factor_change' 'alterpartitionreassignments allow_replication_factor_change'
            printf '%s\t%s\n' true '' false ''
        case '48 components[].match_type' 'describeclientquotas components[].match_type'
            printf '%s\t%s\n' 0 'exact' 1 'default' 2 'any'
        case '48 strict' 'describeclientquotas strict'
            printf '%s\t%s\n' true '' false ''
        case '49 entries[].ops[].remove' 'alterclientquotas entries[].ops[].remove'
            printf '%s\t%s\n' true '' false ''
        case '49 validate_only' 'alterclientquotas validate_only'
            printf '%s\t%s\n' true '' false ''
        case '51 deletions[].mechanism' 'alteruserscramcredentials deletions[].mechanism'
            printf '%s\t%s\n' 0 'unknown' 1 'scram_sha_256' 2 'scram_sha_512'
        case '51 upsertions[].mechanism' 'alteruserscramcredentials upsertions[].mechanism'
            printf '%s\t%s\n' 0 'unknown' 1 'scram_sha_256' 2 'scram_sha_512'
        case '52 voter_id' 'vote voter_id'
            printf '%s\t%s\n' -1 'none'
        case '52 topics[].partitions[].replica_epoch' 'vote topics[].partitions[].replica_epoch'
            printf '%s\t%s\n' -1 'none'
        case '52 topics[].partitions[].replica_id' 'vote topics[].partitions[].replica_id'
            printf '%s\t%s\n' -1 'consumer' -2 'debugging_consumer' -3 'future_local_replica'
        case '52 topics[].partitions[].last_offset_epoch' 'vote topics[].partitions[].last_offset_epoch'
            printf '%s\t%s\n' -1 'none'
        case '52 topics[].partitions[].pre_vote' 'vote topics[].partitions[].pre_vote'
            printf '%s\t%s\n' true '' false ''
        case '53 voter_id' 'beginquorumepoch voter_id'
            printf '%s\t%s\n' -1 'none'
        case '53 topics[].partitions[].leader_id' 'beginquorumepoch topics[].partitions[].leader_id'
            printf '%s\t%s\n' -1 'none'
        case '53 topics[].partitions[].leader_epoch' 'beginquorumepoch topics[].partitions[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '54 topics[].partitions[].leader_id' 'endquorumepoch topics[].partitions[].leader_id'
            printf '%s\t%s\n' -1 'none'
        case '54 topics[].partitions[].leader_epoch' 'endquorumepoch topics[].partitions[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '56 broker_epoch' 'alterpartition broker_epoch' 'alterisr broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '56 topics[].partitions[].leader_epoch' 'alterpartition topics[].partitions[].leader_epoch' 'alterisr topics[].partitions[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '56 topics[].partitions[].new_isr_with_epochs[].broker_epoch' 'alterpartition topics[].partitions[].new_isr_with_epochs[].broker_epoch' 'alterisr topics[].partitions[].new_isr_with_epochs[].broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '56 topics[].partitions[].leader_recovery_state' 'alterpartition topics[].partitions[].leader_recovery_state' 'alterisr topics[].partitions[].leader_recovery_state'
            printf '%s\t%s\n' 0 'recovered' 1 'recovering'
        case '57 feature_updates[].max_version_level' 'updatefeatures feature_updates[].max_version_level'
            printf '%s\t%s\n' 0 'delete'
        case '57 feature_updates[].allow_downgrade' 'updatefeatures feature_updates[].allow_downgrade'
            printf '%s\t%s\n' true '' false ''
        case '57 feature_updates[].upgrade_type' 'updatefeatures feature_updates[].upgrade_type'
            printf '%s\t%s\n' 0 'unknown' 1 'upgrade' 2 'safe_downgrade' 3 'unsafe_downgrade'
        case '57 validate_only' 'updatefeatures validate_only'
            printf '%s\t%s\n' true '' false ''
        case '59 replica_id' 'fetchsnapshot replica_id'
            printf '%s\t%s\n' -1 'consumer' -2 'debugging_consumer' -3 'future_local_replica'
        case '59 topics[].partitions[].current_leader_epoch' 'fetchsnapshot topics[].partitions[].current_leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '59 topics[].partitions[].snapshot_id.end_offset' 'fetchsnapshot topics[].partitions[].snapshot_id.end_offset'
            printf '%s\t%s\n' -1 'unknown'
        case '60 include_cluster_authorized_operations' 'describecluster include_cluster_authorized_operations'
            printf '%s\t%s\n' true '' false ''
        case '60 endpoint_type' 'describecluster endpoint_type'
            printf '%s\t%s\n' 1 'broker' 2 'controller'
        case '60 include_fenced_brokers' 'describecluster include_fenced_brokers'
            printf '%s\t%s\n' true '' false ''
        case '62 listeners[].security_protocol' 'brokerregistration listeners[].security_protocol'
            printf '%s\t%s\n' 0 'plaintext' 1 'ssl' 2 'sasl_plaintext' 3 'sasl_ssl'
        case '62 is_migrating_zk_broker' 'brokerregistration is_migrating_zk_broker'
            printf '%s\t%s\n' true '' false ''
        case '62 previous_broker_epoch' 'brokerregistration previous_broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '63 broker_epoch' 'brokerheartbeat broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '63 want_fence' 'brokerheartbeat want_fence'
            printf '%s\t%s\n' true '' false ''
        case '63 want_shut_down' 'brokerheartbeat want_shut_down'
            printf '%s\t%s\n' true '' false ''
        case '66 duration_filter' 'listtransactions duration_filter'
            printf '%s\t%s\n' -1 'any'
        case '67 broker_epoch' 'allocateproducerids broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '68 member_epoch' 'consumergroupheartbeat member_epoch'
            printf '%s\t%s\n' 0 'join' -1 'leave' -2 'leave_static'
        case '68 rebalance_timeout_ms' 'consumergroupheartbeat rebalance_timeout_ms'
            printf '%s\t%s\n' -1 'unchanged'
        case '69 include_authorized_operations' 'consumergroupdescribe include_authorized_operations'
            printf '%s\t%s\n' true '' false ''
        case '70 zk_migration_ready' 'controllerregistration zk_migration_ready'
            printf '%s\t%s\n' true '' false ''
        case '70 listeners[].security_protocol' 'controllerregistration listeners[].security_protocol'
            printf '%s\t%s\n' 0 'plaintext' 1 'ssl' 2 'sasl_plaintext' 3 'sasl_ssl'
        case '72 terminating' 'pushtelemetry terminating'
            printf '%s\t%s\n' true '' false ''
        case '72 compression_type' 'pushtelemetry compression_type'
            printf '%s\t%s\n' 0 'none' 1 'gzip' 2 'snappy' 3 'lz4' 4 'zstd'
        case '73 broker_epoch' 'assignreplicastodirs broker_epoch'
            printf '%s\t%s\n' -1 'none'
        case '74 resource_types[]' 'listconfigresources resource_types[]' 'listclientmetricsresources resource_types[]'
            printf '%s\t%s\n' 0 'unknown' 2 'topic' 4 'broker' 8 'broker_logger' 16 'client_metrics' 32 'group'
        case '76 member_epoch' 'sharegroupheartbeat member_epoch'
            printf '%s\t%s\n' 0 'join' -1 'leave' -2 'leave_static'
        case '77 include_authorized_operations' 'sharegroupdescribe include_authorized_operations'
            printf '%s\t%s\n' true '' false ''
        case '78 share_session_epoch' 'sharefetch share_session_epoch'
            printf '%s\t%s\n' 0 'initial' -1 'final'
        case '78 share_acquire_mode' 'sharefetch share_acquire_mode'
            printf '%s\t%s\n' 0 'batch_optimized' 1 'record_limit'
        case '78 is_renew_ack' 'sharefetch is_renew_ack'
            printf '%s\t%s\n' true '' false ''
        case '78 topics[].partitions[].acknowledgement_batches[].acknowledge_types[]' 'sharefetch topics[].partitions[].acknowledgement_batches[].acknowledge_types[]'
            printf '%s\t%s\n' 0 'gap' 1 'accept' 2 'release' 3 'reject' 4 'renew'
        case '79 share_session_epoch' 'shareacknowledge share_session_epoch'
            printf '%s\t%s\n' 0 'initial' -1 'final'
        case '79 is_renew_ack' 'shareacknowledge is_renew_ack'
            printf '%s\t%s\n' true '' false ''
        case '79 topics[].partitions[].acknowledgement_batches[].acknowledge_types[]' 'shareacknowledge topics[].partitions[].acknowledgement_batches[].acknowledge_types[]'
            printf '%s\t%s\n' 0 'gap' 1 'accept' 2 'release' 3 'reject' 4 'renew'
        case '80 ack_when_committed' 'addraftvoter ack_when_committed'
            printf '%s\t%s\n' true '' false ''
        case '82 current_leader_epoch' 'updateraftvoter current_leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '83 topics[].partitions[].start_offset' 'initializesharegroupstate topics[].partitions[].start_offset'
            printf '%s\t%s\n' -1 'none'
        case '84 topics[].partitions[].leader_epoch' 'readsharegroupstate topics[].partitions[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '85 topics[].partitions[].leader_epoch' 'writesharegroupstate topics[].partitions[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '85 topics[].partitions[].start_offset' 'writesharegroupstate topics[].partitions[].start_offset'
            printf '%s\t%s\n' -1 'unchanged'
        case '85 topics[].partitions[].delivery_complete_count' 'writesharegroupstate topics[].partitions[].delivery_complete_count'
            printf '%s\t%s\n' -1 'unknown'
        case '85 topics[].partitions[].state_batches[].delivery_state' 'writesharegroupstate topics[].partitions[].state_batches[].delivery_state'
            printf '%s\t%s\n' 0 'available' 1 'acquired' 2 'acknowledged' 3 'archiving' 4 'archived'
        case '87 topics[].partitions[].leader_epoch' 'readsharegroupstatesummary topics[].partitions[].leader_epoch'
            printf '%s\t%s\n' -1 'none'
        case '88 member_epoch' 'streamsgroupheartbeat member_epoch'
            printf '%s\t%s\n' 0 'join' -1 'leave' -2 'leave_static'
        case '88 rebalance_timeout_ms' 'streamsgroupheartbeat rebalance_timeout_ms'
            printf '%s\t%s\n' -1 'unchanged'
        case '88 topology.subtopologies[].state_changelog_topics[].partitions' 'streamsgroupheartbeat topology.subtopologies[].state_changelog_topics[].partitions'
            printf '%s\t%s\n' 0 'broker_default'
        case '88 topology.subtopologies[].state_changelog_topics[].replication_factor' 'streamsgroupheartbeat topology.subtopologies[].state_changelog_topics[].replication_factor'
            printf '%s\t%s\n' 0 'broker_default'
        case '88 topology.subtopologies[].repartition_source_topics[].partitions' 'streamsgroupheartbeat topology.subtopologies[].repartition_source_topics[].partitions'
            printf '%s\t%s\n' 0 'broker_default'
        case '88 topology.subtopologies[].repartition_source_topics[].replication_factor' 'streamsgroupheartbeat topology.subtopologies[].repartition_source_topics[].replication_factor'
            printf '%s\t%s\n' 0 'broker_default'
        case '88 shutdown_application' 'streamsgroupheartbeat shutdown_application'
            printf '%s\t%s\n' true '' false ''
        case '89 include_authorized_operations' 'streamsgroupdescribe include_authorized_operations'
            printf '%s\t%s\n' true '' false ''
        case '89 include_topology_description' 'streamsgroupdescribe include_topology_description'
            printf '%s\t%s\n' true '' false ''
        case '93 topology_description.subtopologies[].nodes[].node_type' 'streamsgrouptopologydescriptionupdate topology_description.subtopologies[].nodes[].node_type'
            printf '%s\t%s\n' 1 'source' 2 'processor' 3 'sink'
        case '93 topology_description.global_stores[].source.node_type' 'streamsgrouptopologydescriptionupdate topology_description.global_stores[].source.node_type'
            printf '%s\t%s\n' 1 'source' 2 'processor' 3 'sink'
        case '93 topology_description.global_stores[].processor.node_type' 'streamsgrouptopologydescriptionupdate topology_description.global_stores[].processor.node_type'
            printf '%s\t%s\n' 1 'source' 2 'processor' 3 'sink'
    end
end
function __kw_errors
    printf '%s\t%s\n' \
        UNKNOWN_SERVER_ERROR '-1: the broker failed in a way it has no code for; its log says more' \
        NONE '0: no error' \
        OFFSET_OUT_OF_RANGE '1: the offset asked for lies before the start or after the end of the partition\'s log' \
        CORRUPT_MESSAGE '2: a record batch does not match its checksum, has a bad size or lacks a key that a compacted topic needs' \
        UNKNOWN_TOPIC_OR_PARTITION '3: this broker does not know the topic or partition, or the client may not see it' \
        INVALID_FETCH_SIZE '4: the size asked for in the fetch is not valid' \
        LEADER_NOT_AVAILABLE '5: the partition has no leader right now, an election is under way' \
        NOT_LEADER_OR_FOLLOWER '6: this broker is not the leader, or not a replica, of the partition; refresh the metadata' \
        REQUEST_TIMED_OUT '7: the request was not finished within its own time limit' \
        BROKER_NOT_AVAILABLE '8: the broker needed for the request is not available' \
        REPLICA_NOT_AVAILABLE '9: the replica needed for the request is not available; refresh the metadata' \
        MESSAGE_TOO_LARGE '10: a record batch is larger than the topic\'s max.message.bytes' \
        STALE_CONTROLLER_EPOCH '11: the controller that sent this has been replaced by a newer one' \
        OFFSET_METADATA_TOO_LARGE '12: the metadata string of a committed offset is longer than allowed' \
        NETWORK_EXCEPTION '13: the connection was lost before the answer came' \
        COORDINATOR_LOAD_IN_PROGRESS '14: the coordinator is still reading its state from the log' \
        COORDINATOR_NOT_AVAILABLE '15: there is no coordinator yet, or its topic is being created' \
        NOT_COORDINATOR '16: another broker coordinates this group or transaction; look the coordinator up again' \
        INVALID_TOPIC_EXCEPTION '17: the topic\'s name is not legal, or the topic may not be used this way' \
        RECORD_LIST_TOO_LARGE '18: the batch is larger than a segment of the log can hold' \
        NOT_ENOUGH_REPLICAS '19: fewer replicas are in sync than min.insync.replicas demands; nothing was written' \
        NOT_ENOUGH_REPLICAS_AFTER_APPEND '20: the records were written, but then fewer replicas were in sync than min.insync.replicas demands' \
        INVALID_REQUIRED_ACKS '21: acks was neither 0, 1 nor -1' \
        ILLEGAL_GENERATION '22: the group has moved on to another generation than the one given' \
        INCONSISTENT_GROUP_PROTOCOL '23: the member\'s protocol type or protocols do not fit those of the group' \
        INVALID_GROUP_ID '24: the group id is empty or not legal' \
        UNKNOWN_MEMBER_ID '25: the coordinator does not know this member (any more); join again' \
        INVALID_SESSION_TIMEOUT '26: the session timeout lies outside what the broker allows' \
        REBALANCE_IN_PROGRESS '27: the group is rebalancing; join again' \
        INVALID_COMMIT_OFFSET_SIZE '28: the offset commit was too large to be written' \
        TOPIC_AUTHORIZATION_FAILED '29: the principal may not do this with the topic' \
        GROUP_AUTHORIZATION_FAILED '30: the principal may not do this with the group' \
        CLUSTER_AUTHORIZATION_FAILED '31: the principal may not do this with the cluster' \
        INVALID_TIMESTAMP '32: the timestamp of a record lies outside what the topic accepts' \
        UNSUPPORTED_SASL_MECHANISM '33: the broker does not offer this SASL mechanism' \
        ILLEGAL_SASL_STATE '34: the request does not belong at this point of the SASL exchange' \
        UNSUPPORTED_VERSION '35: the broker does not speak this version of the API' \
        TOPIC_ALREADY_EXISTS '36: there is a topic of this name already' \
        INVALID_PARTITIONS '37: the number of partitions is not valid' \
        INVALID_REPLICATION_FACTOR '38: the replication factor is below 1 or above the number of brokers' \
        INVALID_REPLICA_ASSIGNMENT '39: the replica assignment given by hand is not legal' \
        INVALID_CONFIG '40: a setting has an illegal name or value' \
        NOT_CONTROLLER '41: this node is not the active controller; look it up again' \
        INVALID_REQUEST '42: the request contradicts itself or does not make sense here; see the message and the broker\'s log' \
        UNSUPPORTED_FOR_MESSAGE_FORMAT '43: the log\'s old message format cannot do this' \
        POLICY_VIOLATION '44: a policy plugged into the broker forbids it' \
        OUT_OF_ORDER_SEQUENCE_NUMBER '45: a sequence number is missing between this batch and the last one of the producer' \
        DUPLICATE_SEQUENCE_NUMBER '46: the batch has been written before; a retry that was not needed' \
        INVALID_PRODUCER_EPOCH '47: the producer\'s epoch is older than the one the broker knows' \
        INVALID_TXN_STATE '48: the transaction is in a state in which this cannot be done' \
        INVALID_PRODUCER_ID_MAPPING '49: the producer id is not the one that belongs to the transactional id' \
        INVALID_TRANSACTION_TIMEOUT '50: the transaction timeout is longer than the broker allows' \
        CONCURRENT_TRANSACTIONS '51: the last transaction of this transactional id is still being completed, or another change is under way' \
        TRANSACTION_COORDINATOR_FENCED '52: a newer coordinator has taken the transaction over' \
        TRANSACTIONAL_ID_AUTHORIZATION_FAILED '53: the principal may not use the transactional id' \
        SECURITY_DISABLED '54: the broker has no authorizer, so there are no access rules' \
        OPERATION_NOT_ATTEMPTED '55: not tried, because something else in the same request failed before' \
        KAFKA_STORAGE_ERROR '56: the disk below the log failed on the broker' \
        LOG_DIR_NOT_FOUND '57: the broker has no such log directory' \
        SASL_AUTHENTICATION_FAILED '58: the credentials were refused' \
        UNKNOWN_PRODUCER_ID '59: the broker has forgotten the producer because all of its records are deleted' \
        REASSIGNMENT_IN_PROGRESS '60: a move of this partition is under way already' \
        DELEGATION_TOKEN_AUTH_DISABLED '61: the broker has delegation tokens switched off' \
        DELEGATION_TOKEN_NOT_FOUND '62: the broker knows no such delegation token' \
        DELEGATION_TOKEN_OWNER_MISMATCH '63: the token belongs to somebody else' \
        DELEGATION_TOKEN_REQUEST_NOT_ALLOWED '64: a token cannot be asked for over a connection like this one (plain, one-way TLS or token-authenticated)' \
        DELEGATION_TOKEN_AUTHORIZATION_FAILED '65: the principal may not do this with the delegation token' \
        DELEGATION_TOKEN_EXPIRED '66: the delegation token has expired' \
        INVALID_PRINCIPAL_TYPE '67: the principal type is not supported here' \
        NON_EMPTY_GROUP '68: the group still has members' \
        GROUP_ID_NOT_FOUND '69: there is no such group' \
        FETCH_SESSION_ID_NOT_FOUND '70: the broker has dropped this fetch session; start a full one' \
        INVALID_FETCH_SESSION_EPOCH '71: the fetch session\'s epoch is not the expected next one' \
        LISTENER_NOT_FOUND '72: the leader has no listener with the name of the one that the client uses' \
        TOPIC_DELETION_DISABLED '73: the broker has deletion of topics switched off' \
        FENCED_LEADER_EPOCH '74: the leader epoch given is older than the broker\'s; refresh the metadata' \
        UNKNOWN_LEADER_EPOCH '75: the leader epoch given is newer than any the broker has heard of' \
        UNSUPPORTED_COMPRESSION_TYPE '76: the client\'s version cannot read the compression of these records' \
        STALE_BROKER_EPOCH '77: the broker has registered again since it sent this' \
        OFFSET_NOT_AVAILABLE '78: the leader is new and does not know its high watermark yet; ask again' \
        MEMBER_ID_REQUIRED '79: join again with the member id in this answer' \
        PREFERRED_LEADER_NOT_AVAILABLE '80: the preferred leader is not alive or not in sync' \
        GROUP_MAX_SIZE_REACHED '81: the group has as many members as it may have' \
        FENCED_INSTANCE_ID '82: another member has taken over this static instance id' \
        ELIGIBLE_LEADERS_NOT_AVAILABLE '83: no replica that could become leader is alive' \
        ELECTION_NOT_NEEDED '84: the partition has the wanted leader already' \
        NO_REASSIGNMENT_IN_PROGRESS '85: there is no move of this partition to cancel' \
        GROUP_SUBSCRIBED_TO_TOPIC '86: a member still subscribes to the topic whose offsets were to be deleted' \
        INVALID_RECORD '87: a record was refused by the broker; the batch\'s record errors say which and why' \
        UNSTABLE_OFFSET_COMMIT '88: an open transaction has offsets pending for the partition; ask again' \
        THROTTLING_QUOTA_EXCEEDED '89: the quota for changes of topics is used up; wait for the throttle time' \
        PRODUCER_FENCED '90: a newer producer with the same transactional id has shut this one out' \
        RESOURCE_NOT_FOUND '91: no such user, group or resource' \
        DUPLICATE_RESOURCE '92: the same thing is named twice' \
        UNACCEPTABLE_CREDENTIAL '93: the credential breaks a rule (too few iterations, no such mechanism …)' \
        INCONSISTENT_VOTER_SET '94: the voters given are not those of the receiver' \
        INVALID_UPDATE_VERSION '95: the new version is not one that could follow the current one' \
        FEATURE_UPDATE_FAILED '96: the controller could not change the feature level' \
        PRINCIPAL_DESERIALIZATION_FAILURE '97: the controller could not read the principal inside the Envelope' \
        SNAPSHOT_NOT_FOUND '98: the snapshot is not there (any more)' \
        POSITION_OUT_OF_RANGE '99: the position lies outside the snapshot' \
        UNKNOWN_TOPIC_ID '100: this broker knows no topic with this id' \
        DUPLICATE_BROKER_REGISTRATION '101: another running broker has registered the same id' \
        BROKER_ID_NOT_REGISTERED '102: the broker has not registered with the controller' \
        INCONSISTENT_TOPIC_ID '103: the topic\'s id in the log is not the one asked for; refresh the metadata' \
        INCONSISTENT_CLUSTER_ID '104: the node belongs to another cluster' \
        TRANSACTIONAL_ID_NOT_FOUND '105: the coordinator knows no such transactional id' \
        FETCH_SESSION_TOPIC_ID_ERROR '106: a fetch session cannot mix topic ids and names; start a new one' \
        INELIGIBLE_REPLICA '107: the new in-sync set names a replica that may not be in it (fenced or stopping)' \
        NEW_LEADER_ELECTED '108: the partition has been given another leader by this change' \
        OFFSET_MOVED_TO_TIERED_STORAGE '109: the records asked for are only in tiered storage' \
        FENCED_MEMBER_EPOCH '110: the member\'s epoch is not the coordinator\'s: it has been fenced and must join again' \
        UNRELEASED_INSTANCE_ID '111: another member still holds this static instance id' \
        UNSUPPORTED_ASSIGNOR '112: the group cannot use any assignor that the member offers' \
        STALE_MEMBER_EPOCH '113: the member\'s epoch is behind; heartbeat first, then repeat' \
        MISMATCHED_ENDPOINT_TYPE '114: the endpoint is of the other kind: broker instead of controller, or the reverse' \
        UNSUPPORTED_ENDPOINT_TYPE '115: the receiver does not know this kind of endpoint' \
        UNKNOWN_CONTROLLER_ID '116: no controller with this id is known' \
        UNKNOWN_SUBSCRIPTION_ID '117: the telemetry subscription has changed; fetch it again' \
        TELEMETRY_TOO_LARGE '118: the pushed metrics are larger than the broker takes' \
        INVALID_REGISTRATION '119: the controller refuses the registration, as it contradicts the cluster\'s state' \
        TRANSACTION_ABORTABLE '120: the transaction has to be aborted; after that the producer can go on' \
        INVALID_RECORD_STATE '121: the acknowledged record is not held by this share consumer (any more)' \
        SHARE_SESSION_NOT_FOUND '122: the broker has dropped this share session; start a new one' \
        INVALID_SHARE_SESSION_EPOCH '123: the share session\'s epoch is not the expected next one' \
        FENCED_STATE_EPOCH '124: a newer share coordinator or leader has written the state since' \
        INVALID_VOTER_KEY '125: the voter\'s id and directory do not fit the receiver\'s' \
        DUPLICATE_VOTER '126: the controller is a voter already' \
        VOTER_NOT_FOUND '127: no such voter' \
        INVALID_REGULAR_EXPRESSION '128: the broker cannot compile the regular expression' \
        REBOOTSTRAP_REQUIRED '129: forget all that is known of the cluster and start again from the bootstrap servers' \
        STREAMS_INVALID_TOPOLOGY '130: the topology is not legal' \
        STREAMS_INVALID_TOPOLOGY_EPOCH '131: the topology\'s epoch is not the one the group uses' \
        STREAMS_TOPOLOGY_FENCED '132: the topology is older than the one the group has moved on to' \
        SHARE_SESSION_LIMIT_REACHED '133: the broker holds as many share sessions as it may' \
        GROUP_DELETION_FAILED '134: the group could not be deleted; the message says why' \
        STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED '135: the description of the topology could not be stored' \
        CONTROLLER_ID_NOT_REGISTERED '136: the controller has not registered'
end
function __kw_takes
    switch "$argv"
        case ' -X' 'sniff -r' 'sniff --read' 'sniff -i' 'sniff --interface' 'sniff --bpf' 'sniff -w' 'sniff --write' 'sniff --port' 'sniff --keylog' 'sniff --since' 'sniff --until' 'sniff --metrics' 'sniff --otlp' 'sniff --jobs' 'sniff --rotate-size' 'sniff --rotate-interval' 'sniff --keep' 'sniff --api' 'sniff --client-id' 'sniff --client' 'sniff --topic' 'sniff --group' 'sniff -f' 'sniff -Y' 'sniff --filter' 'sniff --slower-than' 'sniff -n' 'sniff -c' 'sniff --limit' 'sniff --sort' 'sniff -o' 'sniff --output' 'sniff -e' 'sniff --field' 'sniff -E' 'sniff --field-option' 'sniff --columns' 'sniff --color' 'call --api-version' 'call --as-kafka' 'call --node' 'call --raw-body' 'call --only' 'call --select' 'call --compression' 'call --acks' 'call --magic' 'call -K' 'call --key-separator' 'call --repeat' 'call --interval' 'call --against' 'call -b' 'call --bootstrap-server' 'call --bootstrap-controller' 'call -X' 'call --property' 'call -F' 'call --command-config' 'call --profile' 'call --client-id' 'call --timeout' 'call --connect-timeout' 'call --dial-map' 'call -o' 'call --output' 'call -e' 'call --field' 'call -E' 'call --field-option' 'call --columns' 'call --color' 'proxy -b' 'proxy --bootstrap-server' 'proxy --bootstrap-controller' 'proxy -X' 'proxy --property' 'proxy -F' 'proxy --command-config' 'proxy --profile' 'proxy --timeout' 'proxy --connect-timeout' 'proxy --dial-map' 'proxy --port-base' 'proxy --bind' 'proxy --advertise' 'proxy --tls-cert' 'proxy --tls-key' 'proxy --tls-client-ca' 'proxy --metrics' 'proxy --as-kafka' 'proxy --max' 'proxy --hide' 'proxy --fault' 'proxy --faults' 'proxy --seed' 'proxy --script' 'proxy --script-timeout' 'proxy --control' 'proxy --hold-timeout' 'proxy --api' 'proxy --client-id' 'proxy --client' 'proxy --topic' 'proxy --group' 'proxy -f' 'proxy -Y' 'proxy --filter' 'proxy --slower-than' 'proxy -o' 'proxy --output' 'proxy -e' 'proxy --field' 'proxy -E' 'proxy --field-option' 'proxy --columns' 'proxy --color' 'proxy -w' 'proxy --write' 'proxy --record' 'proxy --rotate-size' 'proxy --rotate-interval' 'proxy --log-overflow' 'proxy ctl --port' 'proxy ctl connections -o' 'proxy ctl connections --output' 'proxy ctl connections --color' 'proxy ctl exchanges -n' 'proxy ctl exchanges --limit' 'proxy ctl exchanges -o' 'proxy ctl exchanges --output' 'proxy ctl exchanges --color' 'proxy ctl fault -o' 'proxy ctl fault --output' 'proxy ctl fault --color' 'proxy ctl faults -o' 'proxy ctl faults --output' 'proxy ctl faults --color' 'proxy ctl held -o' 'proxy ctl held --output' 'proxy ctl held --color' 'proxy ctl hold --side' 'proxy ctl hold --first' 'proxy ctl hold -o' 'proxy ctl hold --output' 'proxy ctl hold --color' 'proxy ctl holds -o' 'proxy ctl holds --output' 'proxy ctl holds --color' 'proxy ctl listeners -o' 'proxy ctl listeners --output' 'proxy ctl listeners --color' 'proxy ctl release --do' 'proxy ctl release -o' 'proxy ctl release --output' 'proxy ctl release --color' 'proxy ctl unfault -o' 'proxy ctl unfault --output' 'proxy ctl unfault --color' 'proxy ctl unhold -o' 'proxy ctl unhold --output' 'proxy ctl unhold --color' 'stats -r' 'stats --read' 'stats -i' 'stats --interface' 'stats --bpf' 'stats -w' 'stats --write' 'stats --port' 'stats --keylog' 'stats --since' 'stats --until' 'stats --metrics' 'stats --otlp' 'stats --jobs' 'stats --by' 'stats --metric' 'stats --bucket' 'stats --sort' 'stats --top' 'stats --slowest' 'stats --api' 'stats --client-id' 'stats --client' 'stats --topic' 'stats --group' 'stats -f' 'stats -Y' 'stats --filter' 'stats --slower-than' 'stats -n' 'stats -c' 'stats --limit' 'stats -o' 'stats --output' 'stats -e' 'stats --field' 'stats -E' 'stats --field-option' 'stats --color' 'clients -r' 'clients --read' 'clients -i' 'clients --interface' 'clients --bpf' 'clients -w' 'clients --write' 'clients --port' 'clients --keylog' 'clients --since' 'clients --until' 'clients --name' 'clients --jobs' 'clients --api' 'clients --client-id' 'clients --client' 'clients --topic' 'clients --group' 'clients -f' 'clients -Y' 'clients --filter' 'clients --slower-than' 'clients -n' 'clients -c' 'clients --limit' 'clients -o' 'clients --output' 'clients -e' 'clients --field' 'clients -E' 'clients --field-option' 'clients --color' 'groups -r' 'groups --read' 'groups -i' 'groups --interface' 'groups --bpf' 'groups -w' 'groups --write' 'groups --port' 'groups --keylog' 'groups --since' 'groups --until' 'groups --name' 'groups --jobs' 'groups --api' 'groups --client-id' 'groups --client' 'groups --topic' 'groups --group' 'groups -f' 'groups -Y' 'groups --filter' 'groups --slower-than' 'groups -n' 'groups -c' 'groups --limit' 'groups -o' 'groups --output' 'groups -e' 'groups --field' 'groups -E' 'groups --field-option' 'groups --color' 'topics -r' 'topics --read' 'topics -i' 'topics --interface' 'topics --bpf' 'topics -w' 'topics --write' 'topics --port' 'topics --keylog' 'topics --since' 'topics --until' 'topics --name' 'topics --jobs' 'topics --api' 'topics --client-id' 'topics --client' 'topics --topic' 'topics --group' 'topics -f' 'topics -Y' 'topics --filter' 'topics --slower-than' 'topics -n' 'topics -c' 'topics --limit' 'topics -o' 'topics --output' 'topics -e' 'topics --field' 'topics -E' 'topics --field-option' 'topics --color' 'brokers -r' 'brokers --read' 'brokers -i' 'brokers --interface' 'brokers --bpf' 'brokers -w' 'brokers --write' 'brokers --port' 'brokers --keylog' 'brokers --since' 'brokers --until' 'brokers --name' 'brokers --jobs' 'brokers --api' 'brokers --client-id' 'brokers --client' 'brokers --topic' 'brokers --group' 'brokers -f' 'brokers -Y' 'brokers --filter' 'brokers --slower-than' 'brokers -n' 'brokers -c' 'brokers --limit' 'brokers -o' 'brokers --output' 'brokers -e' 'brokers --field' 'brokers -E' 'brokers --field-option' 'brokers --color' 'doctor -r' 'doctor --read' 'doctor -i' 'doctor --interface' 'doctor --bpf' 'doctor -w' 'doctor --write' 'doctor --port' 'doctor --keylog' 'doctor --since' 'doctor --until' 'doctor --metrics' 'doctor --otlp' 'doctor -b' 'doctor --bootstrap-server' 'doctor --bootstrap-controller' 'doctor -X' 'doctor --property' 'doctor -F' 'doctor --command-config' 'doctor --profile' 'doctor --timeout' 'doctor --connect-timeout' 'doctor --dial-map' 'doctor --fail-on' 'doctor --threshold' 'doctor --jobs' 'doctor --api' 'doctor --client-id' 'doctor --client' 'doctor --topic' 'doctor --group' 'doctor -f' 'doctor -Y' 'doctor --filter' 'doctor --slower-than' 'doctor -n' 'doctor -c' 'doctor --limit' 'doctor -o' 'doctor --output' 'doctor -e' 'doctor --field' 'doctor -E' 'doctor --field-option' 'doctor --color' 'audit -r' 'audit --read' 'audit -i' 'audit --interface' 'audit --bpf' 'audit -w' 'audit --write' 'audit --port' 'audit --keylog' 'audit --since' 'audit --until' 'audit --target' 'audit --clients' 'audit --jobs' 'audit --api' 'audit --client-id' 'audit --client' 'audit --topic' 'audit --group' 'audit -f' 'audit -Y' 'audit --filter' 'audit --slower-than' 'audit -n' 'audit -c' 'audit --limit' 'audit -X' 'audit --property' 'audit --profile' 'audit --timeout' 'audit -o' 'audit --output' 'audit -e' 'audit --field' 'audit -E' 'audit --field-option' 'audit --color' 'report -r' 'report --read' 'report -i' 'report --interface' 'report --bpf' 'report -w' 'report --write' 'report --port' 'report --keylog' 'report --since' 'report --until' 'report --html' 'report --target' 'report --jobs' 'report --api' 'report --client-id' 'report --client' 'report --topic' 'report --group' 'report -f' 'report -Y' 'report --filter' 'report --slower-than' 'report -n' 'report -c' 'report --limit' 'report -o' 'report --output' 'report --color' 'sql -r' 'sql --read' 'sql -i' 'sql --interface' 'sql --bpf' 'sql -w' 'sql --write' 'sql --port' 'sql --keylog' 'sql --since' 'sql --until' 'sql --api' 'sql --client-id' 'sql --client' 'sql --topic' 'sql --group' 'sql -f' 'sql -Y' 'sql --filter' 'sql --slower-than' 'sql -n' 'sql -c' 'sql --limit' 'sql -o' 'sql --output' 'sql --color' 'replay --speed' 'replay --changes' 'replay --map' 'replay --replay-client-id' 'replay --port' 'replay --keylog' 'replay --since' 'replay --until' 'replay --api' 'replay --client-id' 'replay --client' 'replay --topic' 'replay --group' 'replay -f' 'replay -Y' 'replay --filter' 'replay --slower-than' 'replay -n' 'replay -c' 'replay --limit' 'replay -b' 'replay --bootstrap-server' 'replay --bootstrap-controller' 'replay -X' 'replay --property' 'replay -F' 'replay --command-config' 'replay --profile' 'replay --timeout' 'replay --connect-timeout' 'replay --dial-map' 'replay -o' 'replay --output' 'replay --color' 'scrub --keep' 'scrub --salt-file' 'scrub --names' 'scrub --port' 'scrub --keylog' 'pipeline compact --lateness' 'pipeline compact --keep' 'pipeline report --target' 'pipeline report --html' 'pipeline report --master' 'pipeline report -o' 'pipeline report --output' 'pipeline report --color' 'pipeline run --since' 'pipeline run --until' 'pipeline run --out' 'pipeline run --point' 'pipeline run --api' 'pipeline run --client-id' 'pipeline run --client' 'pipeline run --topic' 'pipeline run --group' 'pipeline run -f' 'pipeline run -Y' 'pipeline run --filter' 'pipeline run --slower-than' 'pipeline run --port' 'pipeline run --keylog' 'pipeline run --tables' 'pipeline run --engine' 'pipeline run --master' 'pipeline run --split-size' 'pipeline sql -n' 'pipeline sql -c' 'pipeline sql --limit' 'pipeline sql --master' 'pipeline sql -o' 'pipeline sql --output' 'pipeline sql --color' 'pipeline watch --out' 'pipeline watch --point' 'pipeline watch --api' 'pipeline watch --client-id' 'pipeline watch --client' 'pipeline watch --topic' 'pipeline watch --group' 'pipeline watch -f' 'pipeline watch -Y' 'pipeline watch --filter' 'pipeline watch --slower-than' 'pipeline watch --port' 'pipeline watch --keylog' 'pipeline watch --tables' 'pipeline watch --engine' 'pipeline watch --master' 'pipeline watch --lateness' 'pipeline watch --interval' 'pipeline watch --batch-size' 'pipeline watch --keep' 'pipeline watch --format' 'pipeline watch --metrics' 'pipeline watch --threshold' 'apis --release' 'apis --grep' 'apis -o' 'apis --output' 'apis -e' 'apis --field' 'apis -E' 'apis --field-option' 'apis --color' 'errors --grep' 'errors -o' 'errors --output' 'errors -e' 'errors --field' 'errors -E' 'errors --field-option' 'errors --color' 'decode --api' 'decode --version' 'decode --api-version' 'decode --as' 'decode --from' 'decode -o' 'decode --output' 'decode -e' 'decode --field' 'decode -E' 'decode --field-option' 'decode --color' 'encode --correlation-id' 'encode --client-id' 'encode -o' 'encode --output' 'profile add -b' 'profile add --bootstrap-server' 'profile add --bootstrap-controller' 'profile add -X' 'profile add --property' 'profile add -F' 'profile add --command-config' 'profile current -o' 'profile current --output' 'profile current --color' 'profile export --as' 'profile import --context' 'profile list -o' 'profile list --output' 'profile list --color' 'profile show -o' 'profile show --output' 'profile show --color' 'mock --port' 'mock --bind' 'mock --advertise' 'mock --password' 'mock --keylog' 'mock --tls-cert' 'mock --tls-key' 'mock --tls-client-ca' 'mock --api' 'mock --client-id' 'mock --client' 'mock --topic' 'mock --group' 'mock -f' 'mock -Y' 'mock --filter' 'mock --slower-than' 'mock -o' 'mock --output' 'mock -e' 'mock --field' 'mock -E' 'mock --field-option' 'mock --columns' 'mock --color' 'mock -w' 'mock --write' 'mock --rotate-size' 'mock --rotate-interval' 'mock --log-overflow' 'playground --nodes' 'playground --version' 'playground --port' 'playground --listeners' 'playground --topics' 'playground --run' 'playground --jars' 'playground node --port' 'playground node --timeout' 'playground node -o' 'playground node --output' 'help --search' 'help --color' 'version -o' 'version --output' 'version --color'
            echo 1
        case 'apis --diff'
            echo 2
        case '*'
            echo 0
    end
end
complete -c kw -f
set -g __kw_verbs 'sniff' 'call' 'proxy' 'proxy ctl' 'proxy ctl connections' 'proxy ctl exchanges' 'proxy ctl fault' 'proxy ctl faults' 'proxy ctl held' 'proxy ctl hold' 'proxy ctl holds' 'proxy ctl listeners' 'proxy ctl release' 'proxy ctl unfault' 'proxy ctl unhold' 'stats' 'clients' 'groups' 'topics' 'brokers' 'doctor' 'audit' 'report' 'sql' 'replay' 'scrub' 'pipeline' 'pipeline compact' 'pipeline report' 'pipeline run' 'pipeline sql' 'pipeline watch' 'apis' 'errors' 'decode' 'encode' 'profile' 'profile add' 'profile current' 'profile edit' 'profile export' 'profile import' 'profile list' 'profile remove' 'profile rename' 'profile show' 'profile use' 'mock' 'playground' 'playground node' 'completion' 'help' 'version'
complete -c kw -s h -l help -d 'Show this message and exit.'
complete -c kw -n '__kw_any \'\'' -l version -k -d 'Print the version and end.'
complete -c kw -n '__kw_any \'\'' -l debug -d 'Show the traceback of a defect in any command.'
complete -c kw -n '__kw_any \'\'' -s X -x -a '(__kw_live property)' -d 'List all client properties, or dump those in force with their sources.'
complete -c kw -n '__kw_any \'sniff\'' -l whole-connections -d 'With FILE -w: write all packets of connections with a row.'
complete -c kw -n '__kw_any \'sniff\'' -l with-keys -d 'With FILE -w: write TLS keys of these packets, too.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\'' -s r -l read -x -a '(__kw_files)' -d 'A capture to read, like FILE.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\'' -s i -l interface -x -a '(command ls /sys/class/net 2>/dev/null; echo any)' -d 'Capture live on this interface (`any`: all interfaces).'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\'' -l bpf -x -d 'Kernel filter of a live capture, in tcpdump\'s syntax.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\'' -s w -l write -x -a '(__kw_files)' -d 'Write the packets of a live capture; kw sniff FILE -w: the packets of the rows shown.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\'' -l follow -d 'Follow FILE as it grows, then the next files of its writer.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'scrub\' \'pipeline run\' \'pipeline watch\'' -l port -x -d 'Broker ports, 9092-9094 for a range (default: detect Kafka on any port).'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'scrub\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l keylog -x -a '(__kw_files)' -d 'Decrypt TLS with this key log, followed while it grows (default: $SSLKEYLOGFILE; see: kw help tls).'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\'' -l since -x -d 'Only what began since TIME: 17:34, 5m.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\'' -l until -x -d 'Only what began before TIME.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'doctor\'' -l metrics -x -d 'While running, serve Prometheus on http://127.0.0.1:PORT/metrics, or at ADDRESS.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'doctor\'' -l otlp -x -d 'Send spans and metrics to this OpenTelemetry collector: http://localhost:4318.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\'' -l jobs -x -d 'Decode and print with N processes (default: one per core, at most 8).'
complete -c kw -n '__kw_any \'sniff\' \'stats\'' -l guess-requests -d 'Decode responses without requests in the capture if exactly one API version fits.'
complete -c kw -n '__kw_any \'sniff\'' -l rotate-size -x -d 'With -w: rotate at SIZE (100MB).'
complete -c kw -n '__kw_any \'sniff\'' -l rotate-interval -x -d 'With -w: rotate after TIME (10m).'
complete -c kw -n '__kw_any \'sniff\'' -l keep -x -d 'With -w: keep the latest N files.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l api -x -a 'Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets StreamsGroupTopologyDescriptionUpdate UnregisterController' -d 'Only these APIs, by name or number.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l client-id -x -d 'Only clients whose id matches.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l client -x -d 'Only these clients, by id or by address.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l topic -x -d 'Only exchanges about a topic that matches.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l group -x -d 'Only exchanges about a group that matches.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -s f -s Y -l filter -x -a '(__kw_live filter)' -d 'Only exchanges that match EXPR, for example \'api == Fetch and latency > 100ms\'.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l errors -d 'Only failures: error codes, undecodable, unanswered at close; `--errors all`: also error codes that the protocol expects.'
complete -c kw -n '__kw_any \'sniff\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline run\' \'pipeline watch\' \'mock\'' -l slower-than -x -d 'Only latencies above TIME, say 100ms.'
complete -c kw -n '__kw_any \'sniff\'' -s n -s c -l limit -x -d 'Stop reading after N rows shown.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'decode\' \'mock\'' -l records -d 'Show every record, with key, value and headers.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'decode\' \'mock\'' -l reveal-secrets -d 'Show tokens, salts and config values instead of {redacted}.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'decode\' \'mock\'' -l names -d 'Name numbers in JSON, YAML, fields: 1 is read_committed.'
complete -c kw -n '__kw_any \'sniff\'' -l sort -x -a 'time latency size' -d 'Sort by time, slowest or largest first; keep all rows in memory until the end.'
complete -c kw -n '__kw_any \'sniff\' \'stats\'' -l strict -d 'Exit code 3 when traffic was lost or could not be decoded.'
complete -c kw -n '__kw_any \'sniff\'' -s o -l output -x -a 'text table ndjson json csv yaml fields hex raw' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'proxy ctl connections\' \'proxy ctl exchanges\' \'proxy ctl fault\' \'proxy ctl faults\' \'proxy ctl held\' \'proxy ctl hold\' \'proxy ctl holds\' \'proxy ctl listeners\' \'proxy ctl release\' \'proxy ctl unfault\' \'proxy ctl unhold\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline report\' \'pipeline sql\' \'apis\' \'errors\' \'decode\' \'profile current\' \'profile list\' \'profile show\' \'mock\' \'version\'' -s J -d 'The same as -o json.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'mock\'' -s e -l field -x -a '(__kw_live columns)' -d 'With -o fields: the paths to show, as topic, latency_ms or request.topics[].name.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'apis\' \'errors\' \'decode\' \'mock\'' -s E -l field-option -x -d 'With -o fields: header=y, separator=, quote=d and so on, as in tshark.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'mock\'' -l columns -x -a '(__kw_live columns)' -d 'Columns of text, table and csv: fields as in -f, or any path of the record.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'stats\' \'doctor\' \'replay\' \'mock\'' -l local -d 'Show times in the zone of $TZ, or of this machine, not UTC.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'sql\' \'pipeline sql\' \'apis\' \'errors\' \'mock\'' -l csv-safe -d 'In csv, put an apostrophe before cells that look like formulas.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'proxy ctl connections\' \'proxy ctl exchanges\' \'proxy ctl fault\' \'proxy ctl faults\' \'proxy ctl held\' \'proxy ctl hold\' \'proxy ctl holds\' \'proxy ctl listeners\' \'proxy ctl release\' \'proxy ctl unfault\' \'proxy ctl unhold\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline report\' \'pipeline sql\' \'apis\' \'errors\' \'decode\' \'profile current\' \'profile list\' \'profile show\' \'mock\' \'help\' \'version\'' -l color -x -a 'auto always never' -d 'When to use colours.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'proxy ctl connections\' \'proxy ctl exchanges\' \'proxy ctl fault\' \'proxy ctl faults\' \'proxy ctl held\' \'proxy ctl hold\' \'proxy ctl holds\' \'proxy ctl listeners\' \'proxy ctl release\' \'proxy ctl unfault\' \'proxy ctl unhold\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'pipeline report\' \'pipeline sql\' \'apis\' \'errors\' \'decode\' \'profile current\' \'profile list\' \'profile show\' \'mock\' \'help\' \'version\'' -l no-pager -d 'Do not page long output on a terminal.'
complete -c kw -n '__kw_any \'sniff\'' -s v -l verbose -d 'Show bodies too; -vv headers as well.'
complete -c kw -n '__kw_any \'sniff\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\'' -s q -l quiet -d 'No summary and no progress bar.'
complete -c kw -n '__kw_any \'sniff\' \'call\' \'proxy\' \'proxy ctl connections\' \'proxy ctl exchanges\' \'proxy ctl fault\' \'proxy ctl faults\' \'proxy ctl held\' \'proxy ctl hold\' \'proxy ctl holds\' \'proxy ctl listeners\' \'proxy ctl release\' \'proxy ctl unfault\' \'proxy ctl unhold\' \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'report\' \'sql\' \'replay\' \'scrub\' \'pipeline report\' \'pipeline sql\' \'apis\' \'errors\' \'decode\' \'encode\' \'profile current\' \'profile list\' \'profile show\' \'mock\' \'playground\' \'version\'' -l debug -d 'Show the traceback of a defect.'
complete -c kw -n '__kw_any \'call\'' -l api-version -x -a '(__kw_versions)' -k -d 'Send this version: 12, v12, latest.'
complete -c kw -n '__kw_any \'call\'' -l as-kafka -x -a '4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2' -k -d 'Send the highest version that this release speaks.'
complete -c kw -n '__kw_any \'call\'' -l force -d 'Send an API or version not offered, too.'
complete -c kw -n '__kw_any \'call\'' -l node -x -a '(__kw_live node)' -d 'Ids (1,2), any, controller, all, coordinator:GROUP, txn:ID, leader:TOPIC-PART.'
complete -c kw -n '__kw_any \'call\'' -l split -d 'Send each leader or coordinator its share of the request.'
complete -c kw -n '__kw_any \'call\'' -l example -d 'Send the example of the API as it is, even if it changes something.'
complete -c kw -n '__kw_any \'call\'' -l skeleton -d 'Print the request as annotated YAML to fill in; send nothing.'
complete -c kw -n '__kw_any \'call\'' -l edit -d 'Edit the request in $EDITOR before it is sent.'
complete -c kw -n '__kw_any \'call\'' -l dry-run -d 'Show the request and its bytes without connecting.'
complete -c kw -n '__kw_any \'call\'' -l raw-body -x -d 'Send these bytes as the body.'
complete -c kw -n '__kw_any \'call\'' -l only -x -a 'request response' -d 'Show one side; in JSON, only its body.'
complete -c kw -n '__kw_any \'call\'' -l select -x -d 'Show only this path of the response (or of --only).'
complete -c kw -n '__kw_any \'call\'' -l compression -x -a 'none gzip snappy lz4 zstd' -d 'With topic=… value=…: how to compress the records.'
complete -c kw -n '__kw_any \'call\'' -l acks -x -a 'all 1 0' -d 'With topic=… value=…: replicas that must ack.'
complete -c kw -n '__kw_any \'call\'' -l magic -x -d 'With topic=… value=…: batch format.'
complete -c kw -n '__kw_any \'call\'' -l lines -d 'With topic=… and a pipe: each line is a value, JSON or not.'
complete -c kw -n '__kw_any \'call\'' -l values -d 'With Fetch: print only record values, one per line.'
complete -c kw -n '__kw_any \'call\'' -s K -l key-separator -x -d 'Separator of key and value, in lines that are sent or that a fetch prints.'
complete -c kw -n '__kw_any \'call\'' -l repeat -x -d 'Send N times; 0: until Ctrl-C.'
complete -c kw -n '__kw_any \'call\'' -l interval -x -d 'Interval of --repeat (default: 1s).'
complete -c kw -n '__kw_any \'call\'' -l against -x -d 'With ApiVersions: compare what brokers offer with this release.'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'replay\'' -s b -l bootstrap-server -x -d 'Brokers to ask first; else a profile\'s, else localhost:9092.'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'replay\'' -l bootstrap-controller -x -d 'Bootstrap from these controllers.'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'doctor\' \'audit\' \'replay\'' -s X -l property -x -a '(__kw_live property)' -d 'A client property, as librdkafka or Java spell it; list shows all, dump those in force.'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'doctor\' \'replay\'' -s F -l command-config -x -a '(__kw_files)' -d 'A file of client properties: client.properties, librdkafka.config, kcat.conf.'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'doctor\' \'audit\' \'replay\'' -l profile -x -a '(__kw_profiles)' -d 'A profile (see kw profile) instead of the active one.'
complete -c kw -n '__kw_any \'call\'' -l client-id -x -d 'The client id to send (default: kw).'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'doctor\' \'audit\' \'replay\'' -l timeout -x -d 'Time limit for answers of brokers (default: 10s).'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'doctor\' \'replay\'' -l connect-timeout -x -d 'Time to connect (default: 5s).'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'doctor\' \'replay\'' -l dial-map -x -d 'Dial the second where a broker advertises the first.'
complete -c kw -n '__kw_any \'call\' \'proxy\' \'mock\'' -s o -l output -x -a 'text table ndjson json csv yaml fields hex' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'call\'' -s v -l verbose -d 'Show the request, the chosen server and the look-ups; -vv also their messages.'
complete -c kw -n '__kw_any \'call\'' -s q -l quiet -d 'No summary of repetitions.'
complete -c kw -n '__kw_any \'proxy\'' -l port-base -x -d 'Bootstrap listener on N, node k on N+1+k (default: 19092).'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l bind -x -d 'Listen on ADDRESS (default: 127.0.0.1).'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l advertise -x -d 'Host name given to clients, instead of the --bind address.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l tls-in -d 'Speak TLS with clients; kw makes an authority and certificates.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l tls-cert -x -a '(__kw_files)' -d 'Speak TLS with your own certificate.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l tls-key -x -a '(__kw_files)' -d 'Key of --tls-cert, if in another file.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l tls-client-ca -x -a '(__kw_files)' -d 'Require client certificates of these CAs.'
complete -c kw -n '__kw_any \'proxy\'' -l allow-anonymous -d 'With --bind: let other machines use the proxy\'s login without one of their own.'
complete -c kw -n '__kw_any \'proxy\'' -l metrics -x -d 'Serve Prometheus metrics on http://127.0.0.1:PORT/metrics, or at ADDRESS.'
complete -c kw -n '__kw_any \'proxy\'' -l check -d 'Test brokers, login, ports, certificates; then exit.'
complete -c kw -n '__kw_any \'proxy\'' -l as-kafka -x -d 'Serve clients only the APIs and versions of this release (2.8).'
complete -c kw -n '__kw_any \'proxy\'' -l max -x -d 'Cap these APIs at VERSION; repeatable.'
complete -c kw -n '__kw_any \'proxy\'' -l hide -x -d 'Hide these APIs, by name or number; repeatable.'
complete -c kw -n '__kw_any \'proxy\'' -l fault -x -a '(__kw_live fault)' -d 'Inject a fault: \'ACTION[, LIMIT]…[, when FILTER]\' (kw help faults); repeatable.'
complete -c kw -n '__kw_any \'proxy\'' -l faults -x -a '(__kw_live faults)' -d 'Fault rules from a file, one per line, reread when it changes; or a preset.'
complete -c kw -n '__kw_any \'proxy\'' -l seed -x -d 'Random seed, to repeat the same faults.'
complete -c kw -n '__kw_any \'proxy\'' -l script -x -a '(__kw_files)' -d 'Pass exchanges to Python functions, which may change them (kw help scripts).'
complete -c kw -n '__kw_any \'proxy\'' -l script-timeout -x -d 'Time per function (default: 2s); then the original passes.'
complete -c kw -n '__kw_any \'proxy\'' -l control -x -d 'Accept kw proxy ctl on 127.0.0.1:PORT (kw help control); 0: any port.'
complete -c kw -n '__kw_any \'proxy\'' -l hold-timeout -x -d 'Hold an exchange at most this long (default: 25s).'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -s v -l verbose -d 'Show bodies too, and report every connection; -vv headers as well.'
complete -c kw -n '__kw_any \'proxy\'' -s q -l quiet -d 'No summary at the end.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l no-log -d 'Print no exchanges.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l events -d 'Add rows for connection events and messages (-o ndjson).'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -s w -l write -x -a '(__kw_files)' -d 'Write the clients\' traffic, decrypted, to this capture file.'
complete -c kw -n '__kw_any \'proxy\'' -l record -x -a 'client both' -d 'Connections that -w keeps: clients\', or also brokers\' as a second interface.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l rotate-size -x -d 'Begin a new file after SIZE bytes, say 100MB.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l rotate-interval -x -d 'Begin a new file after this time, say 60m.'
complete -c kw -n '__kw_any \'proxy\' \'mock\'' -l log-overflow -x -a 'drop block' -d 'When the log cannot keep up: drop traffic from it, or block clients.'
complete -c kw -n '__kw_any \'proxy ctl\'' -l port -x -d '--control port; found if one proxy runs.'
complete -c kw -n '__kw_any \'proxy ctl connections\' \'proxy ctl exchanges\' \'proxy ctl fault\' \'proxy ctl faults\' \'proxy ctl held\' \'proxy ctl hold\' \'proxy ctl holds\' \'proxy ctl listeners\' \'proxy ctl release\' \'proxy ctl unfault\' \'proxy ctl unhold\' \'profile current\' \'profile list\' \'profile show\' \'version\'' -s o -l output -x -a 'text ndjson json' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'proxy ctl exchanges\'' -s n -l limit -x -d 'How many (default: 20).'
complete -c kw -n '__kw_any \'proxy ctl hold\'' -l side -x -a 'request response' -d 'Requests or responses.'
complete -c kw -n '__kw_any \'proxy ctl hold\'' -l first -x -d 'Hold only N.'
complete -c kw -n '__kw_any \'proxy ctl release\'' -l do -x -a 'pass close reset' -d 'How to release it.'
complete -c kw -n '__kw_any \'stats\'' -l by -x -a 'api version client client_id address software library user mechanism broker connection topic partition group error file time' -d 'Group by api, version, client, client_id, address, software, library, user, mechanism, broker, connection, topic, partition, group, error, file, time (default: api).'
complete -c kw -n '__kw_any \'stats\'' -l metric -x -a 'latency bytes errors records throttle total queue local remote response_queue send' -d 'What to measure (default: latency).'
complete -c kw -n '__kw_any \'stats\'' -l bucket -x -d 'Group by time too, in buckets of this length.'
complete -c kw -n '__kw_any \'stats\'' -l sort -x -a 'count rate errors unanswered undecoded values sum min p50 p90 p95 p99 max bytes request_bytes response_bytes waited waited_ms batches record_bytes name' -d 'Sort by a column of numbers, greatest first, or by name (default: depends on --metric).'
complete -c kw -n '__kw_any \'stats\'' -l top -x -d 'Show the first N groups only.'
complete -c kw -n '__kw_any \'stats\'' -l slowest -x -d 'Show the N slowest exchanges too, with their packet numbers.'
complete -c kw -n '__kw_any \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'audit\' \'report\'' -s n -s c -l limit -x -d 'Stop reading after N exchanges counted.'
complete -c kw -n '__kw_any \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\'' -s o -l output -x -a 'text table ndjson json csv yaml fields' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'stats\' \'clients\' \'groups\' \'topics\' \'brokers\' \'doctor\' \'audit\' \'apis\' \'errors\' \'decode\'' -s e -l field -x -d 'With -o fields: the paths to show, as topic, latency_ms or request.topics[].name.'
complete -c kw -n '__kw_any \'stats\'' -s v -l verbose -d 'Show all columns and groups.'
complete -c kw -n '__kw_any \'clients\' \'groups\' \'topics\' \'brokers\'' -l name -x -d 'Show only NAME, in full.'
complete -c kw -n '__kw_any \'doctor\'' -s b -l bootstrap-server -x -d 'Examine the cluster of these brokers instead of captures.'
complete -c kw -n '__kw_any \'doctor\'' -l bootstrap-controller -x -d 'Examine the cluster of these controllers instead of captures.'
complete -c kw -n '__kw_any \'doctor\'' -l fail-on -x -a 'error warning never' -d 'Exit with code 4 on a finding at least this severe.'
complete -c kw -n '__kw_any \'doctor\'' -l threshold -x -d 'Set a threshold; repeatable.'
complete -c kw -n '__kw_any \'doctor\'' -s n -s c -l limit -x -d 'Stop reading after N exchanges examined.'
complete -c kw -n '__kw_any \'doctor\'' -s v -l verbose -d 'Explain notes as well.'
complete -c kw -n '__kw_any \'audit\'' -l target -x -a '4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2' -k -d 'Check clients against this release or broker:HOST:PORT (default: the newest).'
complete -c kw -n '__kw_any \'audit\'' -l clients -x -d 'Reverse: check brokers against clients of this release.'
complete -c kw -n '__kw_any \'audit\'' -l security -d 'Audit listeners, logins, TLS, secrets and rights instead.'
complete -c kw -n '__kw_any \'audit\'' -s v -l verbose -d 'Explain notes as well (--security).'
complete -c kw -n '__kw_any \'report\'' -l html -x -a '(__kw_files)' -d 'Write one self-contained HTML page; print nothing to standard output.'
complete -c kw -n '__kw_any \'report\' \'scrub\' \'pipeline report\'' -l force -d 'Replace an existing file that this command did not write.'
complete -c kw -n '__kw_any \'report\'' -l target -x -a '4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2' -k -d 'Check clients against this release (default: the newest).'
complete -c kw -n '__kw_any \'report\'' -l records -d 'Show record keys and values in bodies of the slowest exchanges.'
complete -c kw -n '__kw_any \'report\'' -l reveal-secrets -d 'Show passwords and tokens in bodies of slowest exchanges.'
complete -c kw -n '__kw_any \'report\' \'pipeline report\'' -s o -l output -x -a 'text md ndjson json' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'report\' \'pipeline report\'' -s v -l verbose -d 'Show all rows and columns.'
complete -c kw -n '__kw_any \'sql\' \'pipeline sql\'' -l views -d 'List the tables and views with their columns.'
complete -c kw -n '__kw_any \'sql\' \'pipeline sql\'' -s n -s c -l limit -x -d 'At most N rows.'
complete -c kw -n '__kw_any \'sql\' \'pipeline sql\'' -s o -l output -x -a 'text table ndjson json csv' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'sql\' \'pipeline sql\'' -s v -l verbose -d 'Shorten nothing in text, however wide.'
complete -c kw -n '__kw_any \'replay\'' -l speed -x -d '1: as in the recording; 10: ten times as fast; max.'
complete -c kw -n '__kw_any \'replay\'' -l changes -x -d 'Also send changes: to data (records, groups, transactions), or by these admin APIs.'
complete -c kw -n '__kw_any \'replay\'' -l map -x -d 'Rename topic OLD to NEW; also group:OLD=NEW, transaction:OLD=NEW.'
complete -c kw -n '__kw_any \'replay\'' -l dry-run -d 'List requests to send and skip, with reasons; do not connect.'
complete -c kw -n '__kw_any \'replay\'' -l replay-client-id -x -d 'The client id to send (default: the recorded ids).'
complete -c kw -n '__kw_any \'replay\'' -s n -s c -l limit -x -d 'Stop reading after N requests.'
complete -c kw -n '__kw_any \'replay\'' -s o -l output -x -a 'text table ndjson json' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'replay\'' -s v -l verbose -d 'Show every request, not only those with different responses; -vv other ids too.'
complete -c kw -n '__kw_any \'scrub\'' -l keep -x -a 'topics groups clients users transactions hosts members' -d 'Names to keep: topics, groups, clients, users, transactions, hosts, members.'
complete -c kw -n '__kw_any \'scrub\'' -l salt-file -x -d 'Derive the same pseudonyms from this file every time; created if missing.'
complete -c kw -n '__kw_any \'scrub\'' -l names -x -d 'Write the pseudonym of each name to FILE.'
complete -c kw -n '__kw_any \'scrub\'' -s q -l quiet -d 'Report problems only.'
complete -c kw -n '__kw_any \'pipeline compact\'' -l lateness -x -d 'Only dates over this long before the latest packet.'
complete -c kw -n '__kw_any \'pipeline compact\' \'pipeline watch\'' -l keep -x -d 'Drop older dates: 30d.'
complete -c kw -n '__kw_any \'pipeline compact\' \'pipeline report\' \'pipeline sql\'' -s q -l quiet -d 'Say nothing on standard error.'
complete -c kw -n '__kw_any \'pipeline report\'' -l target -x -a '4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2' -k -d 'Kafka release to check clients against (default: the newest).'
complete -c kw -n '__kw_any \'pipeline report\'' -l html -x -a '(__kw_files)' -d 'Write one HTML page with charts; print nothing.'
complete -c kw -n '__kw_any \'pipeline report\'' -l master -x -d 'Count on Spark: local[*], spark://HOST:PORT, … (default: here).'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l out -x -a '(__kw_files)' -d 'Folder of the tables: new, or made by the same command.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l point -x -d 'Captures of one place in the network; a connection at two points counts twice.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l tables -x -a 'exchanges topic_partitions connections skipped' -d 'Only these tables, of exchanges, topic_partitions, connections, skipped.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l bodies -d 'Add requests and responses as JSON.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l reveal-secrets -d 'In bodies: tokens, salts and config values in clear.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l engine -x -a 'auto local stitch shuffle' -d 'local: 1 process; stitch: Spark; shuffle: slow reference; auto: by size.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline sql\' \'pipeline watch\'' -l master -x -d 'Where Spark runs: local[2], spark://head:7077, yarn (default: this machine).'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l strict -d 'Exit code 3 when traffic or input was lost or could not be decoded.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -s v -l verbose -d 'Report every capture, or every batch.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -s q -l quiet -d 'No summary and no progress.'
complete -c kw -n '__kw_any \'pipeline run\' \'pipeline watch\'' -l debug -d 'Show the traceback of a defect, and Spark\'s output.'
complete -c kw -n '__kw_any \'pipeline run\'' -l split-size -x -d 'Bytes of capture per task (default: 256MiB, above 8GB 512MiB).'
complete -c kw -n '__kw_any \'pipeline run\'' -l explain -d 'Print the plan with reasons; do nothing.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l lateness -x -d 'Wait this long for files that belong before a new one.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l interval -x -d 'Minimum time from batch to batch.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l batch-size -x -d 'Bytes of capture per batch, about.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l no-rename -d 'For stores without atomic rename; only kw reads.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l format -x -a 'parquet delta iceberg' -d 'Table format: plain Parquet, or the same files with a Delta or Iceberg log.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l metrics -x -d 'Serve Prometheus on http://127.0.0.1:PORT/metrics, or at ADDRESS.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l doctor -d 'Report findings as they appear: NDJSON lines, and the table `findings`.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l threshold -x -d 'Threshold of a finding; repeatable.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l once -d 'Read existing files and end; the next watch goes on.'
complete -c kw -n '__kw_any \'pipeline watch\'' -l finish -d 'Like --once, but settle open exchanges as at the end.'
complete -c kw -n '__kw_any \'apis\'' -l release -x -a '4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2' -k -d 'Show APIs as in this Kafka release, for example 2.8.'
complete -c kw -n '__kw_any \'apis\'' -l diff -x -a '4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2' -k -d 'Show changes between two releases, or two versions of one API.'
complete -c kw -n '__kw_any \'apis\'' -l grep -x -d 'APIs and fields whose name, or older name, holds this word.'
complete -c kw -n '__kw_any \'apis\'' -l about -d 'Say of each field what it means, in Kafka\'s words.'
complete -c kw -n '__kw_any \'apis\' \'errors\'' -s o -l output -x -a 'text ndjson json csv yaml fields' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'errors\'' -l retriable -d 'Errors after which clients retry, or give up.'
complete -c kw -n '__kw_any \'errors\'' -l grep -x -d 'Errors whose name or meaning holds this word.'
complete -c kw -n '__kw_any \'decode\'' -l api -x -a 'Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets StreamsGroupTopologyDescriptionUpdate UnregisterController' -d 'The API of the messages, by name or number.'
complete -c kw -n '__kw_any \'decode\'' -l version -l api-version -x -a '(__kw_versions)' -k -d 'API version: 12, v12, latest.'
complete -c kw -n '__kw_any \'decode\'' -l request -d 'The messages are requests.'
complete -c kw -n '__kw_any \'decode\'' -l response -d 'The messages are responses.'
complete -c kw -n '__kw_any \'decode\'' -l as -x -d 'The bytes are this structure (OffsetCommitValue); list shows all.'
complete -c kw -n '__kw_any \'decode\'' -l from -x -a 'auto hex base64 raw' -d 'Notation of the bytes.'
complete -c kw -n '__kw_any \'decode\'' -l explain -d 'Identify unknown bytes, or numbers from a log.'
complete -c kw -n '__kw_any \'decode\'' -s o -l output -x -a 'text json ndjson yaml fields hex' -d 'Output format (default: kw.output, $KW_OUTPUT, else text).'
complete -c kw -n '__kw_any \'decode\'' -s v -l verbose -d 'Show headers too; shorten nothing in hex.'
complete -c kw -n '__kw_any \'encode\'' -l response -d 'Encode a response, not a request.'
complete -c kw -n '__kw_any \'encode\'' -l frame -d 'The whole frame: size field, header, body.'
complete -c kw -n '__kw_any \'encode\'' -l correlation-id -x -d 'For the header of --frame.'
complete -c kw -n '__kw_any \'encode\'' -l client-id -x -d 'For the header of --frame.'
complete -c kw -n '__kw_any \'encode\'' -l skeleton -d 'Print an annotated body to fill in, as YAML.'
complete -c kw -n '__kw_any \'encode\'' -s o -l output -x -a 'hex base64 raw' -d 'hex (default), base64 or raw bytes.'
complete -c kw -n '__kw_any \'profile add\'' -s b -l bootstrap-server -x -d 'The brokers to ask first.'
complete -c kw -n '__kw_any \'profile add\'' -l bootstrap-controller -x -d 'Controllers instead.'
complete -c kw -n '__kw_any \'profile add\'' -s X -l property -x -a '(__kw_live property)' -d 'A client property.'
complete -c kw -n '__kw_any \'profile add\'' -s F -l command-config -x -a '(__kw_files)' -d 'A file of client properties.'
complete -c kw -n '__kw_any \'profile add\' \'profile import\'' -l use -d 'Make it the active profile.'
complete -c kw -n '__kw_any \'profile add\' \'profile import\' \'profile rename\'' -l force -d 'Replace an existing profile.'
complete -c kw -n '__kw_any \'profile export\'' -l as -x -a 'kw java librdkafka env' -d 'Format.'
complete -c kw -n '__kw_any \'profile export\'' -l reveal-secrets -d 'Write passwords and keys, too.'
complete -c kw -n '__kw_any \'profile import\'' -l context -x -d 'Cluster to import, if FILE has several.'
complete -c kw -n '__kw_any \'profile import\'' -s v -l verbose -d 'List the properties that kw ignores.'
complete -c kw -n '__kw_any \'profile show\'' -l reveal-secrets -d 'Show passwords and keys instead of {redacted}.'
complete -c kw -n '__kw_any \'profile use\'' -l none -d 'Use no profile.'
complete -c kw -n '__kw_any \'mock\'' -l port -x -d 'The first node listens on N, the next on N+1 ... (default: 19092; 0: any free ports).'
complete -c kw -n '__kw_any \'mock\'' -l calm -d 'Leave out the recorded errors.'
complete -c kw -n '__kw_any \'mock\'' -l password -x -d 'SCRAM password of USER, which a broker has to know too; all others have `mock`.'
complete -c kw -n '__kw_any \'mock\'' -s q -l quiet -d 'Print only the ready line and problems.'
complete -c kw -n '__kw_any \'playground\'' -l nodes -x -d 'Start N brokers.'
complete -c kw -n '__kw_any \'playground\'' -l version -x -a '4.3.1 3.9.1' -d 'Apache Kafka\'s release: 4.3.1 or 3.9.1 (default: 4.3.1).'
complete -c kw -n '__kw_any \'playground\'' -l port -x -d 'The first port.'
complete -c kw -n '__kw_any \'playground\'' -l listeners -x -d 'plaintext, ssl, mtls, sasl_plaintext, sasl_ssl; with certificates, users and a profile for each.'
complete -c kw -n '__kw_any \'playground\'' -l topics -x -d 'Make these topics.'
complete -c kw -n '__kw_any \'playground\'' -l traffic -d 'Keep a producer and a group of consumers going.'
complete -c kw -n '__kw_any \'playground\'' -l run -x -d 'Start, run CMD with KW_BOOTSTRAP_SERVER set, stop; exit with CMD\'s code.'
complete -c kw -n '__kw_any \'playground\'' -l jars -x -a '(__kw_files)' -d 'A folder with a broker\'s jars, instead of Maven\'s.'
complete -c kw -n '__kw_any \'playground\'' -l mock -d 'librdkafka\'s mock instead of Apache Kafka: no Java, ready at once.'
complete -c kw -n '__kw_any \'playground\'' -l keep-going -d 'Keep the other nodes when one dies (default: end all).'
complete -c kw -n '__kw_any \'playground\'' -s q -l quiet -d 'Print only the ready line.'
complete -c kw -n '__kw_any \'playground node\'' -l port -x -d 'Port of the playground, if several run.'
complete -c kw -n '__kw_any \'playground node\'' -l timeout -x -d 'Time limit (default: 30s).'
complete -c kw -n '__kw_any \'playground node\'' -s o -l output -x -a 'text ndjson json' -d 'Format.'
complete -c kw -n '__kw_any \'help\'' -l search -x -d 'List the lines of all pages with this word.'
complete -c kw -n '__kw_any \'help\'' -l man -d 'Print all pages, or one, as a manual page for man.'
complete -c kw -n '__kw_any \'version\'' -l licenses -d 'List every library that kw or an extra needs, with its licence.'
complete -c kw -n '__kw_in \'\' 0' -a sniff -d 'Decode captures into Kafka request/response exchanges.'
complete -c kw -n '__kw_in \'\' 0' -a call -d 'Send one request to the right broker; print request, response and timing.'
complete -c kw -n '__kw_in \'\' 0' -a proxy -d 'Relay clients to a cluster: every broker gets a listener here, and clients learn no other address.'
complete -c kw -n '__kw_in \'\' 0' -a stats -d 'Count the exchanges of captures: latencies, bytes, errors, records, throttling.'
complete -c kw -n '__kw_in \'\' 0' -a clients -d 'Show the clients in captures: software, addresses, topics, groups, errors, latency.'
complete -c kw -n '__kw_in \'\' 0' -a groups -d 'Show consumer groups: members, rebalances and their causes, commits, lag, offsets read again.'
complete -c kw -n '__kw_in \'\' 0' -a topics -d 'Show the topics in captures: clients that write, read, administer each, or only ask for it.'
complete -c kw -n '__kw_in \'\' 0' -a brokers -d 'Show the brokers of captures: node, rack, addresses, release, controller, latency, errors, clients.'
complete -c kw -n '__kw_in \'\' 0' -a doctor -d 'Say what is wrong: findings, worst first, with clients, since when, evidence and what to do.'
complete -c kw -n '__kw_in \'\' 0' -a audit -d 'Say which clients break when the brokers move to another release; or audit security.'
complete -c kw -n '__kw_in \'\' 0' -a report -d 'Report on captures on one page: findings, clients, groups, latency, ladders, audit.'
complete -c kw -n '__kw_in \'\' 0' -a sql -d 'Query captures in SQL (DuckDB): the last word is the query, the words before it as for `kw sniff`.'
complete -c kw -n '__kw_in \'\' 0' -a replay -d 'Send the requests of a recording to another cluster; compare its responses with those recorded.'
complete -c kw -n '__kw_in \'\' 0' -a scrub -d 'Write a capture without names, secrets and records that decodes as before.'
complete -c kw -n '__kw_in \'\' 0' -a pipeline -d 'Turn captures of any size into tables, in one process or on Spark, and tables into reports.'
complete -c kw -n '__kw_in \'\' 0' -a apis -d 'List all APIs, or show the fields of one, or the exact layout of one VERSION.'
complete -c kw -n '__kw_in \'\' 0' -a errors -d 'Explain error codes, by number or name, as brokers, clients and their logs write them, or list...'
complete -c kw -n '__kw_in \'\' 0' -a decode -d 'Decode single messages: hex, base64, dumps of xxd, hexdump and tcpdump -X, raw bytes, one or many.'
complete -c kw -n '__kw_in \'\' 0' -a encode -d 'Encode a body: JSON or YAML from standard input, from @FILE, or path=value words.'
complete -c kw -n '__kw_in \'\' 0' -a profile -d 'Manage named connection settings.'
complete -c kw -n '__kw_in \'\' 0' -a mock -d 'Mock the brokers of a recording, to test clients: its nodes, topics, records, groups and errors.'
complete -c kw -n '__kw_in \'\' 0' -a playground -d 'Start a throw-away Kafka cluster on this machine; Ctrl-C ends it and leaves nothing behind.'
complete -c kw -n '__kw_in \'\' 0' -a completion -d 'Print the completion script for SHELL: bash, zsh or fish (default: that of $SHELL).'
complete -c kw -n '__kw_in \'\' 0' -a help -d 'Show a page of the handbook, or list its topics.'
complete -c kw -n '__kw_in \'\' 0' -a version -d 'Show the versions of kw, of Python, of the newest Kafka that kw knows, and of the libraries.'
complete -c kw -n '__kw_in \'sniff\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'call\' 0' -a 'Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets StreamsGroupTopologyDescriptionUpdate UnregisterController'
complete -c kw -n '__kw_in \'call\' 1 more' -a '(__kw_body)'
complete -c kw -n '__kw_in \'proxy\' 0' -a ctl -d 'Inspect and control a running proxy that was started with --control PORT.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a connections -d 'Show the connections of clients.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a exchanges -d 'The last exchanges.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a fault -d 'Add a fault.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a faults -d 'Show the faults, and how often each has hit.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a held -d 'Show held exchanges, and how long they will still be held.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a hold -d 'Hold new exchanges that match.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a holds -d 'Show the rules that hold exchanges.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a listeners -d 'Show the proxy\'s listeners and the nodes behind them.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a release -d 'Let a held exchange go on.'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a unfault -d 'End the fault ID (of faults).'
complete -c kw -n '__kw_in \'proxy ctl\' 0' -a unhold -d 'End rule ID (of holds); its exchanges stay held.'
complete -c kw -n '__kw_in \'stats\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'clients\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'groups\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'topics\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'brokers\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'doctor\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'audit\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'report\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'sql\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'replay\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'pipeline\' 0' -a compact -d 'Merge the files of a watch\'s tables.'
complete -c kw -n '__kw_in \'pipeline\' 0' -a report -d 'Report on the tables.'
complete -c kw -n '__kw_in \'pipeline\' 0' -a run -d 'Decode captures into Parquet tables.'
complete -c kw -n '__kw_in \'pipeline\' 0' -a sql -d 'Query tables in SQL.'
complete -c kw -n '__kw_in \'pipeline\' 0' -a watch -d 'Decode captures as they come, for ever.'
complete -c kw -n '__kw_in \'pipeline compact\' 0' -a '(__kw_files)'
complete -c kw -n '__kw_in \'pipeline report\' 0' -a '(__kw_files)'
complete -c kw -n '__kw_in \'pipeline run\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'pipeline sql\' 0' -a '(__kw_files)'
complete -c kw -n '__kw_in \'pipeline watch\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'apis --diff\'' -k -a '4.4 4.3 4.2 4.1 4.0 3.9 3.8 3.7 3.6 3.5 3.4 3.3 3.2 3.1 3.0 2.8 2.7 2.6 2.5 2.4 2.3 2.2 2.1 2.0 1.1 1.0 0.11.0 0.10.2 0.10.1 0.10.0 0.9.0 0.8.2'
complete -c kw -n '__kw_in \'apis\' 0' -a 'Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets StreamsGroupTopologyDescriptionUpdate UnregisterController'
complete -c kw -n '__kw_in \'apis\' 1' -k -a '(__kw_versions)'
complete -c kw -n '__kw_in \'errors\' 0 more' -a '(__kw_errors)'
complete -c kw -n '__kw_in \'decode\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'encode\' 0' -a 'Produce Fetch ListOffsets Metadata LeaderAndIsr StopReplica UpdateMetadata ControlledShutdown OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials AlterUserScramCredentials Vote BeginQuorumEpoch EndQuorumEpoch DescribeQuorum AlterPartition UpdateFeatures Envelope FetchSnapshot DescribeCluster DescribeProducers BrokerRegistration BrokerHeartbeat UnregisterBroker DescribeTransactions ListTransactions AllocateProducerIds ConsumerGroupHeartbeat ConsumerGroupDescribe ControllerRegistration GetTelemetrySubscriptions PushTelemetry AssignReplicasToDirs ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch ShareAcknowledge AddRaftVoter RemoveRaftVoter UpdateRaftVoter InitializeShareGroupState ReadShareGroupState WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets StreamsGroupTopologyDescriptionUpdate UnregisterController'
complete -c kw -n '__kw_in \'encode\' 1' -k -a '(__kw_versions)'
complete -c kw -n '__kw_in \'encode\' 2 more' -a '(__kw_body)'
complete -c kw -n '__kw_in \'profile\' 0' -a add -d 'Make a profile of properties.'
complete -c kw -n '__kw_in \'profile\' 0' -a current -d 'Show the profile in use: $KW_PROFILE, else the active one.'
complete -c kw -n '__kw_in \'profile\' 0' -a edit -d 'Edit a profile in $EDITOR.'
complete -c kw -n '__kw_in \'profile\' 0' -a export -d 'Write a profile for another client.'
complete -c kw -n '__kw_in \'profile\' 0' -a import -d 'Import profiles from another client.'
complete -c kw -n '__kw_in \'profile\' 0' -a list -d 'List the profiles; the active one has a star.'
complete -c kw -n '__kw_in \'profile\' 0' -a remove -d 'Remove the profile NAME.'
complete -c kw -n '__kw_in \'profile\' 0' -a rename -d 'Rename the profile NAME; the active one stays active.'
complete -c kw -n '__kw_in \'profile\' 0' -a show -d 'Show the properties of a profile.'
complete -c kw -n '__kw_in \'profile\' 0' -a use -d 'Choose the active profile.'
complete -c kw -n '__kw_in \'profile add\' 1 more' -a '(__kw_live property)'
complete -c kw -n '__kw_in \'profile edit\' 0' -a '(__kw_profiles)'
complete -c kw -n '__kw_in \'profile export\' 0' -a '(__kw_profiles)'
complete -c kw -n '__kw_in \'profile import\' 0 more' -a '(__kw_files)'
complete -c kw -n '__kw_in \'profile remove\' 0' -a '(__kw_profiles)'
complete -c kw -n '__kw_in \'profile rename\' 0' -a '(__kw_profiles)'
complete -c kw -n '__kw_in \'profile show\' 0' -a '(__kw_profiles)'
complete -c kw -n '__kw_in \'profile use\' 0' -a '(__kw_profiles)'
complete -c kw -n '__kw_in \'playground\' 0' -a node -d 'List, stop, kill, start, restart, pause nodes while it runs.'
complete -c kw -n '__kw_in \'playground node\' 0' -a 'list stop kill start restart pause unpause'
complete -c kw -n '__kw_in \'completion\' 0' -a 'bash zsh fish'
complete -c kw -n '__kw_in \'help\' 0 more' -a 'sniff stats clients groups topics brokers doctor audit replay scrub call proxy mock faults as-kafka scripts control decode encode apis errors playground pipeline report sql completion other-tools filter columns record hex words produce-fetch connect tls logins request-log failures telemetry options exit-codes tables watch runbook spark library contributing changes'
