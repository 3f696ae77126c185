"""Every cap in one place, each with the reason for its size; all in bytes or plain counts."""

from __future__ import annotations

from typing import Final

MIB: Final = 1 << 20

# A broker's default for requests is 100 MiB (socket.request.max.bytes); fetch responses may be a bit larger.
FRAME_MAX: Final = 128 * MIB
# All bytes held for reassembly and for exchanges in flight, over all connections together.
HELD_MAX: Final = 64 * MIB
# Kafka's own default for the largest batch is 1 MiB; 64 MiB leaves room for every real one and none for a bomb.
BATCH_INFLATED_MAX: Final = 64 * MIB
EXCHANGE_INFLATED_MAX: Final = 256 * MIB
# Values (fields and array elements) in one message: a full cluster's Metadata has about 10**6.
VALUES_MAX: Final = 10**7
# Blocks (frames, members, chunks) of one compressed batch: 64 MiB in the usual 32 KiB blocks of snappy are 2048.
BLOCKS_MAX: Final = 10**5
# A decompressor of zstd keeps the memory of its largest window for the next batch: levels up to 19 take 8 MiB, hostile
# frames 128.
WINDOW_KEPT_MAX: Final = 8 * MIB
# What one exchange may show: each record takes about 0.5 KiB as a value, each batch 1.5 KiB, each header 0.2 KiB.
RECORDS_MAX: Final = 10**6
RECORD_HEADERS_MAX: Final = 2 * 10**6
BATCHES_MAX: Final = 2 * 10**5
# Headers of one record, which is held whole: each takes about 0.4 KiB in its JSON form. Real records have a few.
HEADERS_OF_RECORD_MAX: Final = 10**5
# The key of a header is text and held whole; real ones are names.
HEADER_KEY_MAX: Final = MIB
# JSON of the records of one exchange, where they are written as they are read: about that of 256 MiB of records.
RECORDS_SHOWN_MAX: Final = 512 * MIB
# A line of NDJSON is held whole, and several times as values: the record of the largest frame, without its records.
RECORD_LINE_MAX: Final = 256 * MIB
# Arrays and objects inside each other in a line: orjson reads 1,024 and writes 254, some of them around the record.
LINE_NESTING_MAX: Final = 200
# Levels of arrays and objects in parts of a record that no declaration and no schema describes: kw's own have five. The
# code that shows them goes down level by level.
UNNAMED_NESTING_MAX: Final = 64
# Bytes that the records of one exchange may take as values before they are written as they are read: one batch takes
# 1.5 KiB; a byte of records up to 75, which is a header without key and value in its JSON form.
RECORDS_HELD_MAX: Final = 20 * MIB
BATCH_COST: Final = 1536
RECORD_BYTE_COST: Final = 75
# Larger bodies are read again as they are written: a byte takes up to 100 as values, with one struct in two bytes.
BODY_WHOLE_MAX: Final = MIB
# Elements of a large body, and pieces of a long text, are made this many bytes at a time.
PIECE: Final = 64 * 1024
# Longer bytes and strings of a large body are written piece by piece.
VALUE_WHOLE_MAX: Final = 256 * 1024
# A structure inside bytes is held three times to be shown; the assignment of 10**5 partitions has 0.4 MB.
EMBEDDED_MAX: Final = MIB
# Metrics that a client pushes, inflated, and messages in them. Brokers take 1 MiB compressed; a consumer of 1,000
# partitions has some 6,000 metrics in 1.2 MB, each of twelve messages of 0.3 KiB.
METRICS_SIZE_MAX: Final = 2 * MIB
METRICS_MESSAGES_MAX: Final = 15 * 10**4
# Secrets of one exchange that are searched for in its error messages, and bytes of all their spellings; with more the
# messages are hidden whole. A login has one secret, a request that sets all configs of a broker some hundred.
SECRETS_MAX: Final = 2000
SECRETS_SIZE_MAX: Final = 8 * MIB
# Partitions of a fetch session that are followed and listed with each of its fetches, 8 bytes each there: consumers
# have some hundred, and followers of large brokers some thousand; and partitions of all sessions, 0.1 KiB each.
SESSION_PARTITIONS_MAX: Final = 1000
SESSION_PARTITIONS_ALL_MAX: Final = 10**6
# Members of groups, transactional ids and addresses of nodes that are remembered, 0.5 KiB each.
HISTORY_MAX: Final = 10**5
# Error codes of one exchange that are listed: each takes about 0.4 KiB.
ERRORS_SHOWN_MAX: Final = 10**5
# Words for numbers of one exchange, with --names: each takes about 0.3 KiB with its path.
NAMES_SHOWN_MAX: Final = 10**5
# Elements of arrays that a view of a large message keeps, 0.3 KiB each: a line, a filter and a fold look at these.
VIEW_ELEMENTS_MAX: Final = 10**5
# Remarks on one side of an exchange that are listed, 0.4 KiB each; the last one says how many more there are.
REMARKS_MAX: Final = 100
# Tagged fields in one struct: Kafka's own messages have five.
TAGS_MAX: Final = 10**5
# Fields that a hex view names: each takes about 1.5 KiB on its way to a row.
PARTS_MAX: Final = 5 * 10**4
# JSON of one body in a table: as text and as a column it is held several times.
BODY_TEXT_MAX: Final = 16 * MIB
# Memory of a query; data that it sorts or groups beyond that goes to a temporary folder.
SQL_MEMORY_MAX: Final = 1024 * MIB
# What a query may write to that folder, and never more than half of the free disk: ten times its memory sorts tables of
# a hundred million rows; more than that is a join without a condition, which would fill any disk.
SQL_SPILL_MAX: Final = 10 * SQL_MEMORY_MAX
# Partitions of a topic of a playground, where one broker has a folder and open files for each.
PLAYGROUND_PARTITIONS_MAX: Final = 4000
# Series of one metric, which differ in their labels: no collector of metrics wants more.
SERIES_MAX: Final = 10**4
# Spans that wait to be sent, about 3 KiB each.
SPANS_HELD_MAX: Final = 10**4
# An answer over HTTP (of a collector, a token endpoint, the control interface) with its headers, and the headers alone:
# real ones have some KiB. And the time for all of it, from the connection to the last byte: as OpenTelemetry has it.
HTTP_ANSWER_MAX: Final = MIB
HTTP_HEAD_MAX: Final = 64 * 1024
HTTP_ANSWER_S: Final = 10.0
# A body on an HTTP connection of a capture that is looked through for schemas, also inflated; and how many such
# connections are read at a time.
HTTP_CAPTURED_MAX: Final = 4 * MIB
HTTP_CONNECTIONS_MAX: Final = 1000
# The control interface of a proxy gives the exchanges that it has kept: 16 MiB of them.
CONTROL_ANSWER_MAX: Final = 32 * MIB
# Values of one cell of a row (`-e value`), with what each takes as text: a cell is joined, then encoded.
CELL_MAX: Final = 32 * MIB
# Wrappers inside wrappers: Kafka itself writes one level.
RECORD_NESTING_MAX: Final = 4
# A wrapper inside a wrapper, and what comes out of it: each level is held while the ones inside are read.
NESTED_MAX: Final = 8 * MIB
CONNECTIONS_MAX: Final = 10**6
IN_FLIGHT_MAX: Final = 10**4
# A host that an answer names: a name in DNS has at most 253 characters (RFC 1035), an IPv6 address with its zone fewer.
HOST_MAX: Final = 253
# Characters of a user's name, a realm or a service: the longest real ones are distinguished names of certificates.
USER_MAX: Final = 1024
# Bytes of a login's token that are looked at for its claims: those of large identity providers have some KiB.
SASL_TOKEN_READ_MAX: Final = 64 * 1024
# Raw bytes of an undecoded side that are kept in the exchange record.
RAW_KEPT_MAX: Final = 64 * 1024
# The most first bytes of a connection that tell what other protocol it is: a ClientHello has the server's name there.
FIRST_BYTES_MAX: Final = 512
# Bytes kept of a connection while it is undecided whether it is Kafka.
UNDECIDED_MAX: Final = 256 * 1024
# All connections that ended undecided and wait for their server to prove a broker; what each costs besides its bytes.
DOUBTFUL_MAX: Final = 4 * MIB
DOUBTFUL_COST: Final = 2048
# Bytes of segments kept for one direction of a connection while a hole may still be filled.
OUT_OF_ORDER_MAX: Final = 4 * MIB
# Largest captured packet believed: BIG TCP on Linux makes packets of up to 512 KiB, tcpdump cuts at 256 KiB.
PACKET_MAX: Final = 4 * MIB
# IP packets waiting for their other fragments; each holds at most 64 KiB.
FRAGMENTED_MAX: Final = 64
# IP packets within each other: VXLAN within GRE within a mirror's ERSPAN has four.
TUNNELS_MAX: Final = 8
# A pcapng block is held whole: the largest real ones are name tables and TLS key logs, far below this.
BLOCK_MAX: Final = 16 * MIB
# Interfaces of one pcapng section.
INTERFACES_MAX: Final = 4096
# What one held segment costs besides its bytes: a tuple, numbers, a bytes object.
SEGMENT_COST: Final = 256
# Connections that ended, still remembered so that their last packets do not look like new ones.
CLOSED_MAX: Final = 65_536
# A connection silent for so long (ns of capture time) is over: brokers and clients close theirs after 10 minutes, and
# an operating system probes a silent connection (keep-alive) after 2 hours.
IDLE_NS: Final = 3 * 3600 * 10**9
# Answers that the proxy has rewritten, kept because the same bytes come again: the Metadata of a cluster of 1,000
# topics has 0.5 MiB, and all clients of a cluster ask for much the same.
REWRITTEN_MAX: Final = 8 * MIB
# Groups of a statistic, clients, topics, consumer groups that are counted apart: the heaviest, all others are added up
# (analysis/heavy_keys.py). A row costs 8 KiB and 60 µs on its way to the screen, and nobody reads more.
KEYS_SHOWN_MAX: Final = 10**4
# Groups of a statistic over time, 2.5 KiB each with their rows: a day in steps of 10 s for each API of a cluster.
TIMED_GROUPS_MAX: Final = 10**5
# Keys of a tally, 0.4 KiB each: addresses × APIs of a large cluster.
GROUPS_MAX: Final = 2 * 10**5
# Names of one facet of a portrait (`kw clients`, `kw topics`), 100 bytes each. Names beyond that are not kept: the
# portrait then says that there are more, not how many.
NAMES_OF_PORTRAIT_MAX: Final = 10**4
# Names of all portraits of one kind together, 0.3 KiB each: a large cluster's clients have some ten each.
NAMES_OF_PORTRAITS_MAX: Final = 2 * 10**5
# Clients that a summary counts apart, 0.2 KiB each; with more it says that there are more.
CLIENTS_COUNTED_MAX: Final = 2 * 10**5
# `kw doctor`: observations of 1.5 KiB each (clients × what they do × topics or partitions), names in a facet of an
# observation, exchanges that show it.
OBSERVATIONS_MAX: Final = 10**5
NAMES_OBSERVED_MAX: Final = 100
# Partitions of clients that are found by one look-up, 0.2 KiB each.
PARTITIONS_REMEMBERED_MAX: Final = 2**14
EVIDENCE_MAX: Final = 3
# Batches of producers that `kw doctor` knows again, 600 bytes each.
BATCHES_REMEMBERED_MAX: Final = 2**13
# Minutes in which a member of a group was heard: two days of a member that is never silent.
MINUTES_MARKED_MAX: Final = 2880
# Containers inside containers (`x.pcap.zst.gz`): nobody compresses a capture more often.
COMPRESSED_NESTING_MAX: Final = 4
# A block of an lz4 frame is held whole; the format has no larger ones.
LZ4_BLOCK_MAX: Final = 4 * MIB
# Captures open at a time, of those that can be opened again: a process may have 1,024 files open by default, or 256.
OPEN_FILES_MAX: Final = 128
# Bytes held of all captures that overlap in time; each of them holds at most 64 KiB.
MERGED_MAX: Final = 16 * MIB
# Bytes held of all files of a store that are read side by side, each by ranges of at most 8 MiB.
REMOTE_HELD_MAX: Final = 256 * MIB
# Sessions of which a key log has secrets, 0.7 KiB each: a busy broker's clients connect some thousand times an hour.
# With more of them the newest are kept: a capture that somebody looks into is rarely older than its key log.
TLS_SECRETS_MAX: Final = 10**6
# Secrets of one session: four, and two for each key update; later ones follow from these.
TLS_SECRETS_OF_SESSION_MAX: Final = 64
# Sessions of TLS 1.2 that may be resumed later, 0.4 KiB each: servers remember them for hours.
TLS_SESSIONS_MAX: Final = 65_536
# A block of secrets in a pcapng that is searched for such blocks: lines of a key log for 80,000 connections.
SECRETS_BLOCK_MAX: Final = 16 * MIB
# A line of a key log: label, client random and secret have 200 characters.
KEY_LOG_LINE_MAX: Final = 4096
# The end of a larger key log is read: a million sessions of TLS 1.3 are a GiB. Bytes after which something without a
# single line of a key log is none. A key log that is no file is read as long as it says something, in seconds, and in
# all: a program that copies a key log is done by then.
KEY_LOG_READ_MAX: Final = 2048 * MIB
KEY_LOG_JUNK_MAX: Final = 16 * MIB
KEY_LOG_SILENCE_S: Final = 10.0
KEY_LOG_PIPE_S: Final = 60.0
# A handshake message is held whole: the largest are chains of certificates, some ten KiB (OpenSSL takes 100 KiB).
TLS_HANDSHAKE_MAX: Final = 256 * 1024
# TLS records after a hole: the record's number is not on the wire, so TLS_SEARCH_MAX numbers are tried for a record (16
# MiB of full records), and TLS_TRIES_MAX in all before a direction that none of them opens is given up. Keys may have
# been updated in the hole (brokers with `jdk.tls.keyLimits`): TLS_UPDATES_MAX times at most, and for all but the first
# of these updates only TLS_UPDATED_SEARCH_MAX numbers are tried.
TLS_SEARCH_MAX: Final = 1024
TLS_TRIES_MAX: Final = 16_384
TLS_UPDATES_MAX: Final = 16
TLS_UPDATED_SEARCH_MAX: Final = 64
# Ciphertext that waits for its key, of one connection and of all, in bytes; and for how long, in ns of capture time: a
# client writes its key log while the handshake goes on, and the file is looked at many times a second.
TLS_WAIT_MAX: Final = MIB
TLS_WAIT_ALL_MAX: Final = 16 * MIB
TLS_WAIT_NS: Final = 5 * 10**9
# What stands before Kafka on a connection, of one direction and of all connections, in bytes: a PROXY head has 64 KiB.
PREFIX_MAX: Final = 128 * 1024
PREFIX_ALL_MAX: Final = 16 * MIB
# A PROXY head that the live proxy takes: balancers send some hundred bytes, with a certificate some thousand.
LIVE_PROXY_HEAD_MAX: Final = 16 * 1024
# Alerts of one connection that are reported.
TLS_ALERTS_MAX: Final = 4
# Events that `kw groups` keeps of one group and of all, 0.6 KiB each: the latest of a group that rebalances all day.
GROUP_EVENTS_MAX: Final = 1000
GROUP_EVENTS_ALL_MAX: Final = 10**5
# Events that `kw transactions` keeps of one transactional id and of all, 0.4 KiB each; of Produce as many again.
TRANSACTION_EVENTS_MAX: Final = 1000
TRANSACTION_EVENTS_ALL_MAX: Final = 10**5
# Batches of a partition, behind its last stable offset, whose producers are remembered.
UNSTABLE_BATCHES_MAX: Final = 1000
# What members of share groups did with records, 0.4 KiB each: the latest of a partition, and of all; ranges in a row.
SHARE_EVENTS_MAX: Final = 2000
SHARE_EVENTS_ALL_MAX: Final = 10**5
SHARE_RANGES_SHOWN_MAX: Final = 1000
# Members of one group that are remembered, 0.4 KiB each; those of a restless group have new ids each time.
GROUP_MEMBERS_MAX: Final = 5000
# Assigned partitions and subscribed topics that are shown of one member.
ASSIGNED_SHOWN_MAX: Final = 2000
# Partitions whose ends, positions and commits are kept, 1 KiB each: those of a large cluster that are read.
PARTITIONS_KEPT_MAX: Final = 10**5
# Times at which the end of a partition is kept, as evenly as may be: they tell how long ago an offset was the last one.
MOMENTS_MAX: Final = 16
# Ranges of offsets that one client has read of a partition: they tell what it reads again.
RANGES_MAX: Final = 64
# Rows of `kw trace` (a batch written or read, a commit), 30 to 60 bytes each: those of a million exchanges and more.
ROWS_INDEXED_MAX: Final = 2**21
# Records that one question of `kw trace` is answered for, and the characters that are shown of a key or header.
RECORDS_TRACED_MAX: Final = 10_000
TRACED_TEXT_MAX: Final = 200
# Written records with headers that `kw trace --downstream` keeps, 1 to 2 KB each, and of each topic whoever wrote them;
# how many steps it follows on.
RECORDS_WITH_HEADERS_MAX: Final = 50_000
HEADERS_SAMPLED: Final = 200
DOWNSTREAM_STEPS_MAX: Final = 8
# Batches that `kw trace` has found nothing in and knows again, 0.1 KiB each.
BATCHES_KNOWN_AGAIN_MAX: Final = 2**16
# Runs of values of one topic and schema that `kw trace --misrouted --values` keeps, until their subject is told.
VALUE_RUNS_MAX: Final = 1000
# Connections of which a report can draw a ladder, and of each the first exchanges and the first that failed: 0.4 KiB an
# exchange, 32 MiB in all.
LADDERS_MAX: Final = 2048
LADDER_FIRST_MAX: Final = 30
LADDER_FAILED_MAX: Final = 20
# A mock: records, topics and offsets in memory; partitions; groups, members of one and transactional ids; fetch
# sessions of a node; requests of one connection and of all that wait for their turn.
MOCK_HELD_MAX: Final = 512 * MIB
MOCK_PARTITIONS_MAX: Final = 10**5
MOCK_GROUPS_MAX: Final = 10**4
MOCK_MEMBERS_MAX: Final = 10**4
MOCK_SESSIONS_MAX: Final = 1000
MOCK_QUEUED_MAX: Final = MIB
MOCK_BUFFERED_MAX: Final = 256 * MIB
# Schemas that are kept, the characters of one and of all: a large registry has some thousand of a few KiB.
SCHEMAS_MAX: Final = 2 * 10**4
SCHEMA_SIZE_MAX: Final = MIB
SCHEMAS_SIZE_MAX: Final = 64 * MIB
# Types (or messages and fields) of one schema, and types inside types; the largest real ones have some thousand fields
# and ten levels.
SCHEMA_TYPES_MAX: Final = 2 * 10**4
SCHEMA_NESTING_MAX: Final = 32
# A decoded key or value: its parts, of which each takes 0.1 KiB or more, and levels of arrays and objects in it, to
# which the record of the exchange adds a dozen (UNNAMED_NESTING_MAX).
VALUE_PARTS_MAX: Final = 10**6
VALUE_NESTING_MAX: Final = 48
# Parts of one key or value that are named in a view of its bytes.
VALUE_SPANS_MAX: Final = 1000
# A decimal of more bytes, some 300 digits, is shown as bytes: its digits cost the square of its size.
DECIMAL_SIZE_MAX: Final = 128
# What a compressed key or value may give, and values inside values (compressed, enveloped, prefixed).
VALUE_INFLATED_MAX: Final = 16 * MIB
VALUE_LAYERS_MAX: Final = 2
