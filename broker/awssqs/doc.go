// Package awssqs is the driver for Amazon SQS: standard and FIFO queues, raw
// bodies and the envelopes in which SNS delivers.
//
// A queue is the name or the URL of an SQS queue. It is made by its owner and
// its attributes are never changed. The driver makes two queues beside it when
// they are missing and it may, with ".fifo" at their ends where the source has
// it:
//
//	<queue>-parked  parked messages
//	<queue>-hold    held messages
//
// A retry is the message itself: it is hidden for the rung, and SQS counts its
// deliveries (ApproximateReceiveCount). A hold and a park are copies, stored
// before the original is deleted. The capture travels on a copy as one
// attribute, x-holdfast-capture, since a message has room for ten.
//
// Attributes of these names are a message's properties: Message-Id,
// Correlation-Id, Reply-To, Content-Type, Content-Encoding, Type, App-Id and
// Timestamp. A body that is no text that SQS can carry has the attribute
// Content-Transfer-Encoding: base64. On a FIFO queue the message group is the
// key of the message's origin.
//
// docs/brokers/awssqs.md says what is guaranteed, what each operation costs,
// and which permissions it takes.
package awssqs
