package telemetry

import "strings"

// systems are the conventions' names of brokers, by how a driver's own begins.
// Those that the conventions do not know have the product's.
var systems = map[string]string{
	"RabbitMQ":             "rabbitmq",
	"Amazon SQS":           "aws_sqs",
	"Google Cloud Pub/Sub": "gcp_pubsub",
	"RocketMQ":             "rocketmq",
	"Apache RocketMQ":      "rocketmq",
	"NATS":                 "nats",
}

// systemOf reads product and version; an unknown product is told as it is, up to
// its version.
func systemOf(product string) string {
	for begin, system := range systems {
		if strings.HasPrefix(product, begin) {
			return system
		}
	}
	name, _, _ := strings.Cut(product, " ")
	return strings.ToLower(name)
}
