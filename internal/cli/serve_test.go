package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// startServing starts a command that serves on a free port, and returns its base.
func (f *fake) startServing(signals chan os.Signal, args ...string) (base string, errOut *log, ended chan int) {
	f.t.Helper()
	errOut, ended = f.start(signals, f.env.Exit, args...)
	address := regexp.MustCompile(`address=(\S+)`)
	testenv.Eventually(f.t, 30*time.Second, "the address is logged", func() bool {
		m := address.FindStringSubmatch(errOut.String())
		if m != nil {
			base = "http://" + m[1]
		}
		return m != nil
	})
	return base, errOut, ended
}

// page returns what a path answers with.
func page(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestServe_of_a_broker_that_is_down serves on, says so, and prints no secret.
func TestServe_of_a_broker_that_is_down(t *testing.T) {
	f := newFake(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	address := strings.Replace(gone.URL, "http://", "http://watcher:s3cret@", 1)
	signals := make(chan os.Signal, 1)
	base, errOut, ended := f.startServing(signals, "serve", "--listen", "127.0.0.1:0", "--every", "1s", "--management", address)
	var metrics string
	testenv.Eventually(t, 30*time.Second, "the broker is told to be down", func() bool {
		_, metrics = page(t, base+"/metrics")
		code, _ := page(t, base+"/health/live")
		return strings.Contains(metrics, "holdfast_broker_up 0\n") && code == http.StatusOK
	})
	testenv.Eventually(t, 30*time.Second, "it says why", func() bool {
		code, body := page(t, base+"/health")
		return code == http.StatusServiceUnavailable && strings.Contains(body, `"error"`)
	})
	_, health := page(t, base+"/health")
	_, findings := page(t, base+"/findings")
	signals <- os.Interrupt
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
	for name, text := range map[string]string{"log": errOut.String(), "health": health, "findings": findings, "metrics": metrics} {
		if strings.Contains(text, "s3cret") {
			t.Errorf("the %s has the password: %s", name, text)
		}
	}
}

// TestServe_refuses names what is wrong and what to give instead.
func TestServe_refuses(t *testing.T) {
	const there = "--management=http://127.0.0.1:1"
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"an address that others can reach": {[]string{"--listen", "0.0.0.0:9464", there}, "--allow-remote"},
		"all addresses":                    {[]string{"--listen", ":9464", there}, "--allow-remote"},
		"a name":                           {[]string{"--listen", "example.com:9464", there}, "--allow-remote"},
		"no port":                          {[]string{"--listen", "127.0.0.1", there}, "with a port"},
		"too often":                        {[]string{"--every", "10ms", there}, "--every is 1s to 1h0m0s"},
		"an address that cannot be had":    {[]string{"--listen", "127.0.0.1:99999", there}, "--listen"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.want(f.run(append([]string{"serve"}, c.args...)...), exitUsage, c.says)
		})
	}
}

// TestMetrics_are_served_beside_the_health of the sidecar.
func TestMetrics_are_served_beside_the_health(t *testing.T) {
	f := newFake(t)
	signals := make(chan os.Signal, 1)
	base, errOut, ended := f.startServing(signals, "consume", "--queue", "orders", "--exec", "exit 0", "--health-addr", "127.0.0.1:0")
	testenv.Eventually(t, 30*time.Second, "it is attached", func() bool {
		_, metrics := page(t, base+"/metrics")
		return strings.Contains(metrics, `holdfast_attached{queue="orders"} 1`)
	})
	if code, _ := page(t, base+"/health"); code != http.StatusOK {
		t.Errorf("/health answers %d", code)
	}
	signals <- os.Interrupt
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d\n%s", code, errOut)
	}
}
