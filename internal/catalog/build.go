package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Options is what Build needs beside the connections.
type Options struct {
	Discover Discoverer    // required
	Secrets  secret.Source // required; where credentials and variables are read
	Log      *slog.Logger  // optional; one line a connection
	Deadline time.Duration // for one connection: its values, all pages and retries; default 60 s
}

const (
	defaultDeadline = time.Minute
	manyTools       = 128 // what several clients stop at
	ownTools        = 1   // the gateway's own: countersign_await_decision
	searchTools     = 2   // search_tools and call_tool, where something is discoverable
)

func (o Options) withDefaults() Options {
	if o.Deadline <= 0 {
		o.Deadline = defaultDeadline
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Problem is one reason why a catalog cannot be built.
type Problem struct {
	File       string `json:"file,omitempty"` // the connection file
	Connection string `json:"connection"`
	Tool       string `json:"tool,omitempty"` // the server's own name; empty where the whole connection is meant
	Message    string `json:"message"`        // a lower-case phrase with its cure
	cause      error
}

// String returns the problem as one line. It begins with the file, whose name is the connection's, or else with the connection.
func (p Problem) String() string {
	where := p.File
	if where == "" {
		where = p.Connection
	}
	if p.Tool != "" {
		where += fmt.Sprintf(": tool %q", text.Short(p.Tool))
	}
	return where + ": " + p.Message
}

// BuildError holds all problems of all connections, sorted by connection and tool.
type BuildError struct{ Problems []Problem }

// Error returns one line per problem.
func (e *BuildError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the causes of problems that have one, such as secret.ErrNotFound.
func (e *BuildError) Unwrap() []error {
	var causes []error
	for _, p := range e.Problems {
		if p.cause != nil {
			causes = append(causes, p.cause)
		}
	}
	return causes
}

// part is what one connection contributes.
type part struct {
	server   Server
	tools    []*Tool
	problems []Problem
	warnings []string
	leftOut  string
}

// Build asks every connection for its tools and judges them. It returns a catalog of all of them, or a *BuildError with all
// problems at once (K1, K2).
func Build(ctx context.Context, conns []conn.Connection, o Options) (*Catalog, error) {
	o = o.withDefaults()
	parts := make([]part, len(conns))
	eachListing(ctx, conns, o, func(i int, l Listing) { parts[i] = contribute(conns[i], l, o.Log) })
	return join(conns, parts)
}

// join puts the parts together in an order that does not depend on which server answered first (K6).
func join(conns []conn.Connection, parts []part) (*Catalog, error) {
	cat := &Catalog{Servers: map[string]Server{}, LeftOut: map[string]string{}}
	var problems []Problem
	for i, c := range conns {
		p := parts[i]
		problems = append(problems, p.problems...)
		cat.Warnings = append(cat.Warnings, p.warnings...)
		if p.leftOut != "" {
			cat.LeftOut[c.Name] = p.leftOut
			continue
		}
		cat.Servers[c.Name] = p.server
		cat.Tools = append(cat.Tools, p.tools...)
	}
	sort.Slice(cat.Tools, func(i, j int) bool { return cat.Tools[i].Name < cat.Tools[j].Name })
	cat.Warnings = append(cat.Warnings, shadows(cat.Tools)...)
	if n := shown(conns, cat.Tools); n > manyTools {
		cat.Warnings = append(cat.Warnings, fmt.Sprintf(
			"%d tools are served in all, and several clients stop at %d: list fewer under tools:, or mark connections as discoverable", n, manyTools))
	}
	if len(problems) > 0 {
		sort.SliceStable(problems, func(i, j int) bool {
			a, b := problems[i], problems[j]
			if a.Connection != b.Connection {
				return a.Connection < b.Connection
			}
			return a.Tool < b.Tool
		})
		return nil, &BuildError{Problems: problems}
	}
	sort.Strings(cat.Warnings)
	if len(cat.LeftOut) == 0 {
		cat.LeftOut = nil
	}
	if err := cat.index(); err != nil {
		return nil, err
	}
	if err := cat.prepare(conns); err != nil {
		return nil, err
	}
	return cat, nil
}

// shown is how many tools a client's list may hold: those of the connections that are not searched, and the gateway's own.
func shown(conns []conn.Connection, tools []*Tool) int {
	searched := map[string]bool{}
	for _, c := range conns {
		if c.Discoverable {
			searched[c.Name] = true
		}
	}
	n := ownTools
	if len(searched) > 0 {
		n += searchTools
	}
	for _, t := range tools {
		if !searched[t.Connection] {
			n++
		}
	}
	return n
}

// contribute makes a connection's part of a catalog. What an optional connection's server does wrong leaves it out; what its file or a
// missing credential does wrong does not.
func contribute(c conn.Connection, l Listing, log *slog.Logger) part {
	fail := func(messages ...string) part {
		var p part
		for _, m := range messages {
			p.problems = append(p.problems, Problem{File: c.File, Connection: c.Name, Message: m, cause: l.Err})
		}
		return p
	}
	var setup *SetupError
	switch {
	case errors.As(l.Err, &setup):
		lines := strings.Split(setup.Error(), "\n") // one for each value
		for i, line := range lines {
			lines[i] = strings.TrimLeft(strings.TrimPrefix(line, "connection "+c.Name), ": ") // the file says it
		}
		return fail(lines...)
	case l.Err != nil && c.Optional:
		log.Warn("optional connection left out", "connection", c.Name, "reason", l.Err.Error())
		return part{leftOut: l.Err.Error()}
	case l.Err != nil:
		return fail(l.Err.Error() + "; mark it optional: true to deploy without it")
	}
	p := judge(c, l.Discovery)
	log.Info("connection listed", "connection", c.Name, "era", l.Server.Era, "protocol", l.Server.ProtocolVersion, "tools", len(p.tools))
	return p
}
