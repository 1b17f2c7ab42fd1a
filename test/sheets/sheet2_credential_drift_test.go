package sheets

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCredentialDrift sees the drift before the restart that it would break.
func TestCredentialDrift(t *testing.T) {
	const page = "credential-drift.md"
	d := newDesk(t)
	d.source(nil)
	theirs := d.rmq.User(t, d.url, "billing", ".*", ".*", ".*")
	u, err := url.Parse(theirs)
	d.must(err)
	password, _ := u.User.Password()
	d.env["HOLDFAST_BROKER"], d.env["SERVICE_USER"] = theirs, u.User.Username()
	d.env["PASSWORD_FILE"] = filepath.Join(t.TempDir(), "password")
	d.must(os.WriteFile(d.env["PASSWORD_FILE"], []byte(password), 0o600))
	done := d.effects()
	consumer := d.consume(done.handler())
	d.want(page, "Detection", 0, 0)

	d.rmq.Management(t, http.MethodPut, "/api/users/"+u.User.Username(), map[string]string{"password": "another one", "tags": ""}, nil)
	if code, _ := consumer.state(); code != http.StatusOK {
		t.Error("what is connected does not stay connected")
	}
	r := d.want(page, "Detection", 0, 1, "HF060")
	if strings.Contains(r.out, password) || strings.Contains(r.out, "another one") {
		t.Errorf("a password is printed: %v", r)
	}

	d.want(page, "Recovery", 0, 0)
	d.becomes(page, "Recovery", 1, 0)
	restarted := d.consume(done.handler())
	consumer.kill()
	d.publish("", queue, "1", "order")
	d.eventually("the restarted service works", func() bool { return done.count("order") == 1 })
	restarted.becomesReady()
}
