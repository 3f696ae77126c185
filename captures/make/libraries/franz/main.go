package main

import (
	"context"
	"github.com/twmb/franz-go/pkg/kgo"
	"os"
	"strings"
	"time"
)

func main() {
	b := strings.Split(os.Args[1], ",")
	ctx, stop := context.WithTimeout(context.Background(), 15*time.Second)
	defer stop()
	p, err := kgo.NewClient(kgo.SeedBrokers(b...))
	if err != nil {
		panic(err)
	}
	for i := 0; i < 20; i++ {
		p.ProduceSync(ctx, &kgo.Record{Topic: os.Args[2], Value: []byte("x")})
	}
	p.Close()
	c, err := kgo.NewClient(kgo.SeedBrokers(b...), kgo.ConsumerGroup(os.Args[3]), kgo.ConsumeTopics(os.Args[2]), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		panic(err)
	}
	n := 0
	for n < 20 && ctx.Err() == nil {
		f := c.PollFetches(ctx)
		n += f.NumRecords()
	}
	c.CommitUncommittedOffsets(ctx)
	time.Sleep(300 * time.Millisecond)
	c.Close()
}
