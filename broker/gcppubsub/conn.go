package gcppubsub

import (
	"context"
	"fmt"
	"sync"
	"time"

	vkit "cloud.google.com/go/pubsub/v2/apiv1"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxMessage is more than the largest message has with all around it.
	maxMessage = 20 << 20

	// pingEvery is the shortest that servers of gRPC allow by default.
	pingEvery = 5 * time.Minute
)

// conn is one connection. gRPC mends it behind our back when the service
// recycles it; when it cannot, the connection is given up with its sessions,
// and the core opens new ones.
type conn struct {
	subs   *vkit.SubscriptionAdminClient
	topics *vkit.TopicAdminClient
	call   time.Duration
	dead   chan struct{}
	quit   context.CancelFunc

	mu  sync.Mutex
	err error // once dead is closed
}

// once switches off the client's own retries: the core decides on another try.
var once = gax.WithRetry(func() gax.Retryer { return nil })

func dial(conf Config) (*conn, error) {
	// Not the caller's context: the client lives for longer than the call.
	ctx, quit := context.WithCancel(context.Background())
	c := &conn{call: conf.CallTimeout, dead: make(chan struct{}), quit: quit}
	var err error
	if c.subs, err = vkit.NewSubscriptionAdminClient(ctx, options(conf)...); err != nil {
		quit()
		return nil, fmt.Errorf("gcppubsub: connect: %w: %w; give application default credentials or Config.Options", broker.ErrCredentials, err)
	}
	if c.topics, err = vkit.NewTopicAdminClient(ctx, option.WithGRPCConn(c.only())); err != nil {
		c.close()
		return nil, fmt.Errorf("gcppubsub: connect: %w: %w", broker.ErrConfig, err)
	}
	go c.watch(ctx)
	return c, nil
}

func options(conf Config) []option.ClientOption {
	all := []option.ClientOption{
		option.WithUserAgent(conf.Name),
		option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingEvery})),
		option.WithGRPCDialOption(grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))),
	}
	switch {
	case conf.Emulator != "":
		all = append(all, option.WithEndpoint(conf.Emulator), option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	case conf.Endpoint != "":
		all = append(all, option.WithEndpoint(conf.Endpoint))
	}
	return append(append(all, conf.Options...), option.WithGRPCConnectionPool(1))
}

// only is the connection: the pool was asked to have one.
func (c *conn) only() *grpc.ClientConn {
	return c.subs.Connection() //nolint:staticcheck // deprecated for pools of several, and a pool of one has no other way to be watched
}

// watch gives the connection up once gRPC fails to mend it.
func (c *conn) watch(ctx context.Context) {
	grpcConn := c.only()
	for state := grpcConn.GetState(); ; state = grpcConn.GetState() {
		if state == connectivity.TransientFailure || state == connectivity.Shutdown {
			c.end(fmt.Errorf("gcppubsub: %w: the connection was lost", broker.ErrUnreachable))
			c.close()
			return
		}
		if state == connectivity.Idle {
			grpcConn.Connect() // or nobody would know that it cannot be mended until the next call
		}
		if !grpcConn.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// end says once why the connection is over.
func (c *conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
		close(c.dead)
	}
}

func (c *conn) close() {
	c.end(broker.ErrClosed)
	c.quit()
	_ = c.subs.Close() // the other client has the same connection
}

// why is the reason of the end.
func (c *conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *conn) alive() bool {
	select {
	case <-c.dead:
		return false
	default:
		return true
	}
}

// bounded gives a call its time.
func (c *conn) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.call)
}
