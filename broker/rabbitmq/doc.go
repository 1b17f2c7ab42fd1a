// Package rabbitmq is the RabbitMQ driver of Holdfast, for classic and quorum
// sources, on RabbitMQ 3.10 and later.
//
// It keeps two connections, one that consumes and one that publishes, so that
// a blocked publisher never stops an acknowledgement. A message that failed
// is copied (confirmed, mandatory, persistent) before the original is
// acknowledged; where the copy waits is declared when a session is opened:
//
//	<ns>                 direct exchange; hold and parked queues are bound to it
//	<ns>.return          direct exchange that leads back to each source queue
//	<ns>.unrouted        where copies go whose source queue is gone
//	<ns>.retry.<ms>      one rung: fanout exchange and queue, shared by all sources
//	<queue>.hold         held messages
//	<queue>.parked       parked messages, or one shared <ns>.parked
//
// The default exchange is used for replies, and for an outlet without a
// destination. Nothing is added to a source queue but its binding to
// <ns>.return.
package rabbitmq
