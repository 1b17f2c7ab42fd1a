package cli

import (
	"context"
	"os"
	"syscall"
)

// withSignals ends ctx at the first signal, and the process at the second.
func withSignals(ctx context.Context, env Env) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if env.Signals == nil {
		return ctx, cancel
	}
	go func() {
		select {
		case <-env.Signals:
			cancel()
		case <-ctx.Done():
			// The command is over; what is left is its last output.
		}
		if s, ok := <-env.Signals; ok {
			env.Exit(128 + signalNumber(s))
		}
	}()
	return ctx, cancel
}

func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}
