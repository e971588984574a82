package upstream

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"net"
	"net/url"
	"sort"
	"sync"
	"syscall"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
)

// Config is how a Client reaches servers. Its zero value is ready for use.
type Config struct {
	// Name and Version are what servers are told of us. Default "countersign" and "dev".
	Name, Version string

	// Control judges every address after DNS and before the TCP handshake; an error refuses it. Nil allows all.
	Control func(network, address string, c syscall.RawConn) error

	// Dial replaces the TCP dialer, with Control; for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// TLS is the base of every handshake; nil is the system's roots. ServerName and NextProtos are set per connection.
	TLS *tls.Config

	// Log gets what is not an error of one call: a session that was renewed, an era that changed.
	Log *slog.Logger

	// Sleep waits between attempts of a read; tests replace it. It returns early with the context's error.
	Sleep func(ctx context.Context, d time.Duration) error

	// DialTimeout bounds DNS, TCP and TLS together. Default 10 s.
	DialTimeout time.Duration

	// ReadTimeout bounds one request that is not a tools/call: initialize, tools/list. Default 20 s.
	ReadTimeout time.Duration
}

// Client reaches remote servers. It implements gateway.Upstream and catalog.Discoverer, for any number of connections, and
// may be used concurrently.
type Client struct {
	config Config

	mu       sync.Mutex
	sessions map[string]session        // by identity (U8)
	learned  map[string]catalog.Server // by address: what a refused call taught us about a server since the catalog was built
}

var (
	_ gateway.Upstream   = (*Client)(nil)
	_ catalog.Discoverer = (*Client)(nil)
)

// session is a legacy server's session. Its id is empty where the server keeps none.
type session struct {
	id      string
	version string
}

// maxSessions bounds what is remembered. A forgotten session costs one initialize.
const maxSessions = 4096

// New returns a client.
func New(config Config) *Client {
	if config.Name == "" {
		config.Name = "countersign"
	}
	if config.Version == "" {
		config.Version = "dev"
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Sleep == nil {
		config.Sleep = sleep
	}
	if config.DialTimeout <= 0 {
		config.DialTimeout = 10 * time.Second
	}
	if config.ReadTimeout <= 0 {
		config.ReadTimeout = 20 * time.Second
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{Control: config.Control}).DialContext
	}
	if config.TLS == nil {
		config.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.TLS = config.TLS.Clone()
	if config.TLS.ClientSessionCache == nil {
		config.TLS.ClientSessionCache = tls.NewLRUClientSessionCache(64) // a resumed handshake: every call makes one
	}
	return &Client{config: config, sessions: map[string]session{}, learned: map[string]catalog.Server{}}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// peer is one server as one caller reaches it.
type peer struct {
	client   *Client
	name     string // the connection
	file     string
	auth     *conn.Auth
	oauth    bool // users sign in
	url      *url.URL
	resolved conn.Resolved
}

func (c *Client) peer(cn conn.Connection, r conn.Resolved) (peer, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		// The parser's error quotes the address, which may hold a variable known to few (U9).
		return peer{}, &gateway.NotSent{Stage: "resolve", Reason: "the url of connection " + cn.Name + " is not an http or https address; mend it in " + orFile(cn.File)}
	}
	return peer{client: c, name: cn.Name, file: cn.File, auth: cn.Auth, oauth: cn.OAuth != nil, url: u, resolved: r}, nil
}

func orFile(file string) string {
	if file == "" {
		return "its connection file"
	}
	return file
}

// host is how a server is named in messages.
func (p peer) host() string { return p.url.Host }

// address is what is dialled.
func (p peer) address() string {
	port := p.url.Port()
	if port == "" {
		port = "80"
		if p.url.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(p.url.Hostname(), port)
}

// identity is the key of a session: who we are to this server (U8).
func (p peer) identity(actingUser string) string {
	h := sha256.New()
	field := func(s string) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	field(p.name)
	field(p.resolved.URL)
	field(actingUser)
	names := make([]string, 0, len(p.resolved.Header))
	for name := range p.resolved.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		field(name)
		field(p.resolved.Header[name].Reveal())
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (c *Client) session(identity string) (session, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.sessions[identity]
	return s, ok
}

// keep remembers a session, never more than maxSessions. The server is not told of one that is dropped: DELETE could end a
// session that another process shares.
func (c *Client) keep(identity string, s session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.sessions {
		if len(c.sessions) < maxSessions {
			break
		}
		delete(c.sessions, other)
	}
	c.sessions[identity] = s
}

func (c *Client) forget(identity string, s session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[identity] == s {
		delete(c.sessions, identity)
	}
}

// known returns what is known of the server: what a refused call taught us, else what the catalog remembers.
func (c *Client) known(p peer, remembered catalog.Server) catalog.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.learned[p.resolved.URL]; ok {
		return s
	}
	return remembered
}

func (c *Client) learn(p peer, s catalog.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.learned) >= maxSessions {
		clear(c.learned)
	}
	c.learned[p.resolved.URL] = s
}
