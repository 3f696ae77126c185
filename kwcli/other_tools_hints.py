"""Words of tshark, tcpdump, kcat, kubectl, httpie and Kafka's own tools in, hints at what does the same in kw out.

Tables of text, read only when a word is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_LIMIT: Final = "--limit N (-n N, -c N) stops after so many"
_SPAN: Final = "--since TIME and --until TIME choose a time: 17:34, 2026-11-21T17:34:05Z, 5m before the end"
_JSON: Final = "-o chooses the format: -o json, -o ndjson, -o csv, -o fields -e time,api,topic"
_TAKES: Final = "-b HOST:PORT says where the cluster is"
_FETCH: Final = "kw call fetch topic=orders offset=earliest --records shows records of a cluster"
_PRODUCE: Final = "kw call produce topic=orders key=k value=v sends records"
_LIST: Final = "kw call Metadata -b HOST:PORT lists brokers, topics and partitions"
_LOGIN: Final = "-X sasl.username=… -X sasl.password=…, -F FILE or a profile say who you are (kw help connect)"

# Options that others have for the release to come; hints with `{release}` name the one that was typed.
RELEASE_WORDS: Final = ("--to", "-t", "--kafka", "--version")

# Options of commands that read captures.
_READING: Final[Mapping[str, str]] = {
    "-T": _JSON,
    "-E": _JSON,
    "--prometheus": "--metrics PORT serves metrics to Prometheus",
    **dict.fromkeys(("--otel", "--opentelemetry", "--otlp-endpoint"), "--otlp http://localhost:4318 sends spans"),
    "-V": "-v shows bodies, -vv headers too",
    "-O": "-v shows bodies, -vv headers too",
    "-x": "-o hex shows the bytes",
    "-X": "-o hex shows the bytes",
    "-A": "-v shows bodies, --records the records in them, -o hex the bytes",
    "-a": f"{_LIMIT} rows; Ctrl-C ends a live capture: timeout 60 kw sniff -i eth0",
    "-b": "this command reads captures: kw call -b HOST:PORT asks a cluster, kw proxy -b HOST:PORT listens in;"
    " a ring of files, as dumpcap -b makes it: -w FILE --rotate-size 100MB --keep N",
    "-B": "kw chooses its buffers itself: leave -B out",
    "-C": f"this command reads captures: {_FETCH}; files of a size, as tcpdump -C makes: -w FILE --rotate-size 100MB",
    "-D": "-i any listens on all interfaces; `ip link` lists them",
    "-d": "--port 9092 says where Kafka is; without it kw looks at all ports",
    "-F": "kw finds out by itself what a file is, and writes pcapng: leave -F out",
    "-g": "files of traffic are for their owner only: chmod lets others read them",
    "-G": "--group NAME chooses a group; files of a time, as tcpdump -G makes them: -w FILE --rotate-interval 10m",
    "-J": "-o json writes JSON",
    "-K": "--records shows keys and values",
    "-k": "live capture is `kw sniff -i eth0`: leave -k out",
    "-L": f"this command reads captures: {_LIST}",
    "-N": "kw looks up no names: leave -N out",
    "--hex": "-o hex shows the bytes",
    "--summary": "kw stats FILE counts",
    "--api-key": "--api 3 or --api Metadata chooses an API",
    "-P": f"this command reads captures: {_PRODUCE}",
    "-p": "--port 9092 chooses the brokers' ports",
    "-Q": "-f 'client == 10.0.0.7' or 'broker == :9092' choose a direction",
    "-R": "-f EXPR (-Y EXPR) filters",
    "-S": "-o json shows all numbers",
    "-t": "--topic NAME chooses a topic; times are shown in full by -o json",
    "-u": "times are UTC",
    "-W": "--keep N keeps so many of the files of -w; those that tcpdump -C -W made are read together:"
    " kw sniff 'dump*', and --follow reads them while they are written",
    "-Z": "drop privileges with sudo -u; leave -Z out",
    "-z": "kw stats FILE counts; kw stats --by client,topic",
    "--bootstrap-server": "this command reads captures: kw call -b HOST:PORT asks a cluster, kw proxy -b listens in",
    "--broker": "-f 'broker == HOST:PORT' chooses one",
    "--capture-filter": "--bpf EXPR filters a live capture",
    "--count": f"{_LIMIT} rows; kw stats counts",
    "--decode-as": "--port 9092 says where Kafka is; without it kw looks at all ports",
    "--display-filter": "-f EXPR (-Y EXPR) filters",
    "--dst": "-f 'broker == 10.0.0.7' chooses one",
    "--duration": f"Ctrl-C ends a live capture: timeout 60 kw sniff -i eth0; of a file {_SPAN}",
    "--end": _SPAN,
    "--fields": "-o json shows all fields",
    "--format": _JSON,
    "--from": _SPAN,
    "--from-beginning": f"captures are read whole; {_FETCH}",
    "--grep": "-f 'topic ~ WORD' looks for a word; so do client_id, group, error and every field of a body",
    "--group-by": "kw stats --by client,topic groups",
    "--group-id": "--group NAME chooses a group",
    "--head": f"{_LIMIT} rows",
    "--host": "-f 'client == 10.0.0.7 or broker == 10.0.0.7' chooses an address",
    "--input": "give the file as a word of its own, or by -r FILE",
    "--ip": "-f 'client == 10.0.0.7 or broker == 10.0.0.7' chooses an address",
    "--json": "-o json writes JSON, -o ndjson one object a line",
    "--key": "--records shows keys; -f filters",
    "--last": "--since 5m shows the last five minutes",
    "--latency": "--slower-than 100ms chooses what took longer; kw stats counts latencies",
    "--max": f"{_LIMIT} rows",
    "--max-messages": f"{_LIMIT} rows",
    "--min-latency": "--slower-than 100ms chooses what took longer",
    "--timeout": "Ctrl-C ends a live capture: timeout 60 kw sniff -i eth0",
    **dict.fromkeys(("--topic-ids", "--names"), "topics get their names from the Metadata of the same capture"),
    "--slow": "--slower-than 100ms chooses what took longer",
    "--ndjson": "-o ndjson writes one object a line",
    "--no-color": "--color never leaves colours out",
    "--only-errors": "--errors shows what went wrong",
    "--failed": "--errors shows what went wrong",
    "--order-by": "--sort time or --sort latency",
    "--live": "kw sniff -i IFACE captures live",
    "--stats": "kw stats FILE counts",
    "--snaplen": "kw captures packets whole: leave it out",
    "--snapshot-length": "kw captures packets whole: leave it out",
    "--src": "-f 'client == 10.0.0.7' chooses one",
    "--start": _SPAN,
    "--ring-buffer": "-w FILE --rotate-size 100MB --keep N make a ring of files",
    "--ring": "-w FILE --rotate-size 100MB --keep N make a ring of files",
    "--rotate": "--rotate-size 100MB, --rotate-interval 10m begin another file of -w",
    "--files": "--keep N keeps so many of the files of -w",
    "--watch": "--follow reads FILE on while it grows",
    "--tail": "--follow reads FILE on while it grows, kw sniff -i eth0 an interface; --since 1m is its last minute",
    "--to": _SPAN,
    "--top": "--limit N, `| head`, or kw stats --slowest N",
    "--values": "--records shows keys and values",
    "--where": "-f EXPR filters",
}  # fmt: skip

# Options of `kw call`.
_CALLING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("-t", "--topic", "--topics"), "give it as a word: topic=orders"),
    **dict.fromkeys(("-p", "--partition"), "give it as a word: partition=0"),
    **dict.fromkeys(("-G", "--group", "--group-id"), "give it as a word: group=billing"),
    **dict.fromkeys(("--offset", "--offsets"), "give it as a word: offset=earliest, offset=latest-10, offset=1042"),
    "--from-beginning": "give it as a word: offset=earliest",
    **dict.fromkeys(("--key", "-k"), "give it as words: key=k value=v"),
    **dict.fromkeys(("--value", "--data", "--body", "-d"), "give it as words: value=v, path=value, or @FILE"),
    "--header": "give it as a word: header=trace:7",
    "-H": "give it as a word: header=trace:7",
    "-K": "give keys as words: key=k value=v",
    "-C": _FETCH,
    "-P": _PRODUCE,
    "-L": _LIST,
    "-Q": "kw call offsets topic=orders asks for offsets",
    **dict.fromkeys(("-f", "--filter", "--format"), "--values shows values, -K : keys too, --select PATH a part"),
    "--limit": "offset=-3 begins three records before the end, offset=5 at a record; max_bytes=… limits an answer",
    "-J": "-o json writes JSON",
    "-T": _JSON,
    "-D": "a record is one value= word, or a line of standard input",
    "-e": "one request, one answer: leave -e out",
    "-u": f"leave -u out, or: {_LOGIN}",
    "-c": "--repeat N sends it N times",
    "-n": "--repeat N sends it N times",
    "-i": "--interval TIME is the time between repetitions",
    "-s": "--select PATH shows a part of the answer",
    "-j": "-o json writes JSON",
    "-E": _LOGIN,
    "-z": "--compression CODEC compresses records",
    "--json": "-o json writes JSON, -o ndjson one object a line",
    "--list": "kw call Metadata lists topics, kw call ListGroups groups",
    "--describe": "kw call Metadata topic=orders; kw call DescribeGroups group=billing",
    "--create": "kw call CreateTopics topics[].name=orders topics[].num_partitions=3",
    "--delete": "kw call DeleteTopics topics[].name=orders",
    "--partitions": "give it as a word: topics[].num_partitions=3",
    "--replication-factor": "give it as a word: topics[].replication_factor=3",
    "--max-messages": "give it as a word: max_bytes=…, partition_max_bytes=…",
    "--version": "--api-version N chooses the version of the API",
    "--jq": "--select PATH shows a part of the answer",
    "--path": "--select PATH shows a part of the answer",
    "--print-headers": "-v shows what was sent",
    **dict.fromkeys(("-w", "--watch"), "--repeat 0 sends it until Ctrl-C"),
    "--no-verify": "-X enable.ssl.certificate.verification=false",
}  # fmt: skip

# Options of commands that connect.
_CONNECTING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--bootstrap-servers", "--broker-list", "--brokers", "--broker", "--host", "--url"), _TAKES),
    **dict.fromkeys(("--server", "--upstream", "--zookeeper"), _TAKES),
    **dict.fromkeys(("--config", "--consumer.config", "--producer.config", "--kafka-config"), "-F FILE reads one"),
    **dict.fromkeys(
        ("--consumer-property", "--producer-property", "--command-property"), "-X key=value sets a property"
    ),
    **dict.fromkeys(("--user", "--username", "--password", "--sasl", "--mechanism"), _LOGIN),
    **dict.fromkeys(("--tls", "--ssl", "--secure"), "-X security.protocol=SSL (or SASL_SSL)"),
    **dict.fromkeys(("--ca", "--cacert", "--cafile", "--ca-file"), "-X ssl.ca.location=FILE"),
    **dict.fromkeys(("--cert", "--client-cert"), "-X ssl.certificate.location=FILE"),
    "--insecure": "-X enable.ssl.certificate.verification=false",
    "--context": "--profile NAME chooses a cluster by its name",
    "--cluster": "--profile NAME chooses a cluster by its name",
}  # fmt: skip

_PROXYING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("-p", "--port", "--listen-port", "--local-port"), "--port-base N is where clients come to"),
    **dict.fromkeys(("--listen", "--listen-host", "--address"), "--bind ADDRESS listens there"),
    **dict.fromkeys(("-r", "--remote", "--target"), _TAKES),
    **dict.fromkeys(("--latency", "--delay", "--toxic"), "--fault 'delay 100ms' delays requests (kw help faults)"),
    **dict.fromkeys(
        ("--error", "--errors-rate", "--inject"), "--fault 'error 6, rate 5%, when api == Produce' (kw help faults)"
    ),
    **dict.fromkeys(
        ("--daemon", "--detach", "--background"), "it runs until Ctrl-C: put & behind it, or --run CMD runs a command"
    ),
    **dict.fromkeys(
        ("--fail-on-errors", "--fail-on-error", "--fail-on"),
        "kw proxy ctl wait FILTER waits for an exchange, kw doctor --fail-on judges a log",
    ),
    **dict.fromkeys(("-c", "--limit"), "the log runs until Ctrl-C; -f EXPR chooses what it shows"),
    "-L": _LIST,
}  # fmt: skip

_REFERENCE: Final[Mapping[str, str]] = {
    "--code": "give the code as a word: kw errors 6",
    "--name": "give the name as a word: kw errors NOT_LEADER, kw apis Fetch",
    "--version": "give the version as a word: kw apis Fetch 12",
    "--api-version": "give the version as a word: kw apis Fetch 12",
    "--api": "give the API as a word: kw apis Fetch",
    "--search": "--grep WORD looks for one",
    "--find": "--grep WORD looks for one",
    "--since": "--release 2.8 shows a release, --diff 2.8..4.0 what changed",
    **dict.fromkeys(("--response", "--request"), "kw apis Fetch 12 shows both sides"),
    **dict.fromkeys(("--layout", "--hex", "--bytes", "--wire"), "kw apis Fetch 12 shows the layout of the bytes"),
    "--kafka": "--release 2.8 shows a release",
    "--compare": "--diff 3.9..4.0 compares",
    "-r": "--release 2.8 shows a release",
    **dict.fromkeys(("-l", "--list", "--all", "-a"), "without a word it lists all"),
    "--key": "give the key as a word: kw apis 3",
    "--releases": "--diff 3.9..4.0 compares two releases, --release 2.8 shows one",
    "--json": "-o json writes JSON",
    "-J": "-o json writes JSON",
}  # fmt: skip

_BYTES: Final[Mapping[str, str]] = {
    "-r": "give the file as a word of its own: kw decode FILE",
    "-x": "-o hex shows the bytes; --from hex reads hex",
    "--hex": "-o hex shows the bytes; --from hex reads hex",
    "--base64": "--from base64 reads base64",
    "--raw": "--from raw reads plain bytes",
    "--json": "-o json writes JSON",
    "-J": "-o json writes JSON",
    "-t": "--api NAME says which API it is",
    "-V": "--version N says which version it is",
    "--list": "kw apis lists the APIs, kw decode --as list the structures",
    **dict.fromkeys(("-f", "-i", "--file", "--input", "--in"), "give the file as a word of its own: kw decode FILE"),
    **dict.fromkeys(("--type", "--side", "--kind"), "--request and --response say which side it is"),
    **dict.fromkeys(("--key", "--api-key"), "--api 3 or --api Metadata says which API it is"),
    **dict.fromkeys(("--format", "--encoding"), "--from says how the bytes are written, -o how they are shown"),
    "--against": "kw call --against compares two clusters; diff compares the outputs of two kw decode",
}  # fmt: skip

_ENCODING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--json", "--body", "--data", "-d"), "the body is a word ({…}), @FILE or standard input"),
    **dict.fromkeys(("--api", "--version", "--api-version"), "API and version are words: kw encode Metadata 12"),
    **dict.fromkeys(("--out", "--output-file", "-w"), "> FILE keeps what is printed; -o raw prints bytes"),
    "--format": "-o hex, base64 or raw; kw encode … -o raw | xxd -i writes an array for C",
    "-x": "-o hex is the default",
}  # fmt: skip

_COMPLETING: Final[Mapping[str, str]] = dict.fromkeys(
    ("--install", "--install-completion", "--show-completion"), "kw help completion says where the script goes"
)

_PROGRAM: Final[Mapping[str, str]] = {
    "-r": "kw sniff FILE reads a capture",
    "-i": "kw sniff -i IFACE captures live",
    "-Y": "kw sniff FILE -f EXPR filters",
    "-L": _LIST,
    "-C": _FETCH,
    "-P": _PRODUCE,
    "-b": "kw call API -b HOST:PORT asks a cluster, kw proxy -b HOST:PORT listens in",
    "--bootstrap-server": "kw call API -b HOST:PORT asks a cluster, kw proxy -b HOST:PORT listens in",
    "-v": "kw --version prints the version; -v of a command shows more",
    "-V": "kw --version prints the version",
    "-D": "kw sniff -i any listens on all interfaces",
    **_COMPLETING,
}  # fmt: skip

_TABLES: Final[Mapping[str, str]] = {
    "-r": "give the capture as a word of its own: kw pipeline run FILE --out DIR",
    "--guess-requests": "kw sniff and kw stats guess; kw pipeline reads captures in parts and cannot",
    "--output": "--out DIR is the folder of the tables",
    "-o": "--out DIR is the folder of the tables",
}  # fmt: skip

_AUDITING: Final[Mapping[str, str]] = {
    **dict.fromkeys(RELEASE_WORDS, "--target {release} is the release to come"),
    "--from": "--target {release} is the release to come; what the brokers are now is in the capture",
    **dict.fromkeys(("--only", "--breaks"), "--verdict breaks shows the clients that break"),
    **dict.fromkeys(("--cve", "--cves", "--vulnerabilities"), "--advisories finds who has a known defect"),
    **dict.fromkeys(("--allow", "--baseline", "--exclude"), "--ignore FILE is a list of what is accepted"),
    "--html": "kw report FILE --html page.html --target {release} has the audit on a page",
}  # fmt: skip

_COUNTING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--p50", "--p90", "--p95", "--p99", "--percentile", "--percentiles"), "every row has p50 to p99"),
    "--interval": "--bucket 10s counts by time",
}

_QUERYING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--schema", "--tables", "--columns", "--describe"), "kw sql FILE --views lists columns"),
    **dict.fromkeys(("-q", "--query", "--sql", "-c", "--command"), "the query is the last word: kw sql FILE QUERY"),
    **dict.fromkeys(("--parquet", "--out"), "kw pipeline run FILE --out DIR writes Parquet"),
}  # fmt: skip

_SCRUBBING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("-o", "-w", "--output", "--out", "--write"), "the result is the last word: kw scrub IN OUT"),
    **dict.fromkeys(("--in-place", "--inplace"), "kw scrub IN OUT writes another file and leaves IN as it is"),
}

_REPLAYING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--readonly", "--read-only", "--safe"), "without --changes nothing is changed"),
    **dict.fromkeys(("--write", "--writes", "--all"), "--changes data sends changes of data too"),
}  # fmt: skip

_MOCKING: Final[Mapping[str, str]] = {
    "--topics": "the topics are those of the recording; kw playground --topics orders:3 has others",
    "--run": "kw playground --run CMD starts a cluster for CMD alone",
}

_ANSWERING: Final[Mapping[str, str]] = {
    **dict.fromkeys(("--by", "--group-by"), "kw stats --by client,topic counts by anything"),
    "--top": "kw stats --by client --top N shows the first; `| head`",
    **dict.fromkeys(("--only", "--min-severity"), "-o ndjson has the severity of each"),
    **dict.fromkeys(("--explain", "--details", "--detail"), "-v shows more of each"),
    **dict.fromkeys(("--list", "--all", "-l", "-a"), "without an option it lists all"),
    **dict.fromkeys(
        ("--versions", "--apis"), "kw audit FILE --target 4.0 -v shows versions, -o ndjson all that is known"
    ),
    **dict.fromkeys(("--out", "--html-file", "--output-file"), "kw report FILE --html page.html writes a page; > FILE"),
    **dict.fromkeys(("--pdf", "--print"), "kw report FILE --html page.html, and print the page from a browser"),
    "--severity": "--fail-on chooses what ends with exit code 4; -o ndjson has the severity of each",
    "--release": "kw audit --target RELEASE",
    "-b": "this command reads captures: kw doctor -b HOST:PORT looks at a cluster, kw call -b HOST:PORT asks it",
    "--bootstrap-server": "this command reads captures: kw doctor -b HOST:PORT looks at a cluster",
}

_OF_GROUPS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("-b", "--bootstrap-server"),
        "this command reads captures: kw call DescribeGroups group=billing -b HOST:PORT asks",
    ),
    **dict.fromkeys(("--lag", "--offsets"), "each group is shown with its lag; -v shows each partition"),
}

# Command → tables of hints for its options; the first table that has an option wins.
OPTIONS: Final[Mapping[str, tuple[Mapping[str, str], ...]]] = {
    "": (_PROGRAM,),
    "sniff": (_READING,),
    "stats": (_COUNTING, _READING),
    **dict.fromkeys(("clients", "topics", "brokers", "doctor", "report"), (_ANSWERING, _READING)),
    "groups": (_OF_GROUPS, _ANSWERING, _READING),
    "audit": (_AUDITING, _ANSWERING, _READING),
    "sql": (_QUERYING, _ANSWERING, _READING),
    "scrub": (_SCRUBBING,),
    "replay": (_REPLAYING, _CONNECTING),
    "mock": (_MOCKING,),
    "completion": (_COMPLETING,),
    "pipeline run": (_TABLES, _READING),
    "call": (_CALLING, _CONNECTING),
    "proxy": (_PROXYING, _CONNECTING, _READING),
    "decode": (_BYTES,),
    "encode": (_ENCODING, _BYTES),
    "apis": (_REFERENCE,),
    "errors": (_REFERENCE,),
}

_NO_CLUSTER: Final = "this command asks no cluster: kw call API -b HOST:PORT does"
# Options that many commands have → what does the job of one that has not.
ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("-o", "--output", "-J"), "it has one form of output: > FILE keeps it"),
    **dict.fromkeys(("-f", "-Y", "--filter"), "kw sniff FILE -f EXPR filters exchanges"),
    **dict.fromkeys(("-n", "-c", "--limit"), "kw sniff FILE -n N stops after so many rows"),
    **dict.fromkeys(("--api", "--topic", "--group", "--client", "--client-id"), "kw sniff FILE chooses by it"),
    **dict.fromkeys(("--errors", "--slower-than", "--since", "--until"), "kw sniff FILE chooses by it"),
    **dict.fromkeys(("-e", "--field", "-E", "--field-option"), "kw sniff FILE -e topic,error chooses fields"),
    **dict.fromkeys(("-w", "--write"), "kw sniff FILE -w OUT.pcapng writes packets; > FILE keeps what is printed"),
    **dict.fromkeys(("-r", "--read"), "give the file as a word of its own"),
    **dict.fromkeys(("-i", "--interface", "--bpf"), "kw sniff -i IFACE captures live"),
    **dict.fromkeys(("-v", "--verbose"), "it shows all that it has"),
    **dict.fromkeys(("-q", "--quiet"), "2> /dev/null leaves messages out"),
    **dict.fromkeys(("-b", "--bootstrap-server", "--bootstrap-controller"), _NO_CLUSTER),
    **dict.fromkeys(("-X", "--property", "-F", "--command-config", "--profile", "--timeout"), _NO_CLUSTER),
    "--records": "kw sniff FILE --records shows the records in messages",
    "--follow": "kw sniff FILE --follow reads on while the file grows",
}  # fmt: skip

# Commands of other tools → what does the same in kw.
COMMANDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("get", "list", "ls", "topics", "metadata"), _LIST),
    **dict.fromkeys(("describe", "desc"), "kw call Metadata topic=orders, kw call DescribeGroups group=billing"),
    **dict.fromkeys(("groups", "group", "consumer-groups"), "kw call ListGroups --node all, or OffsetFetch"),
    "lag": "kw groups FILE shows the lag in a capture, kw call OffsetFetch group=billing asks a cluster",
    **dict.fromkeys(("brokers", "nodes", "cluster"), "kw call DescribeCluster -b HOST:PORT"),
    **dict.fromkeys(("consume", "consumer", "cat", "poll", "console-consumer"), _FETCH),
    **dict.fromkeys(("producer", "send", "publish", "push", "console-producer"), _PRODUCE),
    **dict.fromkeys(("create", "create-topic", "apply"), "kw call CreateTopics topics[].name=orders"),
    **dict.fromkeys(("delete", "rm"), "kw call DeleteTopics topics[].name=orders"),
    **dict.fromkeys(("config", "configs"), "kw call DescribeConfigs, kw profile show"),
    **dict.fromkeys(("read", "open", "dump", "show", "view", "parse", "analyze", "pcap"), "kw sniff FILE"),
    **dict.fromkeys(("capture", "listen", "live", "tcpdump", "tshark"), "kw sniff -i IFACE"),
    **dict.fromkeys(("tail", "watch", "follow"), "kw sniff FILE --follow, or kw sniff -i IFACE"),
    **dict.fromkeys(("flow", "flows", "ladder", "stream"), "kw sniff FILE -f 'connection == 1' shows one connection"),
    **dict.fromkeys(("diff", "compare"), "kw stats FILE -o csv of each, or kw apis --diff 3.9..4.0 of releases"),
    **dict.fromkeys(("record", "write"), "kw sniff -i IFACE -w FILE.pcapng"),
    **dict.fromkeys(("anonymize", "anonymise", "sanitize", "redact", "clean", "tcprewrite"), "kw scrub IN OUT"),
    **dict.fromkeys(("ping",), "kw call ApiVersions -b HOST:PORT --repeat 10"),
    **dict.fromkeys(("post", "put", "patch", "request", "send-request", "invoke", "rpc"), "kw call API path=value"),
    **dict.fromkeys(("summary", "summarize", "count", "statistics", "latency", "top"), "kw stats FILE"),
    **dict.fromkeys(("explain",), "kw decode --explain BYTES, kw errors CODE"),
    **dict.fromkeys(("convert", "parquet"), "kw pipeline run FILE --out DIR"),
    **dict.fromkeys(("query", "select", "duckdb"), "kw sql FILE QUERY"),
    **dict.fromkeys(("html", "page", "dashboard"), "kw report FILE --html page.html"),
    **dict.fromkeys(("mitm", "intercept", "gateway"), "kw proxy -b HOST:PORT"),
    **dict.fromkeys(("start", "up", "run", "serve", "broker", "server", "kafka"), "kw playground"),
    **dict.fromkeys(("versions", "releases", "protocol", "spec"), "kw apis"),
    **dict.fromkeys(("context", "contexts", "use", "login"), "kw profile"),
    **dict.fromkeys(("connect", "test", "check", "status"), "kw call ApiVersions -b HOST:PORT says who answers"),
    **dict.fromkeys(("merge", "join", "mergecap"), "kw sniff A B -w OUT.pcapng merges by time"),
    **dict.fromkeys(("man", "manpage"), "kw help, or kw help --man > kw.1; man ./kw.1"),
    **dict.fromkeys(("manual", "docs"), "kw help"),
}  # fmt: skip

# Command with commands of its own → words of other tools for those.
GROUP_COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "proxy ctl": {
        **dict.fromkeys(("status", "info", "state", "ps"), "connections, listeners, faults and held show it"),
        **dict.fromkeys(
            ("clear", "reset", "remove", "delete"), "unfault all ends all faults, unhold all all rules that hold"
        ),
        **dict.fromkeys(("shutdown", "quit", "exit", "kill"), "stop ends the proxy"),
        **dict.fromkeys(("log", "tail", "list"), "exchanges -n 20 shows the last exchanges"),
    },
}  # fmt: skip

# Parameter and one of its values in other tools → a hint at the value in kw.
VALUES: Final[Mapping[tuple[str, str], str]] = {
    **{("output", word): "there is no -o yaml here: -o json" for word in ("yaml", "yml")},
    **{("output", word): "-o ndjson is one object a line" for word in ("jsonl", "jsonlines", "json-lines")},
    **{("output", word): "-o hex shows the bytes" for word in ("raw", "bytes", "x", "xxd", "hexdump")},
    **{("output", word): "--otlp http://localhost:4318 sends spans and metrics" for word in ("otlp", "otel")},
    **{("output", word): "kw pipeline run FILE --out DIR writes Parquet" for word in ("parquet", "arrow")},
    **{("output", word): "kw report FILE --html page.html, or -o md" for word in ("html", "page")},
    **{("output", word): "kw report FILE -o md, or -o table" for word in ("md", "markdown")},
    **{("output", word): "-o raw | xxd -i writes an array for C" for word in ("go", "c", "rust", "python")},
    ("output", "-"): "kw writes to standard output unless told otherwise: leave -o - out",
    ("shell", "install"): "kw help completion says where the script goes",
    **{("output", word): "-o text is the default" for word in ("txt", "plain", "wide", "pretty", "human")},
    **{("output", word): "give it as a word: offset=earliest" for word in ("beginning", "earliest", "s@", "stored")},
    **{("output", word): "give it as a word: offset=latest" for word in ("end", "latest")},
    **{("color", word): "--color always" for word in ("yes", "on", "true", "force")},
    **{("color", word): "--color never" for word in ("no", "off", "false", "none")},
    **{("sort", word): "p50, p90, p99 and max are latencies" for word in ("latency", "took", "slow", "slowest", "avg")},
    **{("sort", word): "--sort latency: slowest first" for word in ("took", "slow", "slowest")},
    **{("acks", word): "--acks all" for word in ("-1",)},
}
# Options whose value is missing → an example.
MISSING: Final[Mapping[str, str]] = {
    "--diff": "--diff 3.9..4.0",
    "--topic": "--topic orders",
    "--fault": "--fault 'delay 200ms, when api == Fetch' (kw help faults)",
}

# Command and parameter that is missing → an example.
MISSING_WORDS: Final[Mapping[tuple[str, str], str]] = {
    ("pipeline run", "out"): "kw pipeline run capture.pcapng --out tables",
    ("mock", "files"): "kw mock capture.pcapng --port 9092",
    ("scrub", "target"): "kw scrub IN.pcapng OUT.pcapng",
    ("scrub", "out"): "kw scrub IN.pcapng OUT.pcapng",
    ("encode", "version"): "kw encode Heartbeat 4, or latest",
}

# Words of other tools → the API that does the same.
APIS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("topics", "topic", "list", "ls", "get", "brokers", "listtopics", "describetopic"), "Metadata"),
    **dict.fromkeys(("describetopics", "cluster", "partitions", "describe"), "Metadata"),
    **dict.fromkeys(("groups", "group", "consumergroups", "listconsumergroups"), "ListGroups"),
    **dict.fromkeys(("describegroup", "describeconsumergroup", "describeconsumergroups"), "DescribeGroups"),
    **dict.fromkeys(("consume", "consumer", "read", "poll", "consumerecords"), "Fetch"),
    **dict.fromkeys(("producer", "send", "publish", "write"), "Produce"),
    **dict.fromkeys(("createtopic", "create"), "CreateTopics"),
    **dict.fromkeys(("deletetopic", "delete"), "DeleteTopics"),
    **dict.fromkeys(("configs", "config", "describeconfig", "describetopicconfigs"), "DescribeConfigs"),
    **dict.fromkeys(("alterconfig", "setconfig"), "IncrementalAlterConfigs"),
    **dict.fromkeys(("lag", "committed", "commits", "listconsumergroupoffsets", "groupoffsets"), "OffsetFetch"),
    **dict.fromkeys(("getoffsets", "endoffsets", "beginningoffsets", "watermarks"), "ListOffsets"),
    **dict.fromkeys(("acls", "acl", "listacls"), "DescribeAcls"),
    **dict.fromkeys(("versions", "version", "ping", "apis"), "ApiVersions"),
    **dict.fromkeys(("coordinator", "groupmetadata", "consumermetadata"), "FindCoordinator"),
    **dict.fromkeys(("quotas",), "DescribeClientQuotas"),
    **dict.fromkeys(("users", "scram"), "DescribeUserScramCredentials"),
    **dict.fromkeys(("transactions", "txns"), "ListTransactions"),
    **dict.fromkeys(("quorum", "controller"), "DescribeQuorum"),
    **dict.fromkeys(("logdirs", "disk"), "DescribeLogDirs"),
}  # fmt: skip
_ALL_WORDS: Final = frozenset({"all", "releases", "versions", "help"})
_TYPES: Final = frozenset(
    {"varint", "varlong", "uvarint", "unsignedvarint", "uuid", "string", "compactstring", "bytes", "array", "tags"}
)
# Words for what Produce and Fetch carry.
_RECORDS: Final = frozenset({"recordbatch", "recordbatches", "record", "records", "messageset", "message", "batch"})
_API_KEY: Final = re.compile(r"(?:api_?)?key[=:](\d+)", re.IGNORECASE)
# Methods that httpie and curl take.
METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})

# Wireshark's names of fields → the names in kw's filters.
FIELDS: Final[Mapping[str, str]] = {
    "kafka.api_key": "api",
    "kafka.api_version": "api_version",
    "kafka.client_id": "client_id",
    "kafka.correlation_id": "correlation_id",
    "kafka.error": "error",
    "kafka.group_id": "group",
    "kafka.consumer_group": "group",
    "kafka.consumer.group": "group",
    "kafka.len": "request_size",
    "kafka.request_key": "api",
    "kafka.request.key": "api",
    "kafka.request.version": "api_version",
    "kafka.response.key": "api",
    "kafka.response.version": "api_version",
    "kafka.topic_name": "topic",
    "kafka.topic": "topic",
    "kafka.transactional_id": "txn",
    "tcp.port": "broker == :9092, or --port 9092",
    "tcp.dstport": "broker == :9092, or --port 9092",
    "tcp.srcport": "client == :54321",
    "tcp.stream": "connection",
    "tcp.len": "size",
    "frame.time": "time",
    "frame.time_epoch": "time",
    "frame.time_relative": "time",
    "frame.len": "size",
    "frame.number": "time, or connection",
    "ip.addr": "client, or broker",
    "ip.src": "client",
    "ip.dst": "broker",
    "ip.host": "client, or broker",
    "host": "client, or broker",
    "src": "client",
    "dst": "broker",
    "port": "broker == :9092, or --port 9092",
}  # fmt: skip
# First words of tcpdump filters (pcap-filter(7)).
_BPF_WORDS: Final = frozenset(
    {"arp", "dst", "ether", "host", "icmp", "ip", "ip6", "net", "port", "portrange", "src", "tcp", "udp", "vlan"}
)


_ADDRESS: Final = re.compile(
    r"(?:[A-Za-z_]+://)?((?:\[[0-9a-fA-F:]+\]|[A-Za-z0-9](?:[\w-]*\.)*[\w-]*):\d{1,5}(?:,[^/=]*)?)(?:/.*)?", re.ASCII
)


def is_tcpdump_filter(text: str) -> bool:
    """Whether a text begins like a tcpdump filter."""
    return text.replace("(", " ").split(maxsplit=1)[:1] != [] and text.replace("(", " ").split()[0] in _BPF_WORDS


def find_address(text: str) -> str | None:
    """The HOST:PORT, or list of them, in a text that may be a URL; None where the text is no address."""
    match = _ADDRESS.fullmatch(text)
    return match[1] if match else None


def hint_for_api_word(word: str) -> str:
    """A hint, for the end of a message, at what a word that is no API may mean; empty where there is none."""
    if (address := find_address(word)) is not None:
        return f": the API comes first: kw call Metadata -b {address}"
    if word in METHODS:
        return ": the API is the command: kw call Metadata topic=orders -b HOST:PORT"
    if (number := _API_KEY.fullmatch(word)) is not None:
        return f": write the number alone: {number[1]}"
    folded = word.replace("-", "").replace("_", "").lower()
    if folded in _ALL_WORDS:
        return ": kw apis alone lists all APIs, kw apis 3.9 those of a release"
    if folded in _TYPES:
        return ": types are shown in the layout: kw apis Metadata 12"
    if folded in _RECORDS:
        return ": records are in Produce and Fetch: kw sniff FILE --records shows them, kw help produce-fetch"
    name = APIS.get(folded)
    return f' (did you mean "{name}"?)' if name else ""
