package chaos

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"github.com/countersign-mcp/countersign/internal/app"
	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/gateway"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/localaws"
	"github.com/countersign-mcp/countersign/internal/secret"
	"github.com/countersign-mcp/countersign/internal/secret/ssmsecret"
	"github.com/countersign-mcp/countersign/internal/upstream"
	"github.com/countersign-mcp/countersign/internal/upstream/upstreamtest"
)

const (
	stage      = "chaos"
	tableName  = "countersign-" + stage
	credential = "the-remote-servers-token"
	approveURL = "https://approve.example"
	endpoint   = "https://mcp.example/mcp"

	// functionTimeout is what an invoke may take. It leaves the gateway's own reserves for recording an outcome, and is far beyond
	// what anything here takes that is not stuck.
	functionTimeout = 15 * time.Second
)

// Config is how a rig is set up. Its zero value is ready for use.
type Config struct {
	Overlay string    // passed to go build for the functions: shows that the rig finds what is wrong with them
	Log     io.Writer // of the functions; nil: discarded
}

// Rig owns every peer of the functions. Its worlds share processes and nothing else.
type Rig struct {
	ctx              context.Context // of what the harness itself reads and marks
	dir, bin, bundle string
	log              io.Writer
	addr             string // of the front, host and port
	server           *http.Server
	starter          *starter
	base             *localaws.Server // Parameter Store, the same for every world
	remote           *upstreamtest.Server
	app              app.Config // reaches base
	token            string     // of the client
	approvers        []string
	catalog          *catalog.Catalog
	connections      []conn.Connection
	secrets          secret.Source
	principals       *identity.Clients
	upstream         *upstream.Client

	lanes                   []*lane
	plainLanes, secureLanes chan *lane // those that no run has

	names     atomic.Int64
	sandboxes sync.Map // name -> *sandbox
	worlds    sync.Map // run -> *World
	cards     sync.Map // invocation id -> *cards
	stats     stats

	mu   sync.Mutex
	free map[string][]*sandbox // by function, frozen
}

// NewRig builds the functions and starts their peers. Close it.
func NewRig(ctx context.Context, c Config) (_ *Rig, err error) {
	if !supported {
		return nil, errors.New("the functions are Lambda bootstraps, which run on Linux only")
	}
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	r := &Rig{ctx: context.WithoutCancel(ctx), free: map[string][]*sandbox{}, approvers: []string{"ana", "bo", "cy"}, starter: newStarter()}
	if c.Log != nil {
		r.log = &shared{w: c.Log}
	}
	if r.dir, err = os.MkdirTemp("", "countersign-chaos-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	r.bin, r.bundle = filepath.Join(r.dir, "bin"), filepath.Join(r.dir, "bundle")
	if err := buildFunctions(root, r.bin, c.Overlay); err != nil {
		return nil, err
	}
	if err := r.listen(); err != nil {
		return nil, err
	}
	if err := r.seed(ctx); err != nil {
		return nil, err
	}
	return r, r.deploy(ctx)
}

// listen starts the front, the remote server and the shared Parameter Store.
func (r *Rig) listen() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.addr = l.Addr().String()
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: 10 * time.Second, ErrorLog: quietLog()}
	go func() { _ = r.server.Serve(l) }() // ends with ErrServerClosed
	if r.base, err = localaws.Open(localaws.Config{}); err != nil {
		return err
	}
	r.remote, err = upstreamtest.New(upstreamtest.Options{
		Era: upstreamtest.Modern, Token: credential, Intercept: r.serveCall,
		Tools: []upstreamtest.Tool{{Name: toolSend, Input: json.RawMessage(toolSchema)}, {Name: toolLook, Input: json.RawMessage(toolSchema)}},
	})
	if err != nil {
		return err
	}
	if err := r.openLanes(); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AddCert(r.lanes[len(r.lanes)-1].server.Certificate())
	silent := slog.New(slog.DiscardHandler)
	r.upstream = upstream.New(upstream.Config{Log: silent, TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}})
	r.app = app.Config{
		Stage: stage, Table: tableName, AWS: direct(r.base), Now: time.Now, Log: silent,
		Upstream: func(conn.Connection) gateway.Upstream { return r.upstream },
	}
	return nil
}

func quietLog() *log.Logger { return slog.NewLogLogger(slog.DiscardHandler, 0) }

// seed stores what a deployment has before its first call.
func (r *Rig) seed(ctx context.Context) error {
	random := rand.NewChaCha8([32]byte{}) // ids derive from these: a run that is played again has the same ones
	if _, err := app.InitKeys(ctx, r.app, random); err != nil {
		return err
	}
	id, token, hash, err := identity.NewToken(random)
	if err != nil {
		return err
	}
	r.token = token.Reveal()
	record, err := json.Marshal(identity.Client{Name: "twin", SHA256: hash, Scopes: identity.Scopes{"call:*"}, Created: time.Now().UTC()})
	if err != nil {
		return err
	}
	client := ssm.NewFromConfig(r.app.AWS)
	values := map[string]string{"clients/" + id: string(record), "credentials/remote/token": credential, "vars/REMOTE": r.remote.URL()}
	for _, l := range r.lanes {
		values["vars/"+l.variable] = l.url()
	}
	for path, value := range values {
		if err := app.PutParameter(ctx, client, r.app.Prefix()+"/"+path, value, types.ParameterTypeSecureString, true); err != nil {
			return err
		}
	}
	return app.PublishURLs(ctx, r.app, strings.TrimSuffix(endpoint, "/mcp"), approveURL)
}

// connectionFiles are the ways in which a call can be gated and repeated.
func (r *Rig) connectionFiles() map[string]string {
	server := func(variable string) string {
		return "url: ${" + variable + "}\nauth: {type: bearer, credential: remote.token}\n"
	}
	head := server("REMOTE")
	send := head + "tools: [send]\n"
	both := head + "tools: [send, look]\nread_only: [look]\nverify_with: {send: {tool: look, arguments: {run: param.run}}}\n"
	files := map[string]string{
		"free":       send + "approval: never\n",
		"pay":        send + "approval: always\n",
		"once":       send + "approval: once\n",
		"idem":       send + "approval: never\neffect: idempotent\nidempotency: {header: Idempotency-Key}\n",
		"idempay":    send + "approval: always\neffect: idempotent\n",
		"slow":       send + "approval: never\ntimeout: 90s\n",
		"effect":     send + "approval: never\ndedupe_key: {send: [param.run]}\n",
		"effectpay":  send + "approval: always\ndedupe_key: {send: [param.run]}\n",
		"checked":    both + "approval: never\n",
		"checkedpay": both + "approval: always\n",
		"reads":      head + "tools: [look]\nread_only: [look]\napproval: once\n",
	}
	for _, l := range r.lanes {
		files[l.name] = server(l.variable) + "tools: [send]\napproval: never\n"
		files[l.name+"pay"] = server(l.variable) + "tools: [send]\napproval: always\n"
	}
	return files
}

// deploy lays out the bundle that a deploy puts beside each binary, and the same for the gateway of tomorrow in this process.
func (r *Rig) deploy(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(r.bundle, app.ConnectionsDir), 0o700); err != nil {
		return err
	}
	for name, text := range r.connectionFiles() {
		if err := os.WriteFile(filepath.Join(r.bundle, app.ConnectionsDir, name+".yml"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	var settings strings.Builder
	settings.WriteString("approvers:\n")
	for _, name := range r.approvers {
		fmt.Fprintf(&settings, "  - name: %s\n    channel: console\n", name)
	}
	if err := os.WriteFile(filepath.Join(r.bundle, app.SettingsFile), []byte(settings.String()), 0o600); err != nil {
		return err
	}
	conns, problems := conn.Load(os.DirFS(r.bundle), app.ConnectionsDir)
	if err := problems.Err(); err != nil {
		return err
	}
	var err error
	if r.catalog, err = app.BuildCatalog(ctx, r.app, conns); err != nil {
		return err
	}
	raw, err := r.catalog.Encode()
	if err != nil {
		return err
	}
	r.connections = conns
	source := ssmsecret.New(ssmsecret.Config{Client: ssm.NewFromConfig(r.app.AWS), Prefix: r.app.Prefix(), Now: time.Now})
	r.secrets = source
	r.principals = identity.NewClients(source, time.Now, r.app.Log)
	return os.WriteFile(filepath.Join(r.bundle, app.CatalogFile), raw, 0o600)
}

// Close ends every process and removes the folder.
func (r *Rig) Close() error {
	r.sandboxes.Range(func(_, v any) bool {
		s := v.(*sandbox)
		s.kill()
		return true
	})
	r.starter.close()
	var failed []error
	if r.server != nil {
		failed = append(failed, r.server.Close())
	}
	r.closeLanes()
	if r.remote != nil {
		r.remote.Close()
	}
	if r.base != nil {
		failed = append(failed, r.base.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(r.dir))...)
}

// invoke runs a function once: in a process that stands still, or a new one.
func (r *Rig) invoke(inv *invocation, fn string) outcome {
	r.stats.invokes.Add(1)
	s := r.idle(inv, fn)
	if s == nil {
		var forInit *invocation
		if inv.world.cold {
			forInit = inv
		}
		var err error
		if s, err = r.spawn(fn, forInit); err != nil {
			return outcome{failure: err.Error()}
		}
		select {
		case <-s.polled:
		case <-s.dead:
			return outcome{failure: "the function could not start"}
		case <-time.After(functionTimeout):
			s.kill()
			return outcome{failure: "the function did not start in time"}
		}
		if !s.take(inv) {
			<-s.dead
			return outcome{failure: "the function died"}
		}
		inv.deadline = time.Now().Add(inv.timeout)
	} else {
		s.thaw()
	}
	out := s.run(inv)
	s.output.read()
	select {
	case <-s.polled:
		s.freeze()
		s.rest()
		if inv.world.cold {
			s.kill()
			break
		}
		r.mu.Lock()
		r.free[fn] = append(r.free[fn], s)
		r.mu.Unlock()
	case <-s.dead:
	case <-time.After(time.Until(inv.deadline)):
		s.kill()
	}
	return out
}

// idle takes a process that stands still.
func (r *Rig) idle(inv *invocation, fn string) *sandbox {
	if inv.world.cold {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		list := r.free[fn]
		if len(list) == 0 {
			return nil
		}
		s := list[len(list)-1]
		r.free[fn] = list[:len(list)-1]
		if s.take(inv) {
			return s
		}
	}
}

// killFor is a planned death, in inv's run.
func (r *Rig) killFor(inv *invocation, s *sandbox) {
	inv.world.kills.Add(1)
	s.kill()
}

// gateway is the same gateway in this process, on a world's table, with a clock of its own. Nothing goes wrong with it.
func (r *Rig) gateway(w *World, ahead time.Duration) *gateway.Gateway {
	now := func() time.Time { return time.Now().Add(ahead) }
	g := gateway.Config{
		Ledger: w.ledger, Now: now, Log: r.app.Log, Catalog: r.catalog, Connections: r.connections, Secrets: r.secrets, Principals: r.principals,
		Upstream:  func(conn.Connection) gateway.Upstream { return r.upstream },
		Approvers: func(string) []string { return r.approvers },
	}
	w.hints(&g)
	return gateway.New(g)
}

// direct is an AWS configuration whose requests go straight to a stand-in of this process.
func direct(h http.Handler) aws.Config {
	c := app.LocalAWS("http://stand-in.example")
	c.HTTPClient = straight{h}
	return c
}

type straight struct{ to http.Handler }

func (s straight) Do(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	s.to.ServeHTTP(rec, req)
	return rec.Result(), nil
}

// shared lets processes write to one writer.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}
