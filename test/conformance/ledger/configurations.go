package ledger

// configurations are the rows, in this order, under the names that the results
// of the suite have.
var configurations = []string{
	"membroker",
	"JetStream embedded",
	"JetStream external",
	"RabbitMQ 3.10 quorum",
	"RabbitMQ 3.10 classic",
	"RabbitMQ 4.3 quorum",
	"RabbitMQ 4.3 classic",
	"SQS standard raw",
	"SQS standard SNS",
	"SQS FIFO raw",
	"SQS FIFO SNS",
	"SQS standard raw on ElasticMQ",
	"SQS standard SNS on ElasticMQ",
	"SQS FIFO raw on ElasticMQ",
	"SQS FIFO SNS on ElasticMQ",
	"Pub/Sub pull",
	"Pub/Sub pull_dead_letters",
	"Pub/Sub pull_ordered",
	"Pub/Sub pull_ordered_dead_letters",
	"Pub/Sub streaming",
	"Pub/Sub streaming_dead_letters",
	"Pub/Sub streaming_ordered",
	"Pub/Sub streaming_ordered_dead_letters",
	"RocketMQ",
}
