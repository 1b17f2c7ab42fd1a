package rabbitmq

import "context"

// Login proves that the broker lets these credentials into the virtual host.
// It declares and reads nothing. An error is of class [broker.ErrCredentials],
// [broker.ErrPermission] or [broker.ErrMissing] (the virtual host), or
// [broker.ErrUnreachable]. A connection that is there already proves nothing
// of credentials that have changed since: ask a Broker that was just opened.
func (b *Broker) Login(ctx context.Context) error {
	if err := b.begin(); err != nil {
		return err
	}
	defer b.work.Done()
	_, err := b.consume.get(ctx)
	return err
}
