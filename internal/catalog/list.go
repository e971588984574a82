package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/conn"
)

const (
	// asked is how many servers are asked at the same time. Up to so many connections, a listing takes as long as its slowest server,
	// and never longer than Options.Deadline.
	asked = 64
	// resolving is how many connections read their values at the same time: the Parameter Store allows 40 reads a second.
	resolving = 8
)

// Listing is what one connection's server lists at this moment.
type Listing struct {
	Connection string
	Discovery
	Err error // the server could not be asked or listed nothing, or, as a *SetupError, what the connection needs is not there
}

// SetupError is a connection that could not be asked for a reason of our own: a value that is missing or unfit.
type SetupError struct{ Err error }

// Error returns one line for each value.
func (e *SetupError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *SetupError) Unwrap() error { return e.Err }

var errNoTools = errors.New("the server lists no tools; check its address and what its credential may see")

// List asks every connection's server for its tools, side by side, and judges nothing. The listings come in the order of conns; one
// that failed says so and never looks like an empty one (K2).
func List(ctx context.Context, conns []conn.Connection, o Options) []Listing {
	all := make([]Listing, len(conns))
	eachListing(ctx, conns, o.withDefaults(), func(i int, l Listing) { all[i] = l })
	return all
}

// eachListing calls do with each connection's listing as it comes, from many goroutines.
func eachListing(ctx context.Context, conns []conn.Connection, o Options, do func(int, Listing)) {
	asking, reading := make(chan struct{}, asked), make(chan struct{}, resolving)
	var wait sync.WaitGroup
	for i, c := range conns {
		wait.Go(func() {
			asking <- struct{}{}
			defer func() { <-asking }()
			found, err := list(ctx, c, o, reading)
			do(i, Listing{Connection: c.Name, Discovery: found, Err: err})
		})
	}
	wait.Wait()
}

func list(ctx context.Context, c conn.Connection, o Options, reading chan struct{}) (Discovery, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	reading <- struct{}{}
	c, resolved, err := c.ResolveForDiscovery(ctx, o.Secrets)
	<-reading
	if err != nil {
		return Discovery{}, &SetupError{Err: err}
	}
	found, err := o.Discover.Discover(ctx, c, resolved)
	if err == nil && len(found.Tools) == 0 {
		err = errNoTools
	}
	if err == nil {
		return found, nil
	}
	reason := strings.TrimPrefix(err.Error(), c.Name+": ")
	// What was bounded by the deadline may end a moment before the context says so.
	if end, _ := ctx.Deadline(); errors.Is(ctx.Err(), context.DeadlineExceeded) || !time.Now().Before(end) {
		reason = fmt.Sprintf("no complete answer within %s: %s", o.Deadline, reason)
	}
	return Discovery{}, errors.New(reason)
}
