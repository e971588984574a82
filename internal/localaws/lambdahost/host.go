package lambdahost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// ErrClosed is returned for work that arrives after Close.
var ErrClosed = errors.New("the function host is closed")

// Config is how a Host behaves. Its zero value is a host like Lambda's.
type Config struct {
	Log         *slog.Logger  // nil: no log
	Region      string        // of the functions' ARNs and environment; default us-east-1
	InitTimeout time.Duration // from the start of a sandbox to its first poll; default 10 s, as on Lambda

	// AsyncRetryDelays are the pauses before an asynchronous invoke that failed is run again; their number is the number of
	// retries. nil: one minute and two minutes, as on Lambda. Empty: no retry.
	AsyncRetryDelays []time.Duration

	// RenameChallenge makes URLs send WWW-Authenticate as X-Amzn-Remapped-Www-Authenticate, as operators of Lambda's function URLs
	// report of them. A client that works with it does not depend on the challenge.
	RenameChallenge bool

	// AsyncFault, when set, is asked once for each asynchronous invoke and scheduled event, before it is queued. It may be called
	// from several goroutines at once.
	AsyncFault func(AsyncInvoke) Delivery
}

// Function is one function. Exactly one of Handler and Bootstrap is set.
type Function struct {
	Name        string         // 1 to 64 of A-Z a-z 0-9 - _
	Handler     lambda.Handler // in this process
	Bootstrap   string         // path of a binary that speaks the Runtime API (Linux)
	Args        []string       // arguments of Bootstrap; Lambda gives none, a test binary may need some
	Env         []string       // "KEY=value", of Bootstrap's sandboxes
	Timeout     time.Duration  // of one invoke; default 30 s, at most 15 min
	Concurrency int            // invokes at a time; default 100
	URLPort     int            // loopback port of the function URL: 0 any free one, -1 no URL. Ignored after ReserveURL
	Output      io.Writer      // stdout and stderr of the sandboxes; nil: discarded
}

// Host runs functions. Its methods may be called from several goroutines at once.
type Host struct {
	config Config
	log    *slog.Logger

	base   context.Context // of in-process invokes; cancelled when Close runs out of patience
	cancel context.CancelFunc
	stop   chan struct{} // closed by Close: no new work, no more retries

	pending gauge // asynchronous invokes: queued, running or waiting for a retry
	running gauge // invokes and schedules

	launcher launcher

	mu        sync.Mutex
	closed    bool
	functions map[string]*function
	urls      map[string]*functionURL
}

// New returns a host without functions.
func New(c Config) *Host {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if c.InitTimeout == 0 {
		c.InitTimeout = 10 * time.Second
	}
	if c.AsyncRetryDelays == nil {
		c.AsyncRetryDelays = []time.Duration{time.Minute, 2 * time.Minute}
	}
	base, cancel := context.WithCancel(context.Background())
	return &Host{
		config: c, log: c.Log, base: base, cancel: cancel, stop: make(chan struct{}),
		functions: map[string]*function{}, urls: map[string]*functionURL{},
	}
}

var functionName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Add starts serving a function and returns its URL, which has no slash at its end, or "" for a function without one. A bootstrap
// is started at its first invoke, as on Lambda.
func (h *Host) Add(spec Function) (url string, err error) {
	switch {
	case !functionName.MatchString(spec.Name):
		return "", fmt.Errorf("function name %q: use 1 to 64 of A-Z a-z 0-9 - _", spec.Name)
	case (spec.Handler == nil) == (spec.Bootstrap == ""):
		return "", fmt.Errorf("function %s: set exactly one of Handler and Bootstrap", spec.Name)
	case spec.Timeout < 0 || spec.Timeout > 15*time.Minute:
		return "", fmt.Errorf("function %s: timeout %v is not between 0 and 15 minutes", spec.Name, spec.Timeout)
	case spec.Concurrency < 0:
		return "", fmt.Errorf("function %s: concurrency %d is negative", spec.Name, spec.Concurrency)
	}
	if spec.Timeout == 0 {
		spec.Timeout = 30 * time.Second
	}
	if spec.Concurrency == 0 {
		spec.Concurrency = 100
	}
	if spec.Bootstrap != "" {
		if !bootstraps {
			return "", fmt.Errorf("function %s: bootstrap binaries run on Linux only; use a Handler here", spec.Name)
		}
		if info, err := os.Stat(spec.Bootstrap); err != nil {
			return "", fmt.Errorf("function %s: %w; build it first", spec.Name, err)
		} else if info.IsDir() || info.Mode()&0o111 == 0 {
			return "", fmt.Errorf("function %s: %s is not an executable file", spec.Name, spec.Bootstrap)
		}
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return "", ErrClosed
	}
	if h.functions[spec.Name] != nil {
		return "", fmt.Errorf("function %s is there already", spec.Name)
	}
	u := h.urls[spec.Name]
	if u == nil && spec.URLPort >= 0 {
		if u, err = h.listen(spec.Name, spec.URLPort); err != nil {
			return "", err
		}
	}
	f := h.newFunction(spec)
	h.functions[spec.Name] = f
	if u == nil {
		return "", nil
	}
	u.serve(f)
	return u.url, nil
}

// ReserveURL opens the listener of a function that is added later and returns its URL. Requests wait until then. port 0 takes any
// free one.
func (h *Host) ReserveURL(name string, port int) (url string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return "", ErrClosed
	}
	if h.urls[name] != nil {
		return "", fmt.Errorf("function %s has a URL already: %s", name, h.urls[name].url)
	}
	if h.functions[name] != nil {
		return "", fmt.Errorf("function %s was added without a URL; reserve it before Add", name)
	}
	u, err := h.listen(name, port)
	if err != nil {
		return "", err
	}
	return u.url, nil
}

// function returns the function called name, or an error which names those there are.
func (h *Host) function(name string) (*function, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if f := h.functions[name]; f != nil {
		return f, nil
	}
	var names []string
	for n := range h.functions {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, &unknownFunction{name: name, known: names}
}

type unknownFunction struct {
	name  string
	known []string
}

func (e *unknownFunction) Error() string {
	return fmt.Sprintf("no function %q on this host; there are %q", e.name, e.known)
}

// Wait returns when no asynchronous invoke or scheduled event is queued, running or waiting for its retry, or with ctx's error.
// Those that the functions queue meanwhile are waited for too.
func (h *Host) Wait(ctx context.Context) error {
	if n, err := h.pending.wait(ctx); err != nil {
		return fmt.Errorf("%d asynchronous invokes are not done: %w", n, err)
	}
	return nil
}

// KillAll kills every sandbox with SIGKILL, in the middle of what it does, and returns when all are dead. Their invokes end in an
// error; later ones get new sandboxes. In-process functions are not touched.
func (h *Host) KillAll() {
	for _, f := range h.all() {
		f.runner.killAll()
	}
}

func (h *Host) all() []*function {
	h.mu.Lock()
	defer h.mu.Unlock()
	var fs []*function
	for _, f := range h.functions {
		fs = append(fs, f)
	}
	return fs
}

// Close takes no more work, gives running invokes until ctx is done, then cancels the in-process ones and kills the sandboxes.
// Asynchronous invokes which wait for their turn or a retry are dropped. It returns an error only if an in-process function does not return
// after its context was cancelled. A second Close does nothing.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	urls := make([]*functionURL, 0, len(h.urls))
	for _, u := range h.urls {
		urls = append(urls, u)
	}
	h.mu.Unlock()
	close(h.stop)
	for _, u := range urls {
		u.refuse()
	}

	_, err := h.running.wait(ctx)
	h.cancel()
	h.KillAll()
	if err != nil {
		// Cancelled handlers and killed sandboxes end within moments; a handler that ignores its context does not.
		last, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		var n int
		if n, err = h.running.wait(last); err != nil {
			err = fmt.Errorf("closing the function host: %d invokes ignore that their context is cancelled", n)
		}
	}
	for _, u := range urls {
		u.close()
	}
	h.launcher.close()
	return err
}
