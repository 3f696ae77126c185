package main

import (
	"context"
	kafka "github.com/segmentio/kafka-go"
	"os"
	"strings"
	"time"
)

func main() {
	b := strings.Split(os.Args[1], ",")
	ctx, stop := context.WithTimeout(context.Background(), 15*time.Second)
	defer stop()
	w := &kafka.Writer{Addr: kafka.TCP(b...), Topic: os.Args[2], BatchTimeout: 10 * time.Millisecond}
	m := []kafka.Message{}
	for i := 0; i < 20; i++ {
		m = append(m, kafka.Message{Value: []byte("x")})
	}
	w.WriteMessages(ctx, m...)
	w.Close()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: b, GroupID: os.Args[3], Topic: os.Args[2]})
	for n := 0; n < 20; n++ {
		if _, e := r.ReadMessage(ctx); e != nil {
			break
		}
	}
	r.Close()
}
