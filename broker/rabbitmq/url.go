package rabbitmq

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// endpoint is where a broker is and who we are there.
type endpoint struct {
	secure   bool
	host     string // without the port
	port     string
	user     string
	password string
	vhost    string
	query    url.Values
}

// errURL says nothing of the value, nor does it wrap the parser's error: both
// show the password, or parts of it where a reserved character split it.
var errURL = errors.New("rabbitmq: Config.URL must be amqp://user:password@host:port/vhost or amqps, " +
	"with reserved characters in user, password and vhost percent-encoded")

// urlParameters are the query parameters that are read. Others are refused
// rather than ignored: their owner believes that they act.
var urlParameters = map[string]bool{
	"cacertfile": true, "certfile": true, "keyfile": true, "server_name_indication": true,
}

func parseURL(raw string) (endpoint, error) {
	if raw == "" {
		return endpoint{}, errors.New("rabbitmq: Config.URL must be set")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Fragment != "" || u.Opaque != "" {
		return endpoint{}, errURL
	}
	e := endpoint{host: u.Hostname(), port: u.Port(), user: "guest", password: "guest", vhost: "/"}
	switch u.Scheme {
	case "amqp":
		e.port = orDefault(e.port, "5672")
	case "amqps":
		e.secure, e.port = true, orDefault(e.port, "5671")
	default:
		return endpoint{}, errURL
	}
	if u.User != nil {
		e.user = u.User.Username()
		e.password, _ = u.User.Password()
	}
	if vhost := strings.TrimPrefix(u.Path, "/"); vhost != "" {
		e.vhost = vhost
	}
	if e.query, err = url.ParseQuery(u.RawQuery); err != nil {
		return endpoint{}, errURL
	}
	for name := range e.query {
		if !urlParameters[name] {
			return endpoint{}, fmt.Errorf("rabbitmq: Config.URL must not have the parameter %q: "+
				"set the fields of Config instead", name)
		}
	}
	return e, nil
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (e endpoint) address() string { return net.JoinHostPort(e.host, e.port) }

// String is the URL without its password and its query.
func (e endpoint) String() string {
	scheme := "amqp"
	if e.secure {
		scheme = "amqps"
	}
	u := url.URL{Scheme: scheme, User: url.User(e.user), Host: e.address()}
	if e.vhost != "/" {
		u.Path, u.RawPath = "/"+e.vhost, "/"+url.PathEscape(e.vhost)
	}
	return u.String()
}

// tlsConfig is the caller's, or made of the files that the URL names. Files
// are read at each connect, so that a renewed certificate is taken up.
func (e endpoint) tlsConfig(given *tls.Config) (*tls.Config, error) {
	conf := given.Clone()
	if conf == nil {
		conf = &tls.Config{MinVersion: tls.VersionTLS12}
		if err := e.readFiles(conf); err != nil {
			return nil, err
		}
	}
	if conf.ServerName == "" {
		conf.ServerName = orDefault(e.query.Get("server_name_indication"), e.host)
	}
	return conf, nil
}

func (e endpoint) readFiles(conf *tls.Config) error {
	if path := e.query.Get("cacertfile"); path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("rabbitmq: cacertfile: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("rabbitmq: cacertfile %s holds no certificate", path)
		}
	}
	cert, key := e.query.Get("certfile"), e.query.Get("keyfile")
	if cert == "" && key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("rabbitmq: certfile and keyfile: %w", err)
	}
	conf.Certificates = []tls.Certificate{pair}
	return nil
}
