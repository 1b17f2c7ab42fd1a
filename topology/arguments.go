package topology

// The names of the arguments that decide where messages go and how long they
// stay.
const (
	ArgDeadLetterExchange = "x-dead-letter-exchange"
	ArgDeadLetterKey      = "x-dead-letter-routing-key"
	ArgDeadLetterStrategy = "x-dead-letter-strategy"
	ArgOverflow           = "x-overflow"
	ArgMessageTTL         = "x-message-ttl"
	ArgExpires            = "x-expires"
	ArgMaxLength          = "x-max-length"
	ArgMaxLengthBytes     = "x-max-length-bytes"
	ArgDeliveryLimit      = "x-delivery-limit"
	ArgQueueType          = "x-queue-type"
	ArgAlternate          = "alternate-exchange"
)

// Argument returns an argument of a queue that is in force, and whether there is
// one.
func (q *Queue) Argument(name string) (any, bool) {
	args := q.Effective
	if args == nil {
		args = q.Arguments
	}
	v, ok := args[name]
	return v, ok && v != nil
}

// Text returns a text argument in force; empty where there is none.
func (q *Queue) Text(name string) string {
	v, _ := q.Argument(name)
	s, _ := v.(string)
	return s
}

// Number returns a whole number in force, and whether there is one.
func (q *Queue) Number(name string) (int64, bool) {
	v, ok := q.Argument(name)
	if !ok {
		return 0, false
	}
	return whole(v)
}

func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case float64:
		return int64(v), v == float64(int64(v))
	case int:
		return int64(v), true
	case int64:
		return v, true
	default:
		return 0, false
	}
}

// DeadLetter returns the dead-letter exchange in force, and whether there is one:
// the default exchange is one with an empty name.
func (q *Queue) DeadLetter() (exchange string, ok bool) {
	v, ok := q.Argument(ArgDeadLetterExchange)
	exchange, text := v.(string)
	return exchange, ok && text
}

// AtLeastOnce reports whether dead-lettering is confirmed, and asked whether it
// is meant to be: a quorum queue with that strategy and another overflow than
// reject-publish falls back without a word.
func (q *Queue) AtLeastOnce() (confirmed, asked bool) {
	asked = q.Type == "quorum" && q.Text(ArgDeadLetterStrategy) == "at-least-once"
	return asked && q.Text(ArgOverflow) == "reject-publish", asked
}

// kind is the type that a queue is declared with, by either way of saying it;
// empty where neither says it.
func (q *Queue) kind() string {
	if q.Type != "" {
		return q.Type
	}
	kind, _ := q.Arguments[ArgQueueType].(string)
	return kind
}
