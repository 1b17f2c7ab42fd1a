package doctor

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// The checks of what a service is configured to do.
const (
	neededPermission = "HF050"
	refusedLogin     = "HF060"
	storedDiffers    = "HF061"
)

func TestPasswordInTwoPlaces(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		_, amqpURL := c.user("")
		u, err := url.Parse(amqpURL)
		if err != nil {
			t.Fatal("an URL cannot be read")
		}
		password, _ := u.User.Password()
		c.secrets = append(c.secrets, "rotated-away")
		env := []string{"HOLDFAST_BROKER=" + amqpURL, "STORED=" + password, "OTHER=rotated-away"}
		c.want(c.examineWith(env, "--only", storedDiffers, "--password-env", "STORED"), 0, "nothing found")
		c.want(c.examineWith(env, "--only", storedDiffers, "--password-env", "OTHER"), 1, storedDiffers)

		file := filepath.Join(t.TempDir(), "secret")
		for content, code := range map[string]int{amqpURL + "\n": 0, password + "\n": 0, "amqp://doctor:rotated-away@h/": 1} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			c.want(c.examineWith(env, "--only", storedDiffers, "--password-file", file), code)
		}
	})
}

func TestLoginThatIsRefused(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		_, amqpURL := c.user("")
		c.want(c.examineWith([]string{"HOLDFAST_BROKER=" + amqpURL}, "--only", refusedLogin), 0, "nothing found")

		u, err := url.Parse(amqpURL)
		if err != nil {
			t.Fatal("an URL cannot be read")
		}
		u.User = url.UserPassword(u.User.Username(), "rotated-away")
		c.secrets = append(c.secrets, "rotated-away")
		e := c.examineWith([]string{"HOLDFAST_BROKER=" + u.String()}, "--only", refusedLogin)
		c.want(e, 1, refusedLogin, u.User.Username())
		c.wantNot(e, "unreachable")
	})
}

func TestPermissionsThatWillBeMissing(t *testing.T) {
	onEachClinic(t, func(c *clinic) {
		_, amqpURL := c.user("") // may read everything, and nothing else
		env := []string{"HOLDFAST_BROKER=" + amqpURL}
		c.want(c.examineWith(env, "--only", neededPermission, "--queue", "orders"), 1, neededPermission, "orders.parked")
		c.want(c.examineWith(env, "--only", neededPermission), 0, "nothing found")
		c.want(c.examine("--only", neededPermission, "--queue", "orders"), 0, "nothing found")
	})
}
