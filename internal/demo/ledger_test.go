package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func ledgerWith(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func opened(t *testing.T, path string, n int) *ledger {
	t.Helper()
	l, err := openLedger(path, n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.close() })
	return l
}

func TestALedgerIsFoundAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	l := opened(t, path, 40)
	if err := l.send("order-001"); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		if did, err := l.do(charged, "order-001"); did != want || err != nil {
			t.Errorf("charge %d: %v, %v", i+1, did, err)
		}
	}
	found := opened(t, path, 0)
	for e, want := range map[effect]int{sent: 1, charged: 1, again: 1, discarded: 0} {
		if n := found.times(e, "order-001"); n != want {
			t.Errorf("%s %d times, not %d", e, n, want)
		}
	}
	if found.orders != 40 || !found.done("order-001") || found.done("order-002") {
		t.Errorf("%+v", found)
	}
}

func TestATornLineIsCutOff(t *testing.T) {
	path := ledgerWith(t, "orders 40\nsent order-001\ncharged order-0")
	l := opened(t, path, 0)
	if _, err := l.do(charged, "order-001"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if want := "orders 40\nsent order-001\ncharged order-001\n"; err != nil || string(content) != want {
		t.Errorf("%q, %v", content, err)
	}
}

func TestALedgerThatIsNoneIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		"orders 40\n":         "leave the number out, or use another folder",
		"orders many\n":       "not a number of orders",
		"dear diary, today\n": "not a line of a ledger",
	} {
		path := ledgerWith(t, content)
		if _, err := openLedger(path, 300); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", content, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != content {
			t.Errorf("%q was changed to %q (%v)", content, left, err)
		}
	}
}
