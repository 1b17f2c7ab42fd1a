package testenv

import (
	"os"
	"testing"
)

// Show logs a text and appends it to the file that the variable names, if it is set: go test shows nothing of a package
// that passes to who runs many of them.
func Show(t testing.TB, variable, text string) {
	t.Helper()
	t.Logf("\n%s", text)
	path := os.Getenv(variable)
	if path == "" {
		return
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Errorf("testenv: %s: %v", variable, err)
		return
	}
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Errorf("testenv: %s: %v", variable, err)
	}
}
