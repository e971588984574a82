package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	fastjson "github.com/go-json-experiment/json"

	"github.com/countersign-mcp/countersign/internal/conn"
)

// Era is the protocol generation a remote server speaks.
type Era string

// The eras.
const (
	Modern Era = "modern" // 2026-07-28: stateless, _meta carries version and capabilities
	Legacy Era = "legacy" // up to 2025-11-25: initialize first, perhaps a session
)

// Server is what discovery learned about a remote server. It is remembered so that a call costs one request.
type Server struct {
	Era             Era             `json:"era"`
	ProtocolVersion string          `json:"protocolVersion"`
	Stateful        bool            `json:"stateful,omitempty"` // legacy server that hands out Mcp-Session-Id
	Info            json.RawMessage `json:"info,omitempty"`     // serverInfo as sent
}

// Discovery is one server's tools as it listed them: every page, raw.
type Discovery struct {
	Server Server
	Tools  []json.RawMessage // each definition byte for byte
}

// Discoverer asks one server for its era and tools. Errors name the connection's host and the cure, never a credential.
type Discoverer interface {
	Discover(ctx context.Context, c conn.Connection, r conn.Resolved) (Discovery, error)
}

// Tool is one tool of one connection. Its JSON members are without white space between tokens; every token is as the server
// sent it.
type Tool struct {
	Name       string          `json:"name"`       // served: "crm__search"
	Connection string          `json:"connection"` // "crm"
	Upstream   string          `json:"upstream"`   // the server's own name
	Raw        json.RawMessage `json:"raw"`        // definition as the server sent it
	Served     json.RawMessage `json:"served"`     // what tools/list shows: Raw with the served name; without outputSchema where a call may wait
	Input      json.RawMessage `json:"input"`      // inputSchema as the server sent it
	Digest     string          `json:"digest"`     // SHA-256 of the canonical Raw: changes when anything of the definition does
	Cost       int             `json:"cost"`       // the most subschemas that Input applies to one value inside the arguments
	compiled   compiled
}

// Catalog is what the gateway serves: built once per deploy, never from a request.
type Catalog struct {
	Servers  map[string]Server `json:"servers"`            // by connection
	Tools    []*Tool           `json:"tools"`              // sorted by Name
	LeftOut  map[string]string `json:"leftOut,omitempty"`  // optional connections that could not be reached, with the reason
	Warnings []string          `json:"warnings,omitempty"` // what an operator should know and may leave as it is, sorted
	Index    []byte            `json:"search,omitempty"`   // what Search looks in; nothing where no connection is searched
	byName   map[string]*Tool

	searching searching
}

// Find returns the tool served by exactly this name. A name is looked up whole: it is never split at the underscores.
func (c *Catalog) Find(served string) (*Tool, bool) {
	t, ok := c.byName[served]
	return t, ok
}

// Of returns the tool of a connection that has this name at the remote server.
func (c *Catalog) Of(connection, upstream string) (*Tool, bool) {
	for _, t := range c.Tools {
		if t.Connection == connection && t.Upstream == upstream {
			return t, true
		}
	}
	return nil, false
}

// index makes Find work after the tools were set.
func (c *Catalog) index() error {
	c.byName = make(map[string]*Tool, len(c.Tools))
	for _, t := range c.Tools {
		if _, twice := c.byName[t.Name]; twice {
			return fmt.Errorf("the catalog lists the tool %q twice", t.Name) // K3
		}
		c.byName[t.Name] = t
	}
	return nil
}

// Encode returns the catalog as one JSON document. The same catalog gives the same bytes (K6).
func (c *Catalog) Encode() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // it would rewrite "<" inside the definitions
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("encoding the catalog: %w", err)
	}
	return out.Bytes(), nil
}

// Decode reads a document written by Encode.
func Decode(b []byte) (*Catalog, error) {
	var c Catalog
	if err := fastjson.Unmarshal(b, &c); err != nil { // every cold start waits for it
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	for i, t := range c.Tools {
		if t == nil || t.Name == "" || t.Connection == "" || t.Upstream == "" || len(t.Served) == 0 || len(t.Input) == 0 {
			return nil, fmt.Errorf("reading the catalog: entry %d of tools is not a tool; build the catalog again", i)
		}
	}
	if err := c.index(); err != nil {
		return nil, err
	}
	return &c, nil
}
