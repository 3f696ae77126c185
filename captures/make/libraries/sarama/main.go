package main

import (
	"context"
	"github.com/IBM/sarama"
	"os"
	"strings"
	"time"
)

type h struct {
	n    int
	stop func()
}

func (*h) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*h) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (x *h) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for m := range c.Messages() {
		s.MarkMessage(m, "")
		x.n++
		if x.n >= 20 {
			s.Commit()
			x.stop()
		}
	}
	return nil
}
func main() {
	c := sarama.NewConfig()
	c.Producer.Return.Successes = true
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	if len(os.Args) > 4 {
		v, _ := sarama.ParseKafkaVersion(os.Args[4])
		c.Version = v
	}
	b := strings.Split(os.Args[1], ",")
	p, err := sarama.NewSyncProducer(b, c)
	if err != nil {
		panic(err)
	}
	for i := 0; i < 20; i++ {
		p.SendMessage(&sarama.ProducerMessage{Topic: os.Args[2], Value: sarama.StringEncoder("x")})
	}
	p.Close()
	g, err := sarama.NewConsumerGroup(b, os.Args[3], c)
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), 15*time.Second)
	x := &h{stop: stop}
	for ctx.Err() == nil {
		if g.Consume(ctx, []string{os.Args[2]}, x) != nil {
			break
		}
	}
	time.Sleep(300 * time.Millisecond)
	g.Close()
}
