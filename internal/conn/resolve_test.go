package conn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/google/go-cmp/cmp"
)

// stored is a secret.Source over a map.
type stored map[string]string

func (s stored) Secret(_ context.Context, path string) (secret.Value, error) {
	text, ok := s[path]
	if !ok {
		return secret.Value{}, fmt.Errorf("/countersign/dev/%s: %w", path, secret.ErrNotFound)
	}
	return secret.New(text), nil
}

func TestResolveGivesWhatGoesOnTheWire(t *testing.T) {
	t.Parallel()
	source := stored{
		"credentials/crm/mcp_token": "tok-1", "vars/HOST": "mcp.example.com", "vars/URL": "https://all.example.com/mcp",
		"vars/LOCAL": "localhost:3001", "vars/TENANT": "eu",
	}
	bearer := &conn.Auth{Type: "bearer", Credential: "crm.mcp_token"}
	for _, row := range []struct {
		name, url string
		auth      *conn.Auth
		wantURL   string
		header    map[string]string
	}{
		{"a url as it is, without auth", "https://h.example/mcp", nil, "https://h.example/mcp", map[string]string{}},
		{"a bearer token", "https://h.example/mcp", bearer, "https://h.example/mcp", map[string]string{"Authorization": "Bearer tok-1"}},
		{
			"a header of its own", "https://h.example/mcp", &conn.Auth{Type: "header", Header: "X-Api-Key", Credential: "crm.mcp_token"},
			"https://h.example/mcp", map[string]string{"X-Api-Key": "tok-1"},
		},
		{"a host from a variable", "https://${HOST}/mcp", nil, "https://mcp.example.com/mcp", map[string]string{}},
		{"the whole url from a variable", "${URL}", nil, "https://all.example.com/mcp", map[string]string{}},
		{"http to this machine from a variable", "http://${LOCAL}/mcp", nil, "http://localhost:3001/mcp", map[string]string{}},
		{"two variables, one of them twice", "https://${TENANT}.${HOST}/${TENANT}", nil, "https://eu.mcp.example.com/eu", map[string]string{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := conn.Connection{Name: "crm", URL: row.url, Auth: row.auth}.Resolve(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			header := map[string]string{}
			for name, value := range got.Header {
				header[name] = value.Reveal()
			}
			if got.URL != row.wantURL || !cmp.Equal(header, row.header) {
				t.Errorf("Resolve = %q and %v, want %q and %v", got.URL, header, row.wantURL, row.header)
			}
		})
	}
}

// TestResolveRefuses attacks C6 and C8: the resolved URL is judged like one in a file, and no error repeats a value. Each
// value below holds "s3cret" where it could leak.
func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	bearer := &conn.Auth{Type: "bearer", Credential: "crm.mcp_token"}
	const path = "credentials/crm/mcp_token"
	for _, row := range []struct {
		name, url string
		auth      *conn.Auth
		source    stored
		mentions  []string
	}{
		{"a missing variable", "https://${HOST}/mcp", nil, stored{}, []string{"crm", "vars/HOST"}},
		{"a missing credential", "https://h.example", bearer, stored{}, []string{"crm", path}},
		{"both at once", "https://${HOST}/mcp", bearer, stored{}, []string{"vars/HOST", path}},
		{"an empty variable", "https://h.example/${T}", nil, stored{"vars/T": ""}, []string{"vars/T", "empty"}},
		{"a variable with a line break", "https://${HOST}/mcp", nil, stored{"vars/HOST": "s3cret.example\n"}, []string{"vars/HOST", "line break"}},
		{"a variable that adds a header", "https://h.example/${T}", nil, stored{"vars/T": "s3cret HTTP/1.1\r\nX-Admin: 1"}, []string{"vars/T", "line break"}},
		{"a variable in another script", "https://${HOST}/mcp", nil, stored{"vars/HOST": "s3cret.p\u0430ypal.example"}, []string{"vars/HOST", "ASCII"}},
		{"a variable with a space inside", "https://h.example/${T}", nil, stored{"vars/T": "s3cret x"}, []string{"vars/T", "space"}},
		{"plaintext to another machine", "http://${HOST}/mcp", nil, stored{"vars/HOST": "s3cret.example"}, []string{"vars/HOST", "plaintext"}},
		{"plaintext by the whole url", "${URL}", nil, stored{"vars/URL": "http://s3cret.example/mcp"}, []string{"vars/URL", "plaintext"}},
		{"plaintext hidden in a scheme", "${S}://h.example", nil, stored{"vars/S": "http"}, []string{"vars/S", "plaintext"}},
		{"a host that turns out to be a user", "https://${HOST}.example/mcp", nil, stored{"vars/HOST": "h.example@s3cret"}, []string{"vars/HOST", "user"}},
		{"a url that turns out to be a user", "${BASE}@evil.example/mcp", nil, stored{"vars/BASE": "https://s3cret"}, []string{"vars/BASE", "user"}},
		{"a variable that names a key in the query", "https://h.example/mcp?${Q}", nil, stored{"vars/Q": "api_key=s3cret"}, []string{"vars/Q", "query"}},
		{"a variable that cuts the rest off", "https://h.example/${T}/mcp", nil, stored{"vars/T": "s3cret#"}, []string{"vars/T", "fragment"}},
		{"a placeholder inside of a variable", "https://${HOST}/mcp", nil, stored{"vars/HOST": "${s3cret}"}, []string{"vars/HOST"}},
		{"another scheme", "${URL}", nil, stored{"vars/URL": "ftp://s3cret.example"}, []string{"vars/URL", "https://"}},
		{"a variable that is a token", "${URL}", nil, stored{"vars/URL": "s3cret"}, []string{"vars/URL", "scheme"}},
		{"a token with a line break", "https://h.example", bearer, stored{path: "s3cret\n"}, []string{"crm", path, "line break"}},
		{"a token with a character of another script", "https://h.example", bearer, stored{path: "s3cr\u00e9t-s3cret"}, []string{path, "ASCII"}},
		{"a token with a space before it", "https://h.example", bearer, stored{path: " s3cret"}, []string{path, "space"}},
		{"an empty token", "https://h.example", bearer, stored{path: ""}, []string{path, "empty"}},
		{"a token that begins with Bearer", "https://h.example", bearer, stored{path: "bearer s3cret"}, []string{path, "Bearer"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := conn.Connection{Name: "crm", URL: row.url, Auth: row.auth}.Resolve(t.Context(), row.source)
			if err == nil {
				t.Fatalf("Resolve = %+v, want an error", got)
			}
			for _, mention := range row.mentions {
				if !strings.Contains(err.Error(), mention) {
					t.Errorf("the error does not mention %q: %v", mention, err)
				}
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error repeats the value: %v", err)
			}
			if len(row.source) == 0 && !errors.Is(err, secret.ErrNotFound) {
				t.Errorf("errors.Is(err, secret.ErrNotFound) = false for %v", err)
			}
			if fault := (*conn.ResolveError)(nil); !errors.As(err, &fault) || fault.Connection != "crm" {
				t.Errorf("%v is not a *ResolveError of crm", err)
			}
			if got.URL != "" || got.Header != nil {
				t.Errorf("Resolve returned %+v beside its error", got)
			}
		})
	}
}

func TestAuthPath(t *testing.T) {
	t.Parallel()
	for credential, want := range map[string]string{
		"crm.mcp_token": "credentials/crm/mcp_token",
		"token":         "credentials/token",
		"a.b.c":         "credentials/a/b/c",
	} {
		if got := (conn.Auth{Credential: credential}).Path(); got != want {
			t.Errorf("Path of %s = %s, want %s", credential, got, want)
		}
	}
}
