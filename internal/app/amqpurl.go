package app

import (
	"net"
	"net/url"
	"strings"
)

// amqpURL is what an AMQP URL says of who and where.
type amqpURL struct {
	secure   bool
	host     string // without the port
	user     string
	password string
	vhost    string
}

// parseAMQP reads a URL as the driver does. It reports false for the URL of
// any other broker, and for one that the driver will refuse with its reasons.
func parseAMQP(address string) (amqpURL, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return amqpURL{}, false
	}
	scheme := strings.ToLower(u.Scheme)
	if scheme != "amqp" && scheme != "amqps" {
		return amqpURL{}, false
	}
	a := amqpURL{secure: scheme == "amqps", host: u.Hostname(), user: "guest", password: "guest", vhost: "/"}
	if u.User != nil {
		a.user = u.User.Username()
		a.password, _ = u.User.Password()
	}
	if vhost := strings.TrimPrefix(u.Path, "/"); vhost != "" {
		a.vhost = vhost
	}
	return a, true
}

// ManagementURL is where the management API of a RabbitMQ is: where given says,
// under the broker's credentials if it has none of its own; without it at the
// broker's host and the port that RabbitMQ gives it. It is empty where nothing
// is given and the broker is not RabbitMQ. What cannot be read is returned as
// it is, for the API's client to refuse.
func ManagementURL(given, brokerURL string) string {
	at, isRabbit := parseAMQP(brokerURL)
	if given == "" {
		return at.management(isRabbit)
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.User != nil || !isRabbit {
		return given
	}
	u.User = url.UserPassword(at.user, at.password)
	return u.String()
}

func (a amqpURL) management(isRabbit bool) string {
	if !isRabbit {
		return ""
	}
	scheme, port := "http", "15672"
	if a.secure {
		scheme, port = "https", "15671"
	}
	u := url.URL{Scheme: scheme, User: url.UserPassword(a.user, a.password), Host: net.JoinHostPort(a.host, port)}
	return u.String()
}

// VHostOf is the virtual host of an AMQP URL, and empty for any other.
func VHostOf(address string) string {
	a, _ := parseAMQP(address)
	return a.vhost
}
