package outbox

// Binding is what makes the messages of an event arrive in a queue.
type Binding struct {
	Exchange string `json:"exchange"`
	Key      string `json:"key"`
	Queue    string `json:"queue"`
}

// Queue is the name of the queue from which consumer, such as "billing",
// consumes the event: "billing.orders.placed.v1".
func (e *Event[T]) Queue(consumer string) string { return consumer + "." + e.spec.name }

// Binding is what binds [Event.Queue] to where the event is published. Of an
// event that is also published under older keys it is the newest alone, so that
// nothing arrives twice.
func (e *Event[T]) Binding(consumer string) Binding {
	return Binding{Exchange: e.spec.exchange, Key: e.spec.key, Queue: e.Queue(consumer)}
}

// Manifest is what an event needs at the broker, for whoever declares or
// checks it.
type Manifest struct {
	Event    string    `json:"event"`
	Exchange string    `json:"exchange"`
	Keys     []string  `json:"keys"`
	Bindings []Binding `json:"bindings"`
}

// Manifest lists what the event needs for these consumers.
func (e *Event[T]) Manifest(consumers ...string) Manifest {
	m := Manifest{
		Event: e.spec.name, Exchange: e.spec.exchange,
		Keys: append([]string{e.spec.key}, e.spec.alsoKeys...),
	}
	for _, c := range consumers {
		m.Bindings = append(m.Bindings, e.Binding(c))
	}
	return m
}
