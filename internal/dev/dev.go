package dev

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/functionurl"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/localaws"
	"github.com/countersign-mcp/countersign/internal/localaws/lambdahost"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// Config is what Start is asked for. The zero value of a port takes any free one.
type Config struct {
	Dir         string         // the data folder; it is made when missing
	Port        int            // of the MCP endpoint
	ApprovePort int            // of the approval pages
	Demo        bool           // serve the demo server and its two connections
	Connections string         // folder of connection files; empty: none
	Settings    string         // countersign.yml; empty: the only approver is "you"
	Vars        string         // file with variables and credentials, see readVars; empty: none
	Context     map[string]any // of the client "local", see identity.ParseContext; each start sets it anew
	Now         func() time.Time
	Clock       string    // file that Now reads its shift from, kept in State so that the operator's commands tell the same time; empty: none
	Console     io.Writer // cards; for people, or one JSON object a line when ConsoleJSON is set
	ConsoleJSON bool
	Log         *slog.Logger
	Upstream    func(conn.Connection) gateway.Upstream // see app.Config.Upstream
	Bootstraps  string                                 // folder with <function>/bootstrap: run these binaries instead of the handlers of this process
}

// stage is the name of the local deployment.
const stage = "dev"

// functionTimeout is what the functions may take; the mcp function's is stretched to the slowest connection's.
const functionTimeout = 90 * time.Second

// Gateway is a running local gateway.
type Gateway struct {
	State
	Token    secret.Value // of the client "local", which may call everything
	Catalog  *catalog.Catalog
	AWS      *localaws.Server
	Host     *lambdahost.Host
	config   Config
	app      app.Config
	listener *http.Server
	demo     *demoServer
	earlier  State             // what the last start left
	sources  map[string][]byte // connection files by name
}

// Start starts a local gateway on c.Dir (D1, D3). Stop it with Close.
func Start(ctx context.Context, c Config) (_ *Gateway, err error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Console == nil {
		c.Console = io.Discard
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	g := &Gateway{config: c, sources: map[string][]byte{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err := g.startAWS(); err != nil {
		return nil, err
	}
	if err := g.seed(ctx); err != nil {
		return nil, err
	}
	if err := g.serveFunctions(ctx); err != nil {
		return nil, err
	}
	return g, g.State.write(c.Dir)
}

// startAWS opens the stand-in on the data folder and serves it, with the function host's Invoke API, on a loopback port.
func (g *Gateway) startAWS() error {
	var err error
	g.earlier, err = ReadState(g.config.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	g.AWS, err = localaws.Open(localaws.Config{Dir: filepath.Join(g.config.Dir, "aws"), Now: g.config.Now, Log: g.config.Log})
	if err != nil {
		return err
	}
	g.Host = lambdahost.New(lambdahost.Config{Log: g.config.Log, AsyncRetryDelays: []time.Duration{time.Second, 5 * time.Second}})
	g.AWS.Mount("/2015-03-31/functions/", g.Host.InvokeAPI())
	l, err := net.Listen("tcp", "127.0.0.1:0") // D2
	if err != nil {
		return fmt.Errorf("listening on loopback for the local AWS stand-in: %w", err)
	}
	g.listener = &http.Server{Handler: g.AWS, ReadHeaderTimeout: 5 * time.Second}
	go g.listener.Serve(l)
	g.State = State{AWSEndpoint: "http://" + l.Addr().String(), Stage: stage, Table: "countersign-" + stage, DemoPort: g.earlier.DemoPort, Clock: g.config.Clock}
	g.app = app.Config{
		Stage: stage, Table: g.Table, AWS: app.LocalAWS(g.AWSEndpoint), Now: g.config.Now, Log: g.config.Log,
		Output: g.config.Console, ConsoleJSON: g.config.ConsoleJSON, Upstream: g.config.Upstream,
	}
	return nil
}

// seed makes what a deployment would have before its first call: table, keys, one client, variables. All of it is kept by
// later starts.
func (g *Gateway) seed(ctx context.Context) error {
	if err := dynamoledger.CreateTable(ctx, dynamodb.NewFromConfig(g.app.AWS), g.Table); err != nil {
		return err
	}
	if _, err := app.InitKeys(ctx, g.app, rand.Reader); err != nil {
		return err
	}
	if err := g.client(ctx); err != nil {
		return err
	}
	if g.config.Vars == "" {
		return nil
	}
	vars, err := readVars(g.config.Vars)
	if err != nil {
		return err
	}
	for path, value := range vars {
		if err := g.put(ctx, path, value); err != nil {
			return err
		}
	}
	return nil
}

func (g *Gateway) put(ctx context.Context, path, value string) error {
	return app.PutParameter(ctx, ssm.NewFromConfig(g.app.AWS), g.app.Prefix()+"/"+path, value, types.ParameterTypeSecureString, true)
}

// client makes the client "local" at the first start and remembers its token in the folder (D4). Later starts keep both, and set what is
// known of the client to what they were given.
func (g *Gateway) client(ctx context.Context) error {
	kept, err := readToken(g.config.Dir)
	if err != nil {
		return err
	}
	id, record, err := g.knows(ctx, kept)
	switch {
	case err != nil:
		return err
	case id == "":
		var token secret.Value
		record = identity.Client{Name: "local", Scopes: identity.Scopes{"call:*"}, Created: g.config.Now().UTC()}
		if id, token, record.SHA256, err = identity.NewToken(rand.Reader); err != nil {
			return err
		}
		kept = token.Reveal()
	case reflect.DeepEqual(record.Context, g.config.Context) || len(record.Context) == 0 && len(g.config.Context) == 0:
		g.Token = secret.New(kept)
		return nil
	}
	record.Context = g.config.Context
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := g.put(ctx, "clients/"+id, string(text)); err != nil {
		return err
	}
	g.Token = secret.New(kept)
	return writeFile(filepath.Join(g.config.Dir, "token"), []byte(kept))
}

// knows returns the client of a token and its id, which is empty where the stand-in has no such client: a folder whose data was deleted
// has none.
func (g *Gateway) knows(ctx context.Context, token string) (string, identity.Client, error) {
	id, ok := identity.TokenID(token)
	if !ok {
		return "", identity.Client{}, nil
	}
	raw, err := g.app.Secret(ctx, "clients/"+id)
	if errors.Is(err, secret.ErrNotFound) {
		return "", identity.Client{}, nil
	}
	if err != nil {
		return "", identity.Client{}, err
	}
	record, err := identity.ParseClient([]byte(raw.Reveal()))
	if err != nil {
		return "", identity.Client{}, fmt.Errorf("the stored client of this folder's token: %w", err)
	}
	return id, record, nil
}

// serveFunctions builds the catalog and starts the functions.
func (g *Gateway) serveFunctions(ctx context.Context) error {
	conns, err := g.connections(ctx)
	if err != nil {
		return err
	}
	if err := stored(ctx, g.app, conns); err != nil {
		return err
	}
	if g.Catalog, err = app.BuildCatalog(ctx, g.app, conns); err != nil {
		return err
	}
	if err := g.pinned(conns); err != nil {
		return err
	}
	mcp, err := g.reserve("mcp", g.config.Port, g.earlier.Endpoint)
	if err != nil {
		return err
	}
	approve, err := g.reserve("approve", g.config.ApprovePort, g.earlier.ApproveURL)
	if err != nil {
		return err
	}
	g.Endpoint, g.ApproveURL = mcp+"/mcp", approve
	if err := app.PublishURLs(ctx, g.app, mcp, approve); err != nil {
		return err
	}
	g.app.Catalog, g.app.Connections, g.app.Approvers = g.Catalog, conns, g.Approvers
	g.app.OnceTTL, g.app.Retention = g.OnceTTL, g.Retention
	longest := functionTimeout
	for _, c := range conns {
		longest = max(longest, c.Timeout+30*time.Second)
	}
	for _, f := range []struct {
		name    string
		build   func(context.Context, app.Config, error) (*functionurl.Handler, error)
		timeout time.Duration
		port    int
	}{
		{"mcp", app.MCP, longest, 0}, {"approve", app.Approve, functionTimeout, 0}, {"notify", app.Notify, functionTimeout, -1}, {"expire", app.Expire, functionTimeout, -1},
	} {
		spec := lambdahost.Function{Name: g.app.FunctionName(f.name), Timeout: f.timeout, URLPort: f.port, Concurrency: 400}
		if g.config.Bootstraps != "" {
			if err := g.bootstrap(&spec, f.name); err != nil {
				return err
			}
		} else if spec.Handler, err = f.build(ctx, g.app, nil); err != nil {
			return err
		}
		if _, err := g.Host.Add(spec); err != nil {
			return err
		}
	}
	expire := g.app.FunctionName("expire")
	if err := errors.Join(g.Host.Every(time.Minute, expire, nil), g.Host.Every(24*time.Hour, expire, app.ScanEvent())); err != nil {
		return err
	}
	// What an earlier process left half done is picked up now, not at the next tick.
	return g.Host.Fire(expire)
}

// reserve opens a function's URL. Asked for any port, it takes the one of the last start where that is still free, so that
// links which were sent then still open.
func (g *Gateway) reserve(fn string, port int, last string) (string, error) {
	name := g.app.FunctionName(fn)
	if u, err := url.Parse(last); err == nil && port == 0 && u.Port() != "" {
		if again, err := strconv.Atoi(u.Port()); err == nil {
			if address, err := g.Host.ReserveURL(name, again); err == nil {
				return address, nil
			}
		}
	}
	address, err := g.Host.ReserveURL(name, port)
	if err != nil && port != 0 {
		return "", &PortError{Function: fn, Port: port, Err: err}
	}
	return address, err
}

// PortError is returned by Start when a port that it was asked for cannot be had.
type PortError struct {
	Function string // "mcp" or "approve"
	Port     int
	Err      error
}

// Error says what the port was for.
func (e *PortError) Error() string {
	what := map[string]string{"mcp": "the MCP endpoint", "approve": "the approval pages"}[e.Function]
	return fmt.Sprintf("%s cannot have port %d: is another program listening there?", what, e.Port)
}

// Unwrap returns the cause.
func (e *PortError) Unwrap() error { return e.Err }

// Operator returns the configuration with which an operator's command reaches this deployment.
func (g *Gateway) Operator() app.Config { return g.app }

// ErrUnderWay is returned by Close when a call was still being sent: nothing cuts it short but its own deadline, because a call
// that is cut is in doubt. When the process ends now, it is in doubt, and nothing sends it again.
var ErrUnderWay = errors.New("a call is still under way")

// Close stops everything: functions first, so that what they acknowledged is in the stand-in before that closes. Calls under
// way get until ctx is done, and a few seconds more.
func (g *Gateway) Close(ctx context.Context) error {
	var failed []error
	if g.Host != nil {
		if err := g.Host.Close(ctx); err != nil { // only ever: an invoke did not return
			failed = append(failed, fmt.Errorf("%w: %w", ErrUnderWay, err))
		}
	}
	if g.demo != nil {
		failed = append(failed, g.demo.Close())
	}
	if g.listener != nil {
		failed = append(failed, g.listener.Close())
	}
	if g.AWS != nil {
		failed = append(failed, g.AWS.Close())
	}
	return errors.Join(failed...)
}
