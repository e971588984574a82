package identity_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// lister counts reads and can be made to fail.
type lister struct {
	values map[string]secret.Value
	reads  atomic.Int64
	err    atomic.Pointer[error]
}

func (l *lister) Secrets(ctx context.Context, _ string) (map[string]secret.Value, error) {
	l.reads.Add(1)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p := l.err.Load(); p != nil && *p != nil {
		return nil, *p
	}
	return l.values, nil
}

func (l *lister) fail(err error) { l.err.Store(&err) }

func setup(t *testing.T, edit func(*identity.Client)) (*identity.Clients, *lister, string, *time.Time) {
	t.Helper()
	id, token, hash, err := identity.NewToken(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	client := identity.Client{Name: "desk", SHA256: hash, Scopes: identity.Scopes{"call:*"}}
	if edit != nil {
		edit(&client)
	}
	raw, err := json.Marshal(client)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := &lister{values: map[string]secret.Value{id: secret.New(string(raw)), "broken000000": secret.New("{")}}
	return identity.NewClients(l, func() time.Time { return now }, slog.New(slog.DiscardHandler)), l, token.Reveal(), &now
}

func header(values ...string) http.Header {
	return http.Header{"Authorization": values}
}

func TestTokenIsAccepted(t *testing.T) {
	t.Parallel()
	c, _, token, _ := setup(t, nil)
	p, err := c.Authorize(t.Context(), header("bearer "+token))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "desk" || !strings.HasPrefix(p.ID, "client:") || p.Proof != "client token" {
		t.Errorf("principal = %+v", p)
	}
}

// TestI1I2DenyByDefault attacks I1 and I2: every wrong credential is nobody, and a malformed one causes no read.
func TestI1I2DenyByDefault(t *testing.T) {
	t.Parallel()
	_, _, other, _ := setup(t, nil)
	for name, row := range map[string]struct {
		header http.Header
		reads  int64
	}{
		"no header":             {http.Header{}, 0},
		"empty":                 {header(""), 0},
		"scheme only":           {header("Bearer "), 0},
		"two words":             {header("Bearer x y"), 0},
		"basic":                 {header("Basic eDp5"), 0},
		"10,000 characters":     {header("Bearer " + strings.Repeat("x", 10_000)), 0},
		"two headers":           {header("Bearer a", "Bearer b"), 0},
		"checksum wrong":        {header("Bearer " + other[:len(other)-1] + flip(other[len(other)-1])), 0},
		"well-formed, unknown":  {header("Bearer " + other), 1},
		"trailing newline":      {header("Bearer " + other + "\n"), 0},
		"upper-case identifier": {header("Bearer " + strings.ToUpper(other[:17]) + other[17:]), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, l, _, _ := setup(t, nil)
			p, err := c.Authorize(t.Context(), row.header)
			if fault.CodeOf(err) != fault.Unauthenticated {
				t.Errorf("err = %v, want unauthenticated", err)
			}
			if p.ID != "" || p.Scopes != nil {
				t.Errorf("principal = %+v, want nobody", p)
			}
			if got := l.reads.Load(); got != row.reads {
				t.Errorf("reads = %d, want %d", got, row.reads)
			}
		})
	}
}

func flip(c byte) string {
	if c == 'a' {
		return "b"
	}
	return "a"
}

func TestClientsThatMayNotCall(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*identity.Client){
		"disabled":        func(c *identity.Client) { c.Disabled = true },
		"expired":         func(c *identity.Client) { c.Expires = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		"no hash at all":  func(c *identity.Client) { c.SHA256 = "" },
		"another's token": func(c *identity.Client) { c.SHA256 = strings.Repeat("0", 64) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, token, _ := setup(t, edit)
			if _, err := c.Authorize(t.Context(), header("Bearer "+token)); fault.CodeOf(err) != fault.Unauthenticated {
				t.Errorf("err = %v, want unauthenticated", err)
			}
		})
	}
	t.Run("rotating: the next token works", func(t *testing.T) {
		t.Parallel()
		c, _, token, _ := setup(t, func(c *identity.Client) { c.SHA256, c.Next = strings.Repeat("0", 64), c.SHA256 })
		if _, err := c.Authorize(t.Context(), header("Bearer "+token)); err != nil {
			t.Error(err)
		}
	})
}

// TestI2OneReadForMany attacks I2: a thousand requests in one minute read the clients once.
func TestI2OneReadForMany(t *testing.T) {
	t.Parallel()
	c, l, token, now := setup(t, nil)
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			if _, err := c.Authorize(t.Context(), header("Bearer "+token)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := l.reads.Load(); got != 1 {
		t.Errorf("reads = %d, want 1", got)
	}
	*now = now.Add(61 * time.Second)
	l.fail(errors.New("throttled"))
	if _, err := c.Authorize(t.Context(), header("Bearer "+token)); err != nil {
		t.Errorf("a failing refresh locked a known client out: %v", err)
	}
	if got := l.reads.Load(); got != 2 {
		t.Errorf("reads = %d, want 2", got)
	}
}

// TestARevocationIsLateByABoundedTime revokes a client while the list is hard to read.
func TestARevocationIsLateByABoundedTime(t *testing.T) {
	t.Parallel()
	t.Run("callers hang up at each refresh", func(t *testing.T) {
		t.Parallel()
		c, l, token, now := setup(t, nil)
		if _, err := c.Authorize(t.Context(), header("Bearer "+token)); err != nil {
			t.Fatal(err)
		}
		l.values = nil
		*now = now.Add(61 * time.Second)
		hungUp, hangUp := context.WithCancel(t.Context())
		hangUp()
		_, _ = c.Authorize(hungUp, header("Bearer "+token))
		if _, err := c.Authorize(t.Context(), header("Bearer "+token)); fault.CodeOf(err) != fault.Unauthenticated {
			t.Errorf("err = %v: the client is still known", err)
		}
	})
	t.Run("the list cannot be read for long", func(t *testing.T) {
		t.Parallel()
		c, l, token, now := setup(t, nil)
		if _, err := c.Authorize(t.Context(), header("Bearer "+token)); err != nil {
			t.Fatal(err)
		}
		l.fail(errors.New("throttled"))
		for minute := 1; minute <= 20; minute++ {
			*now = now.Add(61 * time.Second)
			_, err := c.Authorize(t.Context(), header("Bearer "+token))
			if known := err == nil; known != (minute < 15) {
				t.Errorf("after %d minutes: %v", minute, err)
			}
			if err != nil && fault.CodeOf(err) != fault.Unavailable {
				t.Errorf("after %d minutes: %v, want unavailable", minute, err)
			}
		}
		l.fail(nil)
		if _, err := c.Authorize(t.Context(), header("Bearer "+token)); err != nil {
			t.Errorf("once it can be read again: %v", err)
		}
	})
}

func TestPrincipalIsFoundAgain(t *testing.T) {
	t.Parallel()
	c, l, token, now := setup(t, func(c *identity.Client) { c.Approver = "ana"; c.Expires = time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC) })
	p, err := c.Authorize(t.Context(), header("Bearer "+token))
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Principal(t.Context(), p.ID)
	if err != nil || again.ID != p.ID || again.Approver != "ana" || !again.Scopes.Allows("crm", "x", false) {
		t.Errorf("again = %+v, %v", again, err)
	}
	for _, id := range []string{"", "client:", "client:broken000000", "client:nobody", "iam:" + p.ID} {
		if _, err := c.Principal(t.Context(), id); fault.CodeOf(err) != fault.Forbidden {
			t.Errorf("%q: %v, want forbidden", id, err)
		}
	}
	*now = now.Add(time.Hour)
	if _, err := c.Principal(t.Context(), p.ID); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("expired: %v, want forbidden", err)
	}
	*now = now.Add(time.Hour)
	l.fail(errors.New("down"))
	if _, err := c.Principal(t.Context(), p.ID); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("unreadable: %v, want unavailable: a call is not refused for good because of an outage", err)
	}
}

func TestUnreadableClientsAreUnavailable(t *testing.T) {
	t.Parallel()
	c, l, token, _ := setup(t, nil)
	l.fail(errors.New("connection refused"))
	if _, err := c.Authorize(t.Context(), header("Bearer "+token)); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("err = %v, want unavailable", err)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		scopes   identity.Scopes
		tool     string
		readOnly bool
		want     bool
	}{
		"none":                         {nil, "search", true, false},
		"the connection":               {identity.Scopes{"call:crm"}, "search", false, true},
		"another connection":           {identity.Scopes{"call:crm2", "call:cr"}, "search", false, false},
		"everything":                   {identity.Scopes{"call:*"}, "search", false, true},
		"a glob that matches":          {identity.Scopes{"call:crm/se*"}, "search", false, true},
		"a glob that does not":         {identity.Scopes{"call:crm/del*"}, "search", false, false},
		"a broken glob grants nothing": {identity.Scopes{"call:crm/[", "call:crm/["}, "[", false, false},
		"read on a read-only tool":     {identity.Scopes{"read:crm"}, "search", true, true},
		"read on a writing tool":       {identity.Scopes{"read:crm"}, "search", false, false},
		"an unknown verb":              {identity.Scopes{"admin:crm", "crm", "*"}, "search", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := row.scopes.Allows("crm", row.tool, row.readOnly); got != row.want {
				t.Errorf("Allows = %v, want %v", got, row.want)
			}
		})
	}
}
