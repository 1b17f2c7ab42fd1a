package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-mq/holdfast"
)

// healthServer serves what a consumer knows of itself.
type healthServer struct {
	server *http.Server
	ended  chan struct{}
}

// startHealth serves h on addr; an empty one serves nothing.
func startHealth(addr string, handler http.Handler, logger *slog.Logger) (*healthServer, error) {
	if addr == "" {
		return nil, nil
	}
	return startServer("--health-addr", addr, handler, logger)
}

// startServer serves handler on addr, which flag gave.
func startServer(flag, addr string, handler http.Handler, logger *slog.Logger) (*healthServer, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	h := &healthServer{
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute},
		ended:  make(chan struct{}),
	}
	logger.Info("holdfast: serving /health and /metrics", "address", listener.Addr().String())
	go func() {
		defer close(h.ended)
		if err := h.server.Serve(listener); err != http.ErrServerClosed {
			logger.Error("holdfast: /health and /metrics are not served any more", "error", err)
		}
	}()
	return h, nil
}

func (h *healthServer) stop() {
	if h == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.server.Shutdown(ctx) != nil {
		_ = h.server.Close()
	}
	<-h.ended
}

func healthHandler(c runner) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		h, code := c.Health(), http.StatusOK
		if !h.Ready() {
			code = http.StatusServiceUnavailable
		}
		writeJSON(w, code, h)
	})
	mux.Handle("GET /ready", holdfast.Readiness(c))
	mux.Handle("GET /live", holdfast.Liveness(c))
	mux.HandleFunc("GET /books", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, c.Books()) })
	return mux
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client is gone, and it was its answer
}
