package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog/lock"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/dev"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/localaws/wal"
)

func devCommand() command {
	return command{
		name: "dev", short: "run the whole gateway on this machine",
		usage:   "[--port N] [--approve-port N] [--data DIR] [--connections DIR] [--settings FILE] [--vars FILE] [--context JSON] [--no-demo] [--json] [--log] [--clock FILE]",
		example: "countersign dev",
		long: `Runs the gateway on this machine with a local stand-in for AWS: the same functions as in a deployment, and a demo server with tools to try.
It prints the endpoint, a client token, how to add it to a client, and the link to decide as each call parks. Everything it accepted is kept in
--data (default .countersign) and survives any kind of stop.

  --port N          the MCP endpoint, default 8787; 0 takes any free port
  --approve-port N  the approval pages, default 8788; 0 takes any free port
  --connections DIR the connection files, default connections; none is no error
  --settings FILE   the settings, default countersign.yml; without one the only approver is "you"
  --vars FILE       variables and credentials, one NAME=value or credentials/crm/token=value a line; keep it out of git
  --context JSON    what is known of the client that dev makes, as conditions and headers read it: '{"tenant": "acme", "role": "admin"}'
  --no-demo         serve the connection files only
  --json            one JSON object a line: ready, and each card
  --log             the functions' logs on stderr
  --clock FILE      add the duration in FILE (such as 168h) to the clock, re-read at each look: for trying what time does`,
		run: runDev,
	}
}

func runDev(ctx context.Context, u ui, args []string) error {
	f := flag.NewFlagSet("dev", flag.ContinueOnError)
	var c dev.Config
	f.IntVar(&c.Port, "port", 8787, "")
	f.IntVar(&c.ApprovePort, "approve-port", 8788, "")
	f.StringVar(&c.Dir, "data", ".countersign", "")
	f.StringVar(&c.Vars, "vars", "", "")
	f.StringVar(&c.Bootstraps, "bootstraps", "", "")
	connections := f.String("connections", "", "")
	settings := f.String("settings", "", "")
	known := f.String("context", "", "")
	noDemo := f.Bool("no-demo", false, "")
	clock := f.String("clock", "", "")
	logs := f.Bool("log", false, "")
	f.BoolVar(&c.ConsoleJSON, "json", false, "")
	if _, err := parse(f, args, 0); err != nil {
		return err
	}
	c.Demo = !*noDemo
	var err error
	if *known != "" {
		if c.Context, err = identity.ParseContext([]byte(*known)); err != nil {
			return usageError("--context: %v", err)
		}
	}
	if c.Connections, err = optionalPath("connections", *connections, "connections"); err != nil {
		return err
	}
	if c.Settings, err = optionalPath("settings", *settings, "countersign.yml"); err != nil {
		return err
	}
	if c.Vars, err = optionalPath("vars", c.Vars, ""); err != nil {
		return err
	}
	if *clock, err = optionalPath("clock", *clock, ""); err != nil {
		return err
	}
	if *clock != "" {
		if c.Clock, err = filepath.Abs(*clock); err != nil {
			return environment(err, "")
		}
		if c.Now, err = shiftedClock(c.Clock); err != nil {
			return environment(err, "")
		}
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return environment(err, "")
	}
	// Cards that arrive while the greeting is printed must come after it.
	out := &gatedWriter{w: u.out}
	c.Console = out
	c.Log = slog.New(slog.NewTextHandler(u.err, &slog.HandlerOptions{Level: slog.LevelError}))
	if *logs {
		c.Log = slog.New(slog.NewTextHandler(u.err, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	g, err := dev.Start(ctx, c)
	var problems conn.Problems
	if errors.As(err, &problems) {
		root := os.DirFS(filepath.Dir(c.Connections))
		if rerr := conn.Render(u.err, problems, conn.Sources(root, problems), conn.Options{Caret: u.terminal}); rerr != nil {
			return rerr
		}
		u.hint("docs/connections.md explains each rule; countersign check shows the same without starting")
		return errShown
	}
	if differs := (*lock.DiffersError)(nil); errors.As(err, &differs) {
		return err // read and accepted by a person, or not served
	}
	if err != nil {
		return environment(err, startHint(err))
	}
	if err := greet(u, g, c); err != nil {
		return errors.Join(err, g.Close(context.WithoutCancel(ctx)))
	}
	if err := out.open(); err != nil {
		return errors.Join(err, g.Close(context.WithoutCancel(ctx)))
	}
	<-ctx.Done()
	if !c.ConsoleJSON {
		fmt.Fprintln(u.out, "\nstopping; calls that wait are kept; Ctrl-C again stops at once")
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err = g.Close(bounded)
	if errors.Is(err, dev.ErrUnderWay) {
		// No failure of this command: the row of the call says that it was started, and nothing sends it again.
		u.say("stopped while a call was being sent: it will be in doubt, for a person to settle")
		return nil
	}
	return environment(err, "")
}

// optionalPath returns what a flag named, which must exist, or the default where that exists; "" is neither.
func optionalPath(flag, asked, byDefault string) (string, error) {
	p := asked
	if p == "" {
		p = byDefault
	}
	if p == "" {
		return "", nil
	}
	_, err := os.Stat(p)
	switch {
	case err == nil:
		abs, err := filepath.Abs(p)
		return abs, environment(err, "")
	case errors.Is(err, fs.ErrNotExist) && asked == "":
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		return "", environment(fmt.Errorf("--%s %s: there is no such file or folder", flag, asked), "")
	}
	return "", environment(err, "")
}

// startHint is the cure of what a start met, in the flags of this command.
func startHint(err error) string {
	var port *dev.PortError
	var locked *wal.LockedError
	var missing *dev.MissingError
	switch {
	case errors.As(err, &port) && port.Function == "mcp":
		return "--port N takes another one, --port 0 any free one"
	case errors.As(err, &port):
		return "--approve-port N takes another one, --approve-port 0 any free one"
	case errors.As(err, &locked):
		return "a gateway runs on this folder; --data DIR starts another one on a folder of its own"
	case errors.As(err, &missing):
		return "write into a file, one a line, " + strings.Join(missing.Lines, "=..., ") + "=... and start with --vars FILE; keep it out of git"
	}
	return ""
}

// shiftedClock returns a clock which is ahead of the machine's by the duration in file.
func shiftedClock(file string) (func() time.Time, error) {
	read := func() (time.Duration, error) {
		raw, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		return time.ParseDuration(strings.TrimSpace(string(raw)))
	}
	if _, err := read(); err != nil {
		return nil, fmt.Errorf("reading the clock's shift: %w", err)
	}
	var mu sync.Mutex
	var last time.Duration
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		if d, err := read(); err == nil { // a file caught half written keeps the last shift
			last = d
		}
		return time.Now().Add(last)
	}, nil
}

func greet(u ui, g *dev.Gateway, c dev.Config) error {
	token := g.Token.Reveal()
	if c.ConsoleJSON {
		return json.NewEncoder(u.out).Encode(map[string]any{
			"event": "ready", "endpoint": g.Endpoint, "token": token, "approve_url": g.ApproveURL, "aws_endpoint": g.AWSEndpoint, "left_out": g.Catalog.LeftOut,
		})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nCountersign is running on this machine.\n\n")
	fmt.Fprintf(&b, "  endpoint   %s\n", g.Endpoint)
	fmt.Fprintf(&b, "  token      %s\n", token)
	for i, line := range g.ToolLines() {
		label := ""
		if i == 0 {
			label = "tools"
		}
		fmt.Fprintf(&b, "  %-10s %s\n", label, line)
	}
	for name, reason := range g.Catalog.LeftOut {
		fmt.Fprintf(&b, "  left out   %s: %s\n", plain(name), plain(reason))
	}
	server, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"countersign": map[string]any{
		"type": "http", "url": g.Endpoint, "headers": map[string]string{"Authorization": "Bearer " + token}}}})
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, "\nAdd it to a client:\n\n  claude mcp add --transport http countersign %s --header \"Authorization: Bearer %s\"\n", g.Endpoint, token)
	fmt.Fprintf(&b, "\nor in a client's configuration file:\n\n  %s\n", server)
	fmt.Fprintf(&b, "\nCalls that wait for a person appear below, each with the link to decide. Ctrl-C stops; what waits is kept in %s.\n", shortPath(c.Dir))
	_, err = io.WriteString(u.out, b.String())
	return err
}

func shortPath(dir string) string {
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, dir); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return dir
}

// gatedWriter holds back what is written before open.
type gatedWriter struct {
	mu   sync.Mutex
	w    io.Writer
	held []byte
	live bool
}

func (g *gatedWriter) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.live {
		g.held = append(g.held, p...)
		return len(p), nil
	}
	return g.w.Write(p)
}

func (g *gatedWriter) open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live = true
	_, err := g.w.Write(g.held)
	return err
}
