package identity

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/secret"
)

const (
	// refreshAfter is how long loaded clients are used; a revoked client is refused at the latest this much later.
	refreshAfter = 60 * time.Second
	// useStale bounds how long the last good list serves while it cannot be read again, and so how late a revocation may come then.
	useStale = 15 * time.Minute
	// readTime bounds one read of all clients.
	readTime = 10 * time.Second
)

// Clients authorizes client tokens. It loads all clients together, at first use and when they are a minute old.
type Clients struct {
	source secret.Lister
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	byID    map[string]Client
	loaded  time.Time     // when byID was read
	tried   time.Time     // when it was last tried to read it
	loading chan struct{} // closed when the load under way ends
	lastErr error
}

// NewClients returns an authorizer over the client records of source.
func NewClients(source secret.Lister, now func() time.Time, log *slog.Logger) *Clients {
	if source == nil || now == nil || log == nil {
		panic("identity.NewClients: nil dependency")
	}
	return &Clients{source: source, now: now, log: log}
}

// Authorize implements Authorizer for "Authorization: Bearer cst1...." (I1, I2, I3).
func (c *Clients) Authorize(ctx context.Context, h http.Header) (Principal, error) {
	token, ok := bearer(h)
	if !ok {
		return Principal{}, fault.New(fault.Unauthenticated, "no client token: send \"Authorization: Bearer cst1...\"")
	}
	id, ok := TokenID(token)
	if !ok {
		return Principal{}, fault.New(fault.Unauthenticated, "the client token is malformed: copy it whole, it begins with cst1. and has 69 characters")
	}
	clients, err := c.load(ctx)
	if err != nil {
		return Principal{}, fault.Wrap(err, fault.Unavailable, "the client list cannot be read now; try again in a few seconds")
	}
	client, known := clients[id]
	hash := hashToken(token)
	// Both comparisons always run, also for an unknown id, so that timing does not tell which ids exist (I3).
	current, next := equalHash(client.SHA256, hash), equalHash(client.Next, hash)
	switch {
	case !known || !(current || next) || client.Disabled:
		return Principal{}, fault.New(fault.Unauthenticated, "the client token is not known here: ask the operator for a new one")
	case !client.Expires.IsZero() && !c.now().Before(client.Expires):
		return Principal{}, fault.New(fault.Unauthenticated, "the client token has expired: ask the operator for a new one")
	}
	return principal(id, client), nil
}

// Principal finds a client again by its principal id, long after its request: it answers Forbidden when the client is gone,
// disabled or expired by now.
func (c *Clients) Principal(ctx context.Context, id string) (Principal, error) {
	clients, err := c.load(ctx)
	if err != nil {
		return Principal{}, fault.Wrap(err, fault.Unavailable, "the client list cannot be read now; try again in a few seconds")
	}
	key := strings.TrimPrefix(id, "client:")
	client, known := clients[key]
	if !known || client.Disabled || !client.Expires.IsZero() && !c.now().Before(client.Expires) {
		return Principal{}, fault.New(fault.Forbidden, "client %q may not call any more", id)
	}
	return principal(key, client), nil
}

func principal(id string, c Client) Principal {
	return Principal{ID: "client:" + id, Name: c.Name, Proof: "client token", Scopes: c.Scopes, Context: c.Context, Approver: c.Approver}
}

// bearer returns the token of the one Authorization header; two headers, another scheme or a token with blanks are refused.
func bearer(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return token, token != ""
}

func equalHash(stored, got string) bool {
	equal := subtle.ConstantTimeCompare([]byte(stored), []byte(got)) == 1
	return equal && stored != ""
}

// load returns the clients by id. Of many requests that find them stale, one reads and the others wait for it. When a refresh fails,
// clients read before keep working for a while: an outage must not lock everybody out at once, nor keep a revoked client in for long.
func (c *Clients) load(ctx context.Context) (map[string]Client, error) {
	c.mu.Lock()
	for {
		if c.byID != nil && c.now().Sub(c.tried) < refreshAfter {
			defer c.mu.Unlock()
			return c.byID, nil
		}
		if c.loading == nil {
			break
		}
		wait := c.loading
		c.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c.mu.Lock()
		if c.byID == nil && c.lastErr != nil {
			defer c.mu.Unlock()
			return nil, c.lastErr
		}
	}
	done := make(chan struct{})
	c.loading = done
	c.mu.Unlock()

	// The read serves all who wait, so it does not end with the request that happens to make it: callers who hang up could else keep
	// a list stale for ever.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTime)
	read, err := c.read(bounded)
	cancel()

	c.mu.Lock()
	defer c.mu.Unlock()
	c.loading, c.lastErr, c.tried = nil, err, c.now()
	close(done)
	switch {
	case err == nil:
		c.byID, c.loaded = read, c.tried
	case c.byID != nil && c.tried.Sub(c.loaded) < useStale:
		c.log.Warn("clients are stale: the last good list stays in use", "since", c.loaded, "err", err)
	default:
		c.byID = nil
		return nil, err
	}
	return c.byID, nil
}

func (c *Clients) read(ctx context.Context) (map[string]Client, error) {
	raw, err := c.source.Secrets(ctx, "clients")
	if err != nil {
		return nil, err
	}
	out := make(map[string]Client, len(raw))
	for id, value := range raw {
		client, err := ParseClient([]byte(value.Reveal()))
		if err != nil {
			// One unusable record must not lock the others out; its client is refused (I1).
			c.log.Error("client record is ignored", "client", id, "err", err)
			continue
		}
		out[id] = client
	}
	return out, nil
}
