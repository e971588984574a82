package dev_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/dev"
)

// start starts a gateway on dir and stops it at the end of the test.
func start(t *testing.T, c dev.Config) *dev.Gateway {
	t.Helper()
	g, err := dev.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, g) })
	return g
}

func stop(t *testing.T, g *dev.Gateway) {
	t.Helper()
	if err := g.Close(context.Background()); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("closing: %v", err)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestD1ARestartKeepsAddressesAndToken attacks D1 as far as one process can: the end-to-end stories kill the whole process.
func TestD1ARestartKeepsAddressesAndToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := dev.Start(t.Context(), dev.Config{Dir: dir, Demo: true})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, first)
	second := start(t, dev.Config{Dir: dir, Demo: true})
	before, after := first.State, second.State
	before.AWSEndpoint, after.AWSEndpoint = "", "" // nobody keeps it: the command reads it anew
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("state changed (-first +second):\n%s", diff)
	}
	if !first.Token.Equal(second.Token) || first.Token.IsZero() {
		t.Error("the token changed")
	}
	if after.DemoPort == 0 {
		t.Error("the demo server's port is not kept: what waits for approval is bound to its address")
	}
	kept, err := dev.ReadState(dir)
	if err != nil || kept.AWSEndpoint != second.AWSEndpoint {
		t.Errorf("the folder says %+v, %v", kept, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("token file: %v, %v", info.Mode(), err)
	}
}

// TestD1ATokenWithoutItsClientIsReplaced deletes the stand-in's data and leaves the rest of the folder.
func TestD1ATokenWithoutItsClientIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := dev.Start(t.Context(), dev.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	stop(t, first)
	if err := os.RemoveAll(filepath.Join(dir, "aws")); err != nil {
		t.Fatal(err)
	}
	second := start(t, dev.Config{Dir: dir})
	if first.Token.Equal(second.Token) {
		t.Error("the token of a client that is gone is printed")
	}
	if status := ask(t, second.Endpoint, second.Token.Reveal()); status == http.StatusUnauthorized {
		t.Error("the new token is refused")
	}
}

// ask sends a request that an authorized client is refused with something else than 401.
func ask(t *testing.T, endpoint, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// TestD2NothingListensBeyondLoopback attacks D2.
func TestD2NothingListensBeyondLoopback(t *testing.T) {
	t.Parallel()
	g := start(t, dev.Config{Dir: t.TempDir(), Demo: true})
	for name, address := range map[string]string{"endpoint": g.Endpoint, "pages": g.ApproveURL, "stand-in": g.AWSEndpoint} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
			t.Errorf("%s is at %s", name, address)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(g.Endpoint)
	for _, a := range addresses {
		ip, _, err := net.ParseCIDR(a.String())
		if err != nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
			continue
		}
		if c, err := net.Dial("tcp", net.JoinHostPort(ip.String(), u.Port())); err == nil {
			c.Close()
			t.Errorf("the endpoint can be reached at %s", ip)
		}
	}
}

// TestD3AStartThatFailsNamesTheCureAndLeavesNothing attacks D3.
func TestD3AStartThatFailsNamesTheCureAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		prepare func(*testing.T, *dev.Config)
		says    []string
	}{
		"a connection file with mistakes": {func(t *testing.T, c *dev.Config) {
			c.Connections = filepath.Dir(write(t, filepath.Join(t.TempDir(), "connections", "crm.yml"), "url: https://x.example.test/mcp\napproval: ask\neffect: twice\n"))
		}, []string{"connections/crm.yml:2:11", "connections/crm.yml:3:9"}},
		"settings with a mistake": {func(t *testing.T, c *dev.Config) {
			c.Settings = write(t, filepath.Join(t.TempDir(), "countersign.yml"), "approvers: 7\n")
		}, []string{"countersign.yml:1:12"}},
		"a connection named like the demo's": {func(t *testing.T, c *dev.Config) {
			c.Demo = true
			c.Connections = filepath.Dir(write(t, filepath.Join(t.TempDir(), "connections", "pay.yml"), "url: https://x.example.test/mcp\n"))
		}, []string{"pay.yml", "--no-demo"}},
		"variables that are none": {func(t *testing.T, c *dev.Config) {
			c.Vars = write(t, filepath.Join(t.TempDir(), "vars"), "A=1\nnonsense\n")
		}, []string{"vars:2", "NAME=value"}},
		"no such file of variables": {func(t *testing.T, c *dev.Config) { c.Vars = filepath.Join(t.TempDir(), "none") }, []string{"none"}},
		"a damaged state file": {func(t *testing.T, c *dev.Config) {
			write(t, filepath.Join(c.Dir, "local.json"), "{")
		}, []string{"local.json", "delete the file"}},
		"a port that is taken": {func(t *testing.T, c *dev.Config) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			c.Port = l.Addr().(*net.TCPAddr).Port
		}, []string{"cannot have port"}},
		"a folder that is a file": {func(t *testing.T, c *dev.Config) {
			c.Dir = write(t, filepath.Join(t.TempDir(), "data"), "")
		}, []string{"data folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dev.Config{Dir: t.TempDir()}
			row.prepare(t, &c)
			g, err := dev.Start(t.Context(), c)
			if err == nil {
				stop(t, g)
				t.Fatal("it starts")
			}
			for _, want := range row.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("err = %v\nwant it to say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") && !errors.As(err, new(conn.Problems)) {
				t.Errorf("one cause, several errors: %v", err)
			}
			if strings.HasPrefix(name, "a folder") || strings.HasPrefix(name, "a damaged") {
				return
			}
			start(t, dev.Config{Dir: c.Dir}) // the folder is free again
		})
	}
	t.Run("a folder that another gateway uses", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first := start(t, dev.Config{Dir: dir})
		if _, err := dev.Start(t.Context(), dev.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("err = %v, want the folder named", err)
		}
		if status := ask(t, first.Endpoint, first.Token.Reveal()); status == http.StatusUnauthorized {
			t.Errorf("the first gateway was disturbed: %d", status)
		}
	})
}

// TestD4TheFolderHoldsOnlyAHash attacks D4: another token is refused, and the stand-in's data holds no token.
func TestD4TheFolderHoldsOnlyAHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := start(t, dev.Config{Dir: dir})
	other := start(t, dev.Config{Dir: t.TempDir()})
	if status := ask(t, g.Endpoint, other.Token.Reveal()); status != http.StatusUnauthorized {
		t.Errorf("another folder's token: %d", status)
	}
	err := filepath.WalkDir(filepath.Join(dir, "aws"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(g.Token.Reveal())) {
			t.Errorf("%s holds the token", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVariablesFile(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		text string
		want map[string]string
		says string // of the error
	}{
		"names, paths, comments and blank lines": {"# ours\n\nCRM_REGION=eu\n credentials/crm/token=a=b c \n", map[string]string{"vars/CRM_REGION": "eu", "credentials/crm/token": "a=b c"}, ""},
		"windows line ends":                      {"A=1\r\nB=2\r\n", map[string]string{"vars/A": "1", "vars/B": "2"}, ""},
		"nothing":                                {"", map[string]string{}, ""},
		"no value":                               {"A=1\nB=\n", nil, ":2: expected NAME=value"},
		"no name":                                {"=canary\n", nil, ":1: expected NAME=value"},
		"a name with spaces":                     {"export A=canary\n", nil, ":1: expected NAME=value"},
		"twice":                                  {"A=canary\nB=2\nA=canary\n", nil, ":3: A is given on line 1 already"},
		"twice, by its path":                     {"A=1\nvars/A=canary\n", nil, ":2: vars/A is given on line 1 already"},
		"a value in quotes":                      {"A=1\nB=\"canary\"\n", nil, ":2: the value of B stands in quotes"},
		"a value in single quotes":               {"B='canary'\n", nil, ":1: the value of B stands in quotes"},
		"a quote inside a value":                 {"A=x\"y\n", map[string]string{"vars/A": "x\"y"}, ""},
		"a line without end":                     {"A=" + strings.Repeat("canary", 20_000), nil, "token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := write(t, filepath.Join(t.TempDir(), "vars"), row.text)
			got, err := dev.ReadVars(file)
			if row.says == "" {
				if diff := cmp.Diff(row.want, got); diff != "" || err != nil {
					t.Errorf("(-want +got):\n%s%v", diff, err)
				}
				return
			}
			text := fmt.Sprint(err)
			if got != nil || !strings.Contains(text, file) || !strings.Contains(text, row.says) || strings.Contains(text, "canary") {
				t.Errorf("err = %s, want the file and %q, and no value", text, row.says)
			}
		})
	}
	if _, err := dev.ReadVars(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("err = %v", err)
	}
}

func TestStateFile(t *testing.T) {
	t.Parallel()
	if _, err := dev.ReadState(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "local.json"), "{\"demo_port\":\"x\"}")
	if _, err := dev.ReadState(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "local.json")) {
		t.Errorf("a damaged file: %v", err)
	}
}
