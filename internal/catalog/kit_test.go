package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// servers answers Discover from memory, by connection.
type servers map[string]server

type server struct {
	tools []json.RawMessage
	err   error
	hang  bool
}

// hanging is far above what anything here takes, on a busy machine too, and far below what an unbounded check of a hostile schema
// takes: minutes.
const hanging = 30 * time.Second

func (s servers) Discover(ctx context.Context, c conn.Connection, _ conn.Resolved) (catalog.Discovery, error) {
	one := s[c.Name]
	if one.hang {
		<-ctx.Done()
		return catalog.Discovery{}, ctx.Err()
	}
	return catalog.Discovery{
		Server: catalog.Server{Era: catalog.Modern, ProtocolVersion: "2026-07-28", Info: json.RawMessage(`{"name":"x"}`)}, Tools: one.tools,
	}, one.err
}

type noSecrets struct{}

func (noSecrets) Secret(_ context.Context, path string) (secret.Value, error) {
	return secret.Value{}, fmt.Errorf("/countersign/dev/%s: %w", path, secret.ErrNotFound)
}

func connection(name string) conn.Connection {
	return conn.Connection{
		Name: name, URL: "https://" + name + ".example.com/mcp", Approval: conn.Never, Effect: conn.AtMostOnce,
		Timeout: time.Minute, File: "connections/" + name + ".yml",
	}
}

func build(s servers, conns ...conn.Connection) (*catalog.Catalog, error) {
	return catalog.Build(context.Background(), conns, catalog.Options{Discover: s, Secrets: noSecrets{}, Deadline: hanging})
}

func mustBuild(tb testing.TB, s servers, conns ...conn.Connection) *catalog.Catalog {
	tb.Helper()
	cat, err := build(s, conns...)
	if err != nil {
		tb.Fatalf("Build: %v", err)
	}
	return cat
}

// problems returns what Build complains of.
func problems(tb testing.TB, s servers, conns ...conn.Connection) []catalog.Problem {
	tb.Helper()
	cat, err := build(s, conns...)
	var b *catalog.BuildError
	if !errors.As(err, &b) {
		tb.Fatalf("Build returned %v and error %v, want a *BuildError", cat, err)
	}
	if cat != nil {
		tb.Error("Build returned a catalog beside its error")
	}
	return b.Problems
}

func raw(definitions ...string) server {
	var s server
	for _, d := range definitions {
		s.tools = append(s.tools, json.RawMessage(d))
	}
	return s
}

func tool(name string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
}

// withSchema is a tool with this input schema.
func withSchema(schema string) server {
	return raw(`{"name":"t","inputSchema":` + schema + `}`)
}

func served(c *catalog.Catalog) []string {
	var names []string
	for _, t := range c.Tools {
		names = append(names, t.Name)
	}
	return names
}

func mentions(tb testing.TB, text string, words ...string) {
	tb.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			tb.Errorf("%q does not mention %q", text, w)
		}
	}
}
