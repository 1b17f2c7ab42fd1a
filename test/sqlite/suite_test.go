package sqlite

import (
	"testing"

	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/store/storetest"
)

func TestSuite(t *testing.T) {
	var results []storetest.Result
	for _, env := range []storetest.Env{Env(), SharedEnv()} {
		t.Run(env.Name, func(t *testing.T) { results = append(results, storetest.Run(t, env)) })
	}
	testenv.Show(t, "HOLDFAST_STORES", storetest.Table(results...))
}
