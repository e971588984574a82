package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// Discover learns which protocol a server speaks and lists its tools. Every error begins with the connection's name.
func (c *Client) Discover(ctx context.Context, cn conn.Connection, r conn.Resolved) (catalog.Discovery, error) {
	found, err := c.discover(ctx, cn, r)
	if err != nil {
		return catalog.Discovery{}, fmt.Errorf("%s: %w", cn.Name, plain(err))
	}
	return found, nil
}

// plain drops the machinery of an error that a person will read: its reason says all, and its cause may quote an address.
func plain(err error) error {
	var t *trouble
	if errors.As(err, &t) {
		return errors.New(t.reason)
	}
	var ns *gateway.NotSent
	if errors.As(err, &ns) {
		return errors.New(ns.Reason)
	}
	return err
}

func (c *Client) discover(ctx context.Context, cn conn.Connection, r conn.Resolved) (catalog.Discovery, error) {
	p, err := c.peer(cn, r)
	if err != nil {
		return catalog.Discovery{}, err
	}
	server, in, err := p.probe(ctx)
	if err != nil {
		return catalog.Discovery{}, err
	}
	tools, err := p.list(ctx, server, in)
	if err != nil {
		return catalog.Discovery{}, err
	}
	return catalog.Discovery{Server: server, Tools: tools}, nil
}

// probe finds the era of a server (specification 2026-07-28, "Backward Compatibility"): a modern request first, and the
// handshake where the answer is not a modern one.
func (p peer) probe(ctx context.Context) (catalog.Server, session, error) {
	modern := catalog.Server{Era: catalog.Modern, ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION}
	meta, err := p.meta(modern, nil)
	if err != nil {
		return catalog.Server{}, session{}, err
	}
	params := json.RawMessage(`{"_meta":` + string(meta) + `}`)
	result, _, err := p.read(ctx, modern, session{}, message{method: mcp.MethodServerDiscover, params: params})
	if err == nil {
		if version, ok := modernVersion(supported(result)); ok {
			modern.ProtocolVersion, modern.Info = version, serverInfo(result)
			return modern, session{}, nil
		}
		return p.initialize(ctx)
	}
	var t *trouble
	if !errors.As(err, &t) || !t.mayBeOther() {
		return catalog.Server{}, session{}, err
	}
	if t.code == mcp.UNSUPPORTED_PROTOCOL_VERSION {
		if version, ok := modernVersion(t.supported()); ok {
			modern.ProtocolVersion = version
			return modern, session{}, nil
		}
	}
	server, in, legacy := p.initialize(ctx)
	if legacy != nil && (t.status == http.StatusNotFound || t.status >= 500) {
		return catalog.Server{}, session{}, err // nothing is there, or it is broken: the first answer says it best
	}
	return server, in, legacy
}

// mayBeOther reports whether a server that answered like this to server/discover, or to initialize, may be of the other era.
func (t *trouble) mayBeOther() bool {
	switch t.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
		return true
	case http.StatusOK:
		return t.reply.err != nil
	}
	return false
}

func (t *trouble) supported() json.RawMessage {
	var e struct {
		Data json.RawMessage `json:"data"`
	}
	if json.Unmarshal(t.reply.err, &e) != nil {
		return nil
	}
	return member(e.Data, "supported")
}

// modernVersion picks the newest version of a server's list that is known here and needs no handshake.
func modernVersion(list json.RawMessage) (string, bool) {
	var versions []string
	if json.Unmarshal(list, &versions) != nil {
		return "", false
	}
	for _, known := range mcp.ValidProtocolVersions { // newest first
		if mcp.IsModernProtocol(known) && slices.Contains(versions, known) {
			return known, true
		}
	}
	return "", false
}

func supported(discovered json.RawMessage) json.RawMessage {
	return member(discovered, "supportedVersions")
}

// serverInfo is what a server calls itself: in _meta since 2026-07-28, a member of its own before.
func serverInfo(result json.RawMessage) json.RawMessage {
	if info := member(member(result, "_meta"), mcp.MetaKeyServerInfo); info != nil {
		return info
	}
	return member(result, "serverInfo")
}

func member(object json.RawMessage, name string) json.RawMessage {
	o, err := jsonx.ParseObjectWithin(object, answerLimits())
	if err != nil {
		return nil
	}
	raw, _ := o.Get(name)
	return raw
}

// initialize makes the handshake of a legacy server. A server that refuses a version with 400 is asked for the next older
// one, down to the first that had this transport.
func (p peer) initialize(ctx context.Context) (catalog.Server, session, error) {
	var first error
	for _, version := range mcp.LegacyProtocolVersions() {
		if version < mcp.ProtocolVersion20250326 {
			break
		}
		server, in, err := p.initializeAs(ctx, version)
		if err == nil {
			return server, in, nil
		}
		if first == nil {
			first = err
		}
		var t *trouble
		if !errors.As(err, &t) || t.status != http.StatusBadRequest && t.code != mcp.INVALID_PARAMS && t.code != mcp.UNSUPPORTED_PROTOCOL_VERSION {
			return catalog.Server{}, session{}, err
		}
	}
	return catalog.Server{}, session{}, first
}

func (p peer) initializeAs(ctx context.Context, version string) (catalog.Server, session, error) {
	config := p.client.config
	server := catalog.Server{Era: catalog.Legacy, ProtocolVersion: version}
	params := fmt.Sprintf(`{"protocolVersion":%s,"capabilities":{},"clientInfo":{"name":%s,"version":%s}}`,
		quote(version), quote(config.Name), quote(config.Version))
	result, observed, err := p.read(ctx, server, session{}, message{method: mcp.MethodInitialize, params: json.RawMessage(params)})
	if err != nil {
		return catalog.Server{}, session{}, err
	}
	var agreed string
	if json.Unmarshal(member(result, "protocolVersion"), &agreed) != nil || !mcp.IsValidProtocolVersion(agreed) || mcp.IsModernProtocol(agreed) {
		return catalog.Server{}, session{}, &trouble{status: observed.status, reason: fmt.Sprintf(
			"%s wants protocol version %s, which is not known here", p.host(), member(result, "protocolVersion"))}
	}
	server.ProtocolVersion, server.Info = agreed, serverInfo(result)
	in := session{id: observed.header.Get(mcp.HeaderSessionID), version: agreed}
	server.Stateful = in.id != ""
	_, _, err = p.read(ctx, server, in, message{method: "notifications/initialized"})
	if t := (*trouble)(nil); err != nil && (!errors.As(err, &t) || t.status == 0 || server.Stateful) {
		return catalog.Server{}, session{}, err // a server without sessions may take no notice of it, or say so
	}
	return server, in, nil
}
