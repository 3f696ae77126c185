// A franz-go client that plays the steps of a session file and writes one JSON line a step.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type arguments struct {
	Topics  json.RawMessage   `json:"topics"`
	Topic   string            `json:"topic"`
	Group   string            `json:"group"`
	ID      string            `json:"id"`
	Ends    []string          `json:"ends"`
	Count   int               `json:"count"`
	First   int               `json:"first"`
	Size    int               `json:"size"`
	Polls   int               `json:"polls"`
	Batches int               `json:"batches"`
	Tell    bool              `json:"tell"`
	Keep    *bool             `json:"keep"`
	Seconds float64           `json:"seconds"`
	Headers map[string]string `json:"headers"`
	Config  map[string]string `json:"config"`
}

type session struct {
	Bootstrap  string              `json:"bootstrap"`
	Properties map[string]string   `json:"properties"`
	Steps      [][]json.RawMessage `json:"steps"`
}

type record struct {
	Topic     string      `json:"topic"`
	Partition int32       `json:"partition"`
	Offset    int64       `json:"offset"`
	Timestamp int64       `json:"timestamp"`
	Key       *string     `json:"key"`
	Value     *string     `json:"value"`
	Headers   [][]*string `json:"headers"`
}

var acks = map[string]kgo.Acks{"0": kgo.NoAck(), "1": kgo.LeaderAck(), "all": kgo.AllISRAcks()}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// Of a member of a group.
var timeouts = map[string]func(time.Duration) kgo.GroupOpt{
	"session.timeout.ms": kgo.SessionTimeout, "heartbeat.interval.ms": kgo.HeartbeatInterval,
}

func duration(milliseconds string) time.Duration {
	made, err := time.ParseDuration(milliseconds + "ms")
	check(err)
	return made
}

func options(s session, a arguments) []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(strings.Split(s.Bootstrap, ",")...), kgo.ClientID("franz")}
	merged := map[string]string{}
	for _, from := range []map[string]string{s.Properties, a.Config} {
		for key, value := range from {
			merged[key] = value
		}
	}
	if id, ok := merged["client.id"]; ok {
		opts = append(opts, kgo.ClientID(id))
	}
	if level, ok := merged["acks"]; ok {
		opts = append(opts, kgo.RequiredAcks(acks[level]))
		if level != "all" {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
	}
	if codec, ok := merged["compression.type"]; ok {
		opts = append(opts, kgo.ProducerBatchCompression(codecs[codec]))
	}
	if timeout, ok := merged["request.timeout.ms"]; ok {
		opts = append(opts, kgo.RequestTimeoutOverhead(duration(timeout)), kgo.ProduceRequestTimeout(duration(timeout)))
	}
	if backoff, ok := merged["retry.backoff.ms"]; ok {
		wait := func(int) time.Duration { return duration(backoff) }
		opts = append(opts, kgo.RetryBackoffFn(wait), kgo.MetadataMinAge(duration(backoff)))
	}
	if config := encryption(merged); config != nil {
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	user, password := merged["sasl.username"], merged["sasl.password"]
	switch merged["sasl.mechanism"] {
	case "PLAIN":
		opts = append(opts, kgo.SASL(plain.Auth{User: user, Pass: password}.AsMechanism()))
	case "SCRAM-SHA-256":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		opts = append(opts, kgo.SASL(scram.Auth{User: user, Pass: password}.AsSha512Mechanism()))
	}
	return opts
}

// What librdkafka's words for TLS say; `ssl.keylog` names the file that gets the key log. Nil where it is not wanted.
func encryption(words map[string]string) *tls.Config {
	authority, ok := words["ssl.ca.location"]
	if !ok {
		return nil
	}
	text, err := os.ReadFile(authority)
	check(err)
	config := &tls.Config{RootCAs: x509.NewCertPool(), ClientSessionCache: tls.NewLRUClientSessionCache(0)}
	config.RootCAs.AppendCertsFromPEM(text)
	if own, ok := words["ssl.certificate.location"]; ok {
		pair, err := tls.LoadX509KeyPair(own, words["ssl.key.location"])
		check(err)
		config.Certificates = []tls.Certificate{pair}
	}
	if name, ok := words["ssl.keylog"]; ok {
		config.KeyLogWriter, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		check(err)
	}
	return config
}

func client(s session, a arguments, more ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append(options(s, a), more...)...)
	check(err)
	return made
}

func values(a arguments) []*kgo.Record {
	var made []*kgo.Record
	for number := a.First; number < a.First+a.Count; number++ {
		value := fmt.Sprintf(`{"order": %d, "amount": %.2f, "note": "%s"}`, number, float64(number*7919%100000)/100,
			strings.Repeat("x", max(0, a.Size-50)))
		each := &kgo.Record{Topic: a.Topic, Key: fmt.Appendf(nil, "customer-%d", number%17), Value: []byte(value)}
		for name, text := range a.Headers {
			each.Headers = append(each.Headers, kgo.RecordHeader{Key: name, Value: []byte(text)})
		}
		made = append(made, each)
	}
	return made
}

func create(ctx context.Context, s session, a arguments) any {
	var topics map[string]int32
	check(json.Unmarshal(a.Topics, &topics))
	cl := client(s, a)
	defer cl.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	for name, partitions := range topics {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
		request.Topics = append(request.Topics, topic)
	}
	response, err := request.RequestWith(ctx, cl)
	check(err)
	return len(response.Topics)
}

func produce(ctx context.Context, s session, a arguments) any {
	cl := client(s, a)
	defer cl.Close()
	done := 0
	for batch := range slices.Chunk(values(a), max(1, a.Count/max(1, a.Batches))) {
		for _, result := range cl.ProduceSync(ctx, batch...) {
			if result.Err == nil {
				done++
			}
		}
	}
	return done
}

const poll = 500 * time.Millisecond

func text(data []byte) *string {
	if data == nil {
		return nil
	}
	encoded := base64.StdEncoding.EncodeToString(data)
	return &encoded
}

func read(from *kgo.Record) record {
	made := record{from.Topic, from.Partition, from.Offset, from.Timestamp.UnixMilli(), text(from.Key), text(from.Value),
		[][]*string{}}
	for _, header := range from.Headers {
		name := header.Key
		made.Headers = append(made.Headers, []*string{&name, text(header.Value)})
	}
	return made
}

func consume(ctx context.Context, s session, a arguments) any {
	var topics []string
	check(json.Unmarshal(a.Topics, &topics))
	opts := []kgo.Opt{kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if a.Group != "" {
		opts = append(opts, kgo.ConsumerGroup(a.Group))
		for word, option := range timeouts {
			if text, ok := a.Config[word]; ok {
				opts = append(opts, option(duration(text)))
			}
		}
	}
	cl := client(s, a, opts...)
	defer cl.Close()
	found := []record{}
	different := map[string]bool{}
	for end := time.Now().Add(time.Duration(cmp.Or(a.Polls, 60)) * poll); time.Now().Before(end); {
		limited, cancel := context.WithTimeout(ctx, poll)
		cl.PollFetches(limited).EachRecord(func(each *kgo.Record) {
			found = append(found, read(each))
			different[fmt.Sprint(each.Topic, " ", each.Partition, " ", each.Offset)] = true
		})
		cancel()
		if len(different) >= a.Count {
			break
		}
	}
	if a.Group != "" {
		check(cl.CommitUncommittedOffsets(ctx))
		cl.LeaveGroup()
	}
	if a.Keep != nil && !*a.Keep {
		return len(found)
	}
	return found
}

func transact(ctx context.Context, s session, a arguments) any {
	cl := client(s, a, kgo.TransactionalID(a.ID))
	defer cl.Close()
	outcomes := []string{}
	for number, end := range a.Ends {
		each := a
		each.First = number * a.Count
		if err := transaction(ctx, cl, values(each), end == "commit"); err == nil {
			outcomes = append(outcomes, end)
		} else if !a.Tell {
			check(err)
		} else if cl.EndTransaction(ctx, kgo.TryAbort) == nil {
			outcomes = append(outcomes, "failed: "+err.Error())
		} else {
			outcomes = append(outcomes, "lost: "+err.Error())
			break
		}
	}
	if a.Tell {
		return outcomes
	}
	return len(a.Ends)
}

func transaction(ctx context.Context, cl *kgo.Client, records []*kgo.Record, commit bool) error {
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return err
	}
	return cl.EndTransaction(ctx, kgo.TransactionEndTry(commit))
}

func wait(_ context.Context, _ session, a arguments) any {
	time.Sleep(time.Duration(a.Seconds * float64(time.Second)))
	return nil
}

var functions = map[string]func(context.Context, session, arguments) any{
	"create": create, "produce": produce, "consume": consume, "transact": transact, "sleep": wait,
}

func main() {
	sessions, err := os.Open(os.Args[1])
	check(err)
	answers, err := os.Create(os.Args[2])
	check(err)
	// One session a line, from a file or from a pipe into which they are written one by one.
	for lines := json.NewDecoder(sessions); ; {
		var s session
		if err := lines.Decode(&s); err == io.EOF {
			break
		} else {
			check(err)
		}
		for _, step := range s.Steps {
			var name string
			var a arguments
			check(json.Unmarshal(step[0], &name))
			check(json.Unmarshal(step[1], &a))
			result := functions[name](context.Background(), s, a)
			check(json.NewEncoder(answers).Encode(map[string]any{"step": name, "result": result}))
		}
	}
	check(answers.Close())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
