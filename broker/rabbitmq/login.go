package rabbitmq

import amqp "github.com/rabbitmq/amqp091-go"

// login is PLAIN, and asks the broker to say why it refuses. The client does
// not: a wrong password is then a connection closed without a word, which
// cannot be told from a broker that is going down.
type login struct {
	user, password string
	properties     amqp.Table
}

// Mechanism implements [amqp.Authentication].
func (login) Mechanism() string { return "PLAIN" }

// Response implements [amqp.Authentication]. The client has just written its
// capabilities into the properties and is about to send them.
func (l login) Response() string {
	if capabilities, ok := l.properties["capabilities"].(amqp.Table); ok {
		capabilities["authentication_failure_close"] = true
	}
	return "\x00" + l.user + "\x00" + l.password
}

// String keeps the password out of whatever prints a connection's config.
func (l login) String() string { return "login of " + l.user }
