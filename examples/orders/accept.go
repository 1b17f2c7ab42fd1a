package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-mq/holdfast/store"
)

const (
	idempotencyKey = "Idempotency-Key"
	maxBody        = 64 << 10
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

func isName(all ...string) bool {
	for _, s := range all {
		if !nameForm.MatchString(s) {
			return false
		}
	}
	return true
}

// acceptance is a row to be written once, and the event that tells of it.
type acceptance struct {
	valid        bool
	insert, same string // writes the row unless its id is there; asks whether what is there is the same
	values       []any
	tell         func(context.Context, store.OutboxTx) error
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(into); err != nil {
		http.Error(w, "the body is no JSON of an order or a payment", http.StatusBadRequest)
		return false
	}
	return true
}

// accept writes row and event in one transaction and answers 201, or 200 when an
// earlier request with this key has done so, and 409 when that one said
// something else. After 503, or no answer, the client asks again with the same
// key.
func (s *service) accept(w http.ResponseWriter, r *http.Request, a acceptance) {
	if !a.valid {
		http.Error(w, "the Idempotency-Key and all names are up to 100 letters, digits, dots, dashes and underscores; cents is above 0",
			http.StatusUnprocessableEntity)
		return
	}
	var status int
	err := pgx.BeginFunc(r.Context(), s.pool, func(tx pgx.Tx) (err error) {
		status, err = s.write(r.Context(), tx, a)
		return err
	})
	if err != nil {
		slog.ErrorContext(r.Context(), "not accepted", "path", r.URL.Path, "error", err)
		http.Error(w, "the database does not take it now: ask again with the same key", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(status)
}

func (s *service) write(ctx context.Context, tx pgx.Tx, a acceptance) (status int, err error) {
	done, err := tx.Exec(ctx, a.insert, a.values...)
	if err != nil {
		return 0, err
	}
	if done.RowsAffected() > 0 {
		return http.StatusCreated, a.tell(ctx, s.tables.Tx(tx))
	}
	var same bool
	if err := tx.QueryRow(ctx, a.same, a.values...).Scan(&same); err != nil {
		return 0, err
	}
	if !same {
		return http.StatusConflict, nil
	}
	return http.StatusOK, nil
}
