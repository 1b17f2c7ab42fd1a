package examples

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// orders are what both of the sidecar's targets are asked, and what they are
// to say: an exit code, and a status.
var orders = map[string]struct {
	body   string
	lap    string
	exit   int
	status int
}{
	"charged":            {`{"id":1,"amount":9.99}`, "0", 0, 204},
	"written_widely":     {`{"amount": 9.99, "id": 1}`, "0", 0, 204},
	"declined":           {`{"id":3,"amount":-1}`, "0", 1, 500},
	"bank_is_down":       {`{"id":2,"amount":5000}`, "0", 75, 503},
	"bank_is_back":       {`{"id":2,"amount":5000}`, "1", 0, 204},
	"cut_off":            {`{"id":4,"amount":`, "0", 65, 422},
	"without_an_id":      {`{"amount":1}`, "0", 65, 422},
	"with_words_for_sum": {`{"id":1,"amount":"much"}`, "0", 65, 422},
	"empty":              {``, "0", 65, 422},
}

func TestShellTarget_gives_its_verdict(t *testing.T) {
	for name, tc := range orders {
		t.Run(name, func(t *testing.T) {
			o := run(t, tc.body, []string{"HOLDFAST_LAP=" + tc.lap}, "examples/sidecar/handle-order")
			o.wants(t, tc.exit)
			if (tc.exit == 0) != (o.stderr == "") {
				t.Errorf("exit code %d, and on stderr %q", o.code, o.stderr)
			}
		})
	}
}

func TestPythonTarget_gives_its_verdict(t *testing.T) {
	url := "http://127.0.0.1:" + startServer(t, "python3 examples/sidecar/server.py")
	for name, tc := range orders {
		t.Run(name, func(t *testing.T) {
			status, _, text := post(t, url, tc.body, tc.lap, "false")
			if status != tc.status || (status == 204) != (text == "") {
				t.Errorf("answered %d %q, want %d", status, text, tc.status)
			}
		})
	}
	t.Run("discards_a_test_order", func(t *testing.T) {
		if status, verdict, _ := post(t, url, orders["charged"].body, "0", "true"); status != 204 || verdict != "discard" {
			t.Errorf("answered %d, verdict %q", status, verdict)
		}
	})
}

func post(t *testing.T, url, body, lap, test string) (status int, verdict, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Holdfast-Lap", lap)
	req.Header.Set("Holdfast-Header-Test", test)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Holdfast-Verdict"), string(answer)
}

// startServer starts the server of the HTTP target, as it is typed, and
// returns its port once it listens. At the end it is stopped as by Ctrl-C, and
// must then end in good order.
func startServer(t *testing.T, typed string) (port string) {
	t.Helper()
	needPython(t)
	port = freePort(t)
	cmd := exec.Command("bash", "-c", "exec "+typed)
	cmd.Dir, cmd.Env, cmd.Stderr = root, environ("PORT="+port), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(within, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", typed, err)
		}
		stuck.Stop()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if want := fmt.Sprintf("orders are handled at http://127.0.0.1:%s/", port); err != nil || strings.TrimSpace(line) != want {
		t.Fatalf("%s says %q, %v", typed, line, err)
	}
	return port
}

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
