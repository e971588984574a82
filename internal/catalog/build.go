package catalog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Options is what Build needs beside the connections.
type Options struct {
	Discover Discoverer    // required
	Secrets  secret.Source // required; where credentials and variables are read
	Log      *slog.Logger  // optional; one line per connection
	Deadline time.Duration // for one connection, all pages and retries included; default 60 s
}

const (
	defaultDeadline = time.Minute
	atOnce          = 8   // connections that are asked at the same time
	manyTools       = 128 // what several clients stop at
	ownTools        = 1   // the gateway's own: countersign_await_decision
)

// Problem is one reason why a catalog cannot be built.
type Problem struct {
	File       string // the connection file
	Connection string
	Tool       string // the server's own name; empty where the whole connection is meant
	Message    string // a lower-case phrase with its cure
}

// String returns the problem as one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ": ")
	}
	b.WriteString(p.Connection)
	if p.Tool != "" {
		fmt.Fprintf(&b, ": tool %q", short(p.Tool))
	}
	return b.String() + ": " + p.Message
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
	if o.Deadline <= 0 {
		o.Deadline = defaultDeadline
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	parts := make([]part, len(conns))
	var wait sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, c := range conns {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			parts[i] = ask(ctx, c, o)
		})
	}
	wait.Wait()
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
	for i := 1; i < len(cat.Tools); i++ {
		if a, b := cat.Tools[i-1], cat.Tools[i]; a.Name == b.Name { // K3
			problems = append(problems, Problem{Connection: b.Connection, Tool: b.Upstream,
				Message: fmt.Sprintf("it and tool %q of %s would both be served as %s; %s", short(a.Upstream), a.Connection, a.Name, leaveOut)})
		}
	}
	if n := len(cat.Tools) + ownTools; n > manyTools {
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
	return cat, nil
}

// ask resolves and discovers one connection. What an optional connection's server does wrong leaves it out; what its file
// or a missing credential does wrong does not.
func ask(ctx context.Context, c conn.Connection, o Options) part {
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	fail := func(messages ...string) part {
		var p part
		for _, m := range messages {
			p.problems = append(p.problems, Problem{File: c.File, Connection: c.Name, Message: m})
		}
		return p
	}
	resolved, err := c.Resolve(ctx, o.Secrets)
	if err != nil {
		return fail(strings.Split(err.Error(), "\n")...) // one line for each value that is missing
	}
	found, err := o.Discover.Discover(ctx, c, resolved)
	if err == nil && len(found.Tools) == 0 {
		err = errors.New("the server lists no tools; check its address and what its credential may see")
	}
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), c.Name+": ")
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			reason = fmt.Sprintf("no complete answer within %s: %s", o.Deadline, reason)
		}
		if c.Optional {
			o.Log.Warn("optional connection left out", "connection", c.Name, "reason", reason)
			return part{leftOut: reason}
		}
		return fail(reason + "; mark it optional: true to deploy without it")
	}
	p := judge(c, found)
	o.Log.Info("connection listed", "connection", c.Name, "era", found.Server.Era, "protocol", found.Server.ProtocolVersion, "tools", len(p.tools))
	return p
}
