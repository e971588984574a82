package dev

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

// demoServer is a remote MCP server to try things on: notes to search and add, and payments to send. Nothing leaves the machine.
type demoServer struct {
	*upstreamtest.Server
	mu    sync.Mutex
	notes []string
	paid  int
}

// Close stops the server.
func (d *demoServer) Close() error {
	d.Server.Close()
	return nil
}

// startDemo starts the demo server on the port that it had before: its address is part of what a waiting call was approved for.
func (g *Gateway) startDemo(ctx context.Context) error {
	token := rand.Text()
	if kept, err := g.app.Secret(ctx, "credentials/demo/token"); err == nil {
		token = kept.Reveal()
	} else if !errors.Is(err, secret.ErrNotFound) {
		return err
	}
	d := &demoServer{notes: []string{"Call the plumber about the leak", "Invoice 1042 from Acme is due on Friday"}}
	server, err := upstreamtest.New(upstreamtest.Options{
		Era: upstreamtest.Modern, Token: token, Addr: "127.0.0.1:" + strconv.Itoa(g.DemoPort), Tools: d.tools(),
		Executions: filepath.Join(g.config.Dir, "demo-executions"),
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d, which the demo server of this folder uses, is taken: stop what listens there, or start with another --data folder: %w", g.DemoPort, err)
	}
	if err != nil {
		return fmt.Errorf("starting the demo server: %w", err)
	}
	d.Server = server
	g.demo = d
	_, port, _ := strings.Cut(server.Addr(), ":")
	if g.DemoPort, err = strconv.Atoi(port); err != nil {
		return fmt.Errorf("reading the demo server's port: %w", err)
	}
	if err := g.put(ctx, "credentials/demo/token", token); err != nil {
		return err
	}
	return g.put(ctx, "vars/DEMO_URL", server.URL())
}

func (d *demoServer) tools() []upstreamtest.Tool {
	return []upstreamtest.Tool{
		{
			Name: "search", Description: "Finds notes that hold a text.",
			Input: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string","description":"text to look for; empty finds all"}},"required":["query"]}`),
			Run:   d.search,
		},
		{
			Name: "add", Description: "Adds a note.",
			Input: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"]}`),
			Run:   d.add,
		},
		{
			Name: "send", Description: "Sends money to an account. It cannot be taken back.",
			Input: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","description":"account"},"amount":{"type":"number","exclusiveMinimum":0},"memo":{"type":"string"}},"required":["to","amount"]}`),
			Run:   d.send,
		},
	}
}

func (d *demoServer) search(args json.RawMessage) json.RawMessage {
	var a struct{ Query string }
	if err := json.Unmarshal(args, &a); err != nil {
		return toolText(true, "the arguments are not readable: "+err.Error())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []string
	for _, n := range d.notes {
		if strings.Contains(strings.ToLower(n), strings.ToLower(a.Query)) {
			found = append(found, n)
		}
	}
	if len(found) == 0 {
		return toolText(false, "no note holds that text")
	}
	return toolText(false, strings.Join(found, "\n"))
}

func (d *demoServer) add(args json.RawMessage) json.RawMessage {
	var a struct{ Text string }
	if err := json.Unmarshal(args, &a); err != nil {
		return toolText(true, "the arguments are not readable: "+err.Error())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, a.Text)
	return toolText(false, fmt.Sprintf("added; there are %d notes", len(d.notes)))
}

func (d *demoServer) send(args json.RawMessage) json.RawMessage {
	var a struct {
		To     string
		Amount json.Number
	}
	if err := json.Unmarshal(args, &a); err != nil {
		return toolText(true, "the arguments are not readable: "+err.Error())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paid++
	return toolText(false, fmt.Sprintf("sent %s to %s; payment %d since the demo server started", a.Amount, a.To, d.paid))
}

func toolText(isError bool, text string) json.RawMessage {
	out, err := json.Marshal(map[string]any{"content": []map[string]string{{"type": "text", "text": text}}, "isError": isError})
	if err != nil {
		panic("encoding a text: " + err.Error()) // strings and booleans always encode
	}
	return out
}
