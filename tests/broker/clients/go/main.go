// A franz-go client that plays the steps of a session file and writes one JSON line a step.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
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
	for _, result := range cl.ProduceSync(ctx, values(a)...) {
		if result.Err == nil {
			done++
		}
	}
	return done
}

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
	}
	cl := client(s, a, opts...)
	defer cl.Close()
	found := []record{}
	for range max(a.Polls, 60) {
		limited, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		cl.PollFetches(limited).EachRecord(func(each *kgo.Record) { found = append(found, read(each)) })
		cancel()
		if len(found) >= a.Count {
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
	for _, end := range a.Ends {
		check(cl.BeginTransaction())
		check(cl.ProduceSync(ctx, values(a)...).FirstErr())
		check(cl.EndTransaction(ctx, kgo.TransactionEndTry(end == "commit")))
	}
	return len(a.Ends)
}

func wait(_ context.Context, _ session, a arguments) any {
	time.Sleep(time.Duration(a.Seconds * float64(time.Second)))
	return nil
}

var functions = map[string]func(context.Context, session, arguments) any{
	"create": create, "produce": produce, "consume": consume, "transact": transact, "sleep": wait,
}

func main() {
	data, err := os.ReadFile(os.Args[1])
	check(err)
	var s session
	check(json.Unmarshal(data, &s))
	answers, err := os.Create(os.Args[2])
	check(err)
	for _, step := range s.Steps {
		var name string
		var a arguments
		check(json.Unmarshal(step[0], &name))
		check(json.Unmarshal(step[1], &a))
		result := functions[name](context.Background(), s, a)
		check(json.NewEncoder(answers).Encode(map[string]any{"step": name, "result": result}))
	}
	check(answers.Close())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
