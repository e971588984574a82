package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/mcpserver"
	"github.com/countersign-mcp/countersign/internal/notify"
	"github.com/countersign-mcp/countersign/internal/upstream"
	"github.com/countersign-mcp/countersign/internal/web"
)

// Version is the version of the product; releases set it when linking.
var Version = "0.1.0-dev"

// Must returns the handler, or ends the process with the reason: a function that cannot start has nobody to tell but its log (A1).
func Must(h *functionurl.Handler, err error) *functionurl.Handler {
	if err != nil {
		fmt.Fprintln(os.Stderr, "countersign: this function cannot start:", err)
		os.Exit(3)
	}
	return h
}

func (c Config) ledger(b bundle) *ledger.Ledger {
	return ledger.New(ledger.Config{
		Retention: b.retention,
		Store:     dynamoledger.New(dynamoledger.Config{Client: dynamodb.NewFromConfig(c.AWS), Table: c.Table}),
		Won:       logTransitions(c.Log),
	})
}

// MCP builds the mcp function: the endpoint for clients, and the executor of approved calls.
func MCP(ctx context.Context, c Config, err error) (*functionurl.Handler, error) {
	c, err = c.ready(err)
	if err != nil {
		return nil, err
	}
	b, err := c.withCatalog()
	if err != nil {
		return nil, err
	}
	secrets := c.secrets()
	ids, sessions, err := gatewayKeys(ctx, secrets)
	if err != nil {
		return nil, err
	}
	clients := identity.NewClients(secrets, c.Now, c.Log)
	g := gateway.New(gateway.Config{
		Ledger: c.ledger(b), Now: c.Now, Log: c.Log, OnceTTL: b.onceTTL,
		Keyer: ledger.NewKeyer(ids), Catalog: b.catalog, Connections: b.connections, Upstream: c.upstream(), Secrets: secrets, Principals: clients,
		Notify: c.hint("notify", eventNotify), Dispatch: c.hint("mcp", eventExecute), Approvers: b.approversOf,
	})
	server, err := mcpserver.New(mcpserver.Config{
		Gateway: g, Authorizer: clients, Definition: g.Definition, Name: "countersign", Version: Version,
		SessionKey: sessions, Now: c.Now, Log: c.Log,
		RequestID: awsRequestID,
	})
	if err != nil {
		return nil, err
	}
	return functionurl.New(functionurl.Config{
		Name: c.FunctionName("mcp"), Log: c.Log, Handler: server,
		Events: map[string]functionurl.EventFunc{
			eventExecute: func(ctx context.Context, payload json.RawMessage) (any, error) {
				id, err := invocationID(payload)
				if err != nil {
					return nil, err
				}
				return nil, g.Execute(withRequestID(ctx), id)
			},
			eventRelist: func(ctx context.Context, _ json.RawMessage) (any, error) { return c.relist(ctx, b) },
		},
	}), nil
}

func (c Config) upstream() func(conn.Connection) gateway.Upstream {
	if c.Upstream != nil {
		return c.Upstream
	}
	client := upstream.New(upstream.Config{Log: c.Log, Version: Version}) // one for all: it keeps sessions apart itself
	return func(conn.Connection) gateway.Upstream { return client }
}

// Approve builds the approve function: the pages. It decides and never sends (A2).
func Approve(ctx context.Context, c Config, err error) (*functionurl.Handler, error) {
	c, err = c.ready(err)
	if err != nil {
		return nil, err
	}
	b, err := c.connectionsAndApprovers()
	if err != nil {
		return nil, err
	}
	secrets := c.secrets()
	address, err := approveURL(ctx, secrets)
	if err != nil {
		return nil, err
	}
	keys, err := verifier(ctx, secrets, address)
	if err != nil {
		return nil, err
	}
	g := gateway.New(gateway.Config{
		Ledger: c.ledger(b), Now: c.Now, Log: c.Log, OnceTTL: b.onceTTL, Dispatch: c.hint("mcp", eventExecute), Approvers: b.approversOf,
	})
	return functionurl.New(functionurl.Config{
		Name: c.FunctionName("approve"), Log: c.Log,
		Handler: web.New(web.Config{Calls: g, Verifier: keys, Now: c.Now, Log: c.Log, RequestID: func(r *http.Request) string { return awsRequestID(r.Context()) }}),
	}), nil
}

// Expire builds the expire function: the schedule's target.
func Expire(_ context.Context, c Config, err error) (*functionurl.Handler, error) {
	c, err = c.ready(err)
	if err != nil {
		return nil, err
	}
	b, err := c.settingsAlone()
	if err != nil {
		return nil, err
	}
	g := gateway.New(gateway.Config{
		Ledger: c.ledger(b), Now: c.Now, Log: c.Log, Notify: c.hint("notify", eventNotify), Dispatch: c.hint("mcp", eventExecute),
	})
	return functionurl.New(functionurl.Config{
		Name: c.FunctionName("expire"), Log: c.Log,
		Events: map[string]functionurl.EventFunc{
			functionurl.Schedule: func(ctx context.Context, _ json.RawMessage) (any, error) { return g.Sweep(withRequestID(ctx)) },
			eventScan:            func(ctx context.Context, _ json.RawMessage) (any, error) { return g.Scan(withRequestID(ctx)) },
		},
	}), nil
}

// Notify builds the notify function: it mints links and sends cards, and is the only one that may read the signing key (A2).
func Notify(ctx context.Context, c Config, err error) (*functionurl.Handler, error) {
	c, err = c.ready(err)
	if err != nil {
		return nil, err
	}
	b, err := c.connectionsAndApprovers()
	if err != nil {
		return nil, err
	}
	secrets := c.secrets()
	address, err := approveURL(ctx, secrets)
	if err != nil {
		return nil, err
	}
	sign, err := signer(ctx, secrets)
	if err != nil {
		return nil, err
	}
	l := c.ledger(b)
	n := notify.New(notify.Config{
		Views: gateway.New(gateway.Config{Ledger: l, Now: c.Now, Log: c.Log, OnceTTL: b.onceTTL}), Ledger: l, Signer: sign, ApproveURL: address, Approvers: b.approversOf,
		Channels: map[string]notify.Channel{"": notify.NewConsole(c.Output, c.ConsoleJSON)}, Now: c.Now, Log: c.Log,
	})
	return functionurl.New(functionurl.Config{
		Name: c.FunctionName("notify"), Log: c.Log,
		Events: map[string]functionurl.EventFunc{
			eventNotify: func(ctx context.Context, payload json.RawMessage) (any, error) {
				id, err := invocationID(payload)
				if err != nil {
					return nil, err
				}
				return nil, n.Notify(withRequestID(ctx), id)
			},
		},
	}), nil
}

// awsRequestID is the id under which the platform logs this run, or "".
func awsRequestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

func withRequestID(ctx context.Context) context.Context {
	return gateway.WithRequestID(ctx, awsRequestID(ctx))
}
