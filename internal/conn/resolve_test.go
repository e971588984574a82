package conn_test

import (
	"context"
	"encoding/json"
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
			got, err := conn.Connection{Name: "crm", URL: row.url, Auth: row.auth}.Resolve(t.Context(), source, nil)
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
			got, err := conn.Connection{Name: "crm", URL: row.url, Auth: row.auth}.Resolve(t.Context(), row.source, nil)
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

// TestResolveFillsHeaders is C12 where everything is there.
func TestResolveFillsHeaders(t *testing.T) {
	t.Parallel()
	source := &counted{stored: stored{"vars/REGION": "eu", "vars/KEY": "k-1", "vars/HOST": "mcp.example.com", "credentials/t": "tok-1"}}
	c := conn.Connection{
		Name: "crm", URL: "https://${HOST}/${REGION}/mcp", Auth: &conn.Auth{Type: "bearer", Credential: "t"},
		Headers: map[string]string{
			"X-Region": "${REGION}", "X-Key": "Key ${KEY}, for ${REGION}", "X-User": "${context.user.id}/${context.n}", "X-Fixed": "0123",
			"X-Flags": "${context.on}", "X-Big": "${context['big-one']}",
		},
	}
	got, err := c.Resolve(t.Context(), source, map[string]any{
		"user": map[string]any{"id": "ana"}, "n": json.Number("1.50"), "on": true, "big-one": json.Number("9007199254740993"), "other": nil,
	})
	if err != nil {
		t.Fatal(err)
	}
	header := map[string]string{}
	for name, value := range got.Header {
		header[name] = value.Reveal()
	}
	want := map[string]string{
		"Authorization": "Bearer tok-1", "X-Region": "eu", "X-Key": "Key k-1, for eu", "X-User": "ana/1.5", "X-Fixed": "0123",
		"X-Flags": "true", "X-Big": "9007199254740993",
	}
	if diff := cmp.Diff(want, header); diff != "" || got.URL != "https://mcp.example.com/eu/mcp" {
		t.Errorf("Resolve = %s, header (-want +got):\n%s", got.URL, diff)
	}
	if source.reads["vars/REGION"] != 1 {
		t.Errorf("vars/REGION was read %d times, want once for all that name it", source.reads["vars/REGION"])
	}
	paths := []string{"context.n", "context.on", "context.user.id", "context['big-one']"}
	if diff := cmp.Diff(paths, c.ContextPaths()); diff != "" {
		t.Errorf("ContextPaths (-want +got):\n%s", diff)
	}
}

// counted is a source that counts its reads.
type counted struct {
	stored
	reads map[string]int
}

func (s *counted) Secret(ctx context.Context, path string) (secret.Value, error) {
	if s.reads == nil {
		s.reads = map[string]int{}
	}
	s.reads[path]++
	return s.stored.Secret(ctx, path)
}

// TestResolveIsStrictAboutContext attacks C12 and C8: nothing is sent without what belongs to it, and no error repeats a value.
func TestResolveIsStrictAboutContext(t *testing.T) {
	t.Parallel()
	c := conn.Connection{Name: "crm", URL: "https://h.example", Headers: map[string]string{"X-User-Id": "u-${context.user.id}"}}
	for _, row := range []struct {
		name     string
		context  map[string]any
		mentions string
	}{
		{"no context at all", nil, "context.user.id is missing"},
		{"a missing member", map[string]any{"user": map[string]any{"name": "s3cret"}}, "context.user.id is missing"},
		{"a member of what has none", map[string]any{"user": "s3cret"}, "context.user.id is missing"},
		{"null", map[string]any{"user": map[string]any{"id": nil}}, "context.user.id is null"},
		{"an empty text", map[string]any{"user": map[string]any{"id": ""}}, "context.user.id is empty"},
		{"a list", map[string]any{"user": map[string]any{"id": []any{"s3cret"}}}, "context.user.id is a list"},
		{"an object", map[string]any{"user": map[string]any{"id": map[string]any{"s3cret": 1}}}, "context.user.id is an object"},
		{"a line break", map[string]any{"user": map[string]any{"id": "s3cret\r\nX-Admin: 1"}}, "context.user.id holds a line break"},
		{"a line end alone", map[string]any{"user": map[string]any{"id": "s3cret\n"}}, "context.user.id holds a line break"},
		{"another script", map[string]any{"user": map[string]any{"id": "s3crèt-s3cret"}}, "context.user.id holds characters other than visible ASCII"},
		{"a control character", map[string]any{"user": map[string]any{"id": "s3cret\x00"}}, "context.user.id holds characters other than visible ASCII"},
		{"a space around it", map[string]any{"user": map[string]any{"id": "s3cret "}}, "context.user.id begins or ends with a space"},
		{"a value that is too long", map[string]any{"user": map[string]any{"id": strings.Repeat("s3cret", 1000)}}, "headers.X-User-Id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := c.Resolve(t.Context(), stored{}, row.context)
			if err == nil || got.Header != nil || got.URL != "" {
				t.Fatalf("Resolve = %+v, %v; want an error alone", got, err)
			}
			if !strings.Contains(err.Error(), row.mentions) || !strings.Contains(err.Error(), "crm") {
				t.Errorf("the error does not mention %q: %v", row.mentions, err)
			}
			if strings.Contains(err.Error(), "s3cr") {
				t.Errorf("the error repeats the value: %v", err)
			}
			var fault *conn.ResolveError
			if !errors.As(err, &fault) || fault.Connection != "crm" || strings.HasPrefix(row.mentions, "context.") && fault.Context != "context.user.id" {
				t.Errorf("%+v does not name the member", fault)
			}
		})
	}
}

// TestResolveNamesEverythingThatIsMissing: one deploy must not be needed for each value.
func TestResolveNamesEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	c := conn.Connection{
		Name: "crm", URL: "https://${HOST}/mcp", Auth: &conn.Auth{Type: "bearer", Credential: "t"},
		Headers: map[string]string{"A": "${REGION} ${context.a}", "B": "${REGION}${context.b}"},
	}
	_, err := c.Resolve(t.Context(), stored{}, nil)
	want := `connection crm needs vars/HOST: /countersign/dev/vars/HOST: no secret is stored there
connection crm needs credentials/t: /countersign/dev/credentials/t: no secret is stored there
connection crm needs vars/REGION: /countersign/dev/vars/REGION: no secret is stored there
connection crm: context.a is missing, and is needed for the header A
connection crm: context.b is missing, and is needed for the header B`
	want = strings.ReplaceAll(want, "no secret is stored there", secret.ErrNotFound.Error())
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func TestResolveForDiscoveryTakesTheDeploysOwnValues(t *testing.T) {
	t.Parallel()
	c := parsed(t, "auth: {type: bearer, credential: call}\nheaders: {X-User: \"${context.user}\"}\ndiscovery: {credential: deploy, context: {user: demo}}\n")
	source := stored{"credentials/call": "call-time", "credentials/deploy": "deploy-time"}
	listing, got, err := c.ResolveForDiscovery(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	if listing.Auth.Credential != "deploy" || c.Auth.Credential != "call" {
		t.Errorf("the credentials are %s and %s", listing.Auth.Credential, c.Auth.Credential)
	}
	if a, u := got.Header["Authorization"].Reveal(), got.Header["X-User"].Reveal(); a != "Bearer deploy-time" || u != "demo" {
		t.Errorf("the deploy sends %q and %q", a, u)
	}
	got, err = c.Resolve(t.Context(), source, map[string]any{"user": "ana"})
	if err != nil {
		t.Fatal(err)
	}
	if a, u := got.Header["Authorization"].Reveal(), got.Header["X-User"].Reveal(); a != "Bearer call-time" || u != "ana" {
		t.Errorf("a call sends %q and %q", a, u)
	}
	c.Discovery = nil
	_, _, err = c.ResolveForDiscovery(t.Context(), source)
	const want = "connection pay: context.user is missing, and is needed for the header X-User; the deploy has no caller, so name a value under discovery.context"
	if err == nil || err.Error() != want {
		t.Errorf("without discovery: %v, want %s", err, want)
	}
}

// With oauth and no auth there is no user at the deploy: what discovery names goes where the user's own token would.
func TestResolveForDiscoverySendsItsCredentialInThePlaceOfAUsersToken(t *testing.T) {
	t.Parallel()
	c := parsed(t, "oauth: {app: pay, user: context.user_id}\ndiscovery: {credential: deploy}\n")
	listing, got, err := c.ResolveForDiscovery(t.Context(), stored{"credentials/deploy": "deploy-time"})
	if err != nil {
		t.Fatal(err)
	}
	if a := got.Header["Authorization"].Reveal(); a != "Bearer deploy-time" || listing.Auth.Credential != "deploy" || c.Auth != nil {
		t.Errorf("the deploy sends %q as %+v, and calls use %+v", a, listing.Auth, c.Auth)
	}
}

func TestKeepContextKeepsWhatIsNamed(t *testing.T) {
	t.Parallel()
	user := map[string]any{"id": "ana", "mail": "ana@h.example"}
	whole := map[string]any{"user": user, "role": "admin", "tags": []any{"a"}, "x-y": 1, "none": nil}
	for _, row := range []struct {
		name  string
		paths []string
		want  map[string]any
	}{
		{"nothing", nil, map[string]any{}},
		{"a member", []string{"context.role"}, map[string]any{"role": "admin"}},
		{"a member of a member", []string{"context.user.id"}, map[string]any{"user": map[string]any{"id": "ana"}}},
		{"a member with another spelling", []string{"context['x-y']"}, map[string]any{"x-y": 1}},
		{"null, which is not missing", []string{"context.none"}, map[string]any{"none": nil}},
		{"what is missing", []string{"context.tenant", "context.user.name", "context.role.x"}, map[string]any{"user": map[string]any{}}},
		{"a whole and a part of it", []string{"context.user", "context.user.id"}, map[string]any{"user": user}},
		{"what is no path", []string{"role", "context", "param.a", "context.a or context.b"}, map[string]any{}},
	} {
		got := conn.KeepContext(whole, row.paths)
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s: KeepContext (-want +got):\n%s", row.name, diff)
		}
	}
	if len(user) != 2 || len(whole) != 5 {
		t.Errorf("KeepContext changed what it was given: %v", whole)
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
