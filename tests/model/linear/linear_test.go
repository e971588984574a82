package linear_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
	"github.com/countersign-mcp/countersign/internal/localaws"
)

// rows is how many rows are raced for; about thirty requests each.
const rows = 300

// asked is one request: a put, an update, or (neither set) a strong read.
type asked struct {
	put    row.Item
	change *ledger.Change
}

// seen is its answer.
type seen struct {
	unknown bool // an error: it may have been applied or not, now or later
	refused bool
	item    row.Item // of an answer: the row as it is; nil where there is none
}

// reference is one row with the ledger's own conditions.
func reference() porcupine.Model {
	none := row.Item(nil)
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{none} },
		Step: func(state, input, output any) []any {
			it, in, out := state.(row.Item), input.(asked), output.(seen)
			next, applies := it, false
			switch {
			case in.put != nil && it == nil:
				next, applies = in.put, true
			case in.change != nil && it != nil && in.change.Holds(it):
				next, applies = in.change.Apply(it), true
			}
			writes := in.put != nil || in.change != nil
			switch {
			case out.unknown && applies:
				return []any{it, next}
			case out.unknown:
				return []any{it}
			case writes && out.refused == applies, !equal(out.item, next):
				return nil
			}
			return []any{next}
		},
		Equal: func(a, b any) bool { return equal(a.(row.Item), b.(row.Item)) },
		DescribeOperation: func(input, output any) string {
			in, out := input.(asked), output.(seen)
			what := "read"
			if in.put != nil {
				what = "put"
			} else if in.change != nil {
				what = string(in.change.Event.Kind)
			}
			return fmt.Sprintf("%s -> %v refused %v unknown %v", what, out.item[row.State], out.refused, out.unknown)
		},
	}
	return m.ToModel()
}

func equal(a, b row.Item) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// recorder is a store that writes down every request and its answer.
type recorder struct {
	ledger.Store
	began   time.Time
	client  int
	history *history
}

type history struct {
	mu  sync.Mutex
	ops []porcupine.Operation
}

func (r recorder) record(in asked, call int64, current ledger.Invocation, err error) {
	op := porcupine.Operation{ClientId: r.client, Input: in, Call: call, Return: time.Since(r.began).Nanoseconds()}
	out := seen{}
	var refused *ledger.Refused
	switch {
	case errors.As(err, &refused):
		out.refused, current = true, refused.Current
	case err != nil && !errors.Is(err, ledger.ErrNotFound):
		out.unknown, op.Return = true, math.MaxInt64
	}
	if current.State != "" {
		out.item = current.Item()
	}
	op.Output = out
	r.history.mu.Lock()
	defer r.history.mu.Unlock()
	r.history.ops = append(r.history.ops, op)
}

// Put implements ledger.Store.
func (r recorder) Put(ctx context.Context, inv ledger.Invocation) error {
	call := time.Since(r.began).Nanoseconds()
	err := r.Store.Put(ctx, inv)
	r.record(asked{put: inv.Item()}, call, inv, err)
	return err
}

// Update implements ledger.Store.
func (r recorder) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	call := time.Since(r.began).Nanoseconds()
	inv, err := r.Store.Update(ctx, c)
	r.record(asked{change: &c}, call, inv, err)
	return inv, err
}

// Get implements ledger.Store. Only strong reads are promised to be linearizable.
func (r recorder) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	call := time.Since(r.began).Nanoseconds()
	inv, err := r.Store.Get(ctx, k, strong)
	if strong {
		r.record(asked{}, call, inv, err)
	}
	return inv, err
}

// crowd lets callers, approvers, executors, a sweeper and a person loose on one row and returns what they saw.
func crowd(store ledger.Store, key string) []porcupine.Operation {
	ctx := context.Background()
	h, began, at := &history{}, time.Now(), ledgertest.Begin().Add(time.Minute)
	by := func(name string, c ledger.Command) ledger.Command {
		c.Actor, c.At, c.Approver, c.Reason = ledger.Actor{By: name}, at, name, "because"
		return c
	}
	lease := at.Add(30 * time.Second)
	result := &ledger.Result{Kind: ledger.ResultOK, Body: []byte(ledgertest.Answer)}
	late := by("sweeper", ledger.Command{Kind: ledger.LeaseOver})
	late.At = at.Add(time.Hour)
	expire := late
	expire.Kind, expire.At = ledger.Expire, at.AddDate(1, 0, 0)
	roles := [][]ledger.Command{
		{by("ana", ledger.Command{Kind: ledger.Approve}), by("ana", ledger.Command{Kind: ledger.SettleRerun})},
		{by("bo", ledger.Command{Kind: ledger.Approve}), by("bo", ledger.Command{Kind: ledger.SettleRan})},
		{by("executor", ledger.Command{Kind: ledger.Claim, Lease: lease, DefinitionDigest: ledgertest.Definition}), by("executor", ledger.Command{Kind: ledger.Complete, Result: result})},
		{by("second", ledger.Command{Kind: ledger.Claim, Lease: lease, DefinitionDigest: ledgertest.Definition}), by("second", ledger.Command{Kind: ledger.Doubt})},
		{late, late},
	}
	// One in four rows is also declined, expired or cancelled by somebody; else nearly all would end there.
	last := key[len(key)-1] % 12
	switch last {
	case 0:
		roles = append(roles, []ledger.Command{by("cy", ledger.Command{Kind: ledger.Decline})})
	case 1:
		roles = append(roles, []ledger.Command{expire})
	case 2:
		roles = append(roles, []ledger.Command{by("canceller", ledger.Command{Kind: ledger.Cancel, Principal: ledgertest.Draft("").Principal})})
	}
	var all sync.WaitGroup
	for client, commands := range roles {
		all.Go(func() {
			l := ledger.New(ledger.Config{Store: recorder{store, began, client, h}})
			inv, _, err := l.Create(ctx, ledgertest.Draft(key), ledger.Park, ledger.Actor{By: fmt.Sprint("caller ", client)}, ledgertest.Begin(), ledgertest.Begin())
			for _, c := range commands {
				for range 3 { // whatever it is told, it looks again
					var next ledger.Invocation
					if err == nil {
						next, err = l.Do(ctx, inv, c)
					}
					if err == nil {
						inv = next
						break
					}
					inv, err = l.Get(ctx, ledgertest.Draft(key).Key.ID(), true)
				}
			}
		})
	}
	all.Wait()
	return h.ops
}

// TestLinearizable checks the stand-in in this process, or the endpoint that AWS_ENDPOINT_URL names.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	store := open(t)
	requests, unknown := 0, 0
	for i := range rows {
		ops := crowd(store, fmt.Sprint("row ", i))
		requests += len(ops)
		for _, op := range ops {
			if op.Output.(seen).unknown {
				unknown++
			}
		}
		if got := porcupine.CheckOperationsTimeout(reference(), ops, time.Minute); got != porcupine.Ok {
			t.Fatalf("row %d: %s: there is no order in which all of this is true:%s", i, got, list(ops))
		}
	}
	if unknown*10 > requests {
		t.Errorf("%d of %d requests failed: nothing was shown", unknown, requests)
	}
	t.Logf("measure: linearizable: %d rows, %d requests, %d of unknown outcome", rows, requests, unknown)
}

func list(ops []porcupine.Operation) string {
	describe, s := reference().DescribeOperation, ""
	for _, op := range ops {
		s += fmt.Sprintf("\n  client %d  %d..%d  %s", op.ClientId, op.Call/1000, op.Return/1000, describe(op.Input, op.Output))
	}
	return s
}

// hasty is a store that checks the condition by a read, and then writes whatever comes.
type hasty struct{ ledger.Store }

// Update implements ledger.Store.
func (s hasty) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	now, err := s.Get(ctx, c.Key, true)
	if err != nil {
		return ledger.Invocation{}, err
	}
	if !c.Holds(now.Item()) {
		return ledger.Invocation{}, &ledger.Refused{Current: now}
	}
	for { // the write that does not ask: over whatever is there by now
		inv, err := s.Store.Update(ctx, c)
		var refused *ledger.Refused
		if !errors.As(err, &refused) {
			return inv, err
		}
		c.From, c.Head, c.Guards = refused.Current.State, refused.Current.Head, nil
	}
}

// stale is a store whose strong reads are not.
type stale struct {
	ledger.Store
	mu   *sync.Mutex
	last map[ledger.Key]ledger.Invocation
}

// Get implements ledger.Store.
func (s stale) Get(ctx context.Context, k ledger.Key, strong bool) (ledger.Invocation, error) {
	now, err := s.Store.Get(ctx, k, strong)
	s.mu.Lock()
	defer s.mu.Unlock()
	before, there := s.last[k]
	s.last[k] = now
	if there && err == nil {
		return before, nil
	}
	return now, err
}

// TestBadStoresAreRejected shows that the check can fail.
func TestBadStoresAreRejected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		store ledger.Store
	}{
		{"a condition that is checked by a read before the write", hasty{standIn(t)}},
		{"strong reads that are a little behind", stale{standIn(t), &sync.Mutex{}, map[ledger.Key]ledger.Invocation{}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for i := range rows {
				if porcupine.CheckOperationsTimeout(reference(), crowd(tc.store, fmt.Sprint("row ", i)), time.Minute) == porcupine.Illegal {
					t.Logf("measure: linearizable: %s: rejected at row %d", tc.name, i+1)
					return
				}
			}
			t.Errorf("%d rows, and nobody noticed", rows)
		})
	}
}

// open returns a store on AWS_ENDPOINT_URL, or on a stand-in of this process.
func open(t *testing.T) ledger.Store {
	t.Helper()
	if url := os.Getenv("AWS_ENDPOINT_URL"); url != "" {
		return connect(t, url)
	}
	return standIn(t)
}

func standIn(t *testing.T) ledger.Store {
	t.Helper()
	server, err := localaws.Open(localaws.Config{})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		listener.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return connect(t, listener.URL)
}

func connect(t *testing.T, url string) ledger.Store {
	t.Helper()
	// One request is one request: a repetition by the client library would be recorded as what its last try was told.
	client := dynamodb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(url), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
	table := "linear-" + rand.Text()
	if err := dynamoledger.CreateTable(context.Background(), client, table); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(table)}); err != nil {
			t.Logf("table %s is left behind: %v", table, err)
		}
	})
	return dynamoledger.New(dynamoledger.Config{Client: client, Table: table})
}
