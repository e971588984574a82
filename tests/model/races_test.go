package model_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/dynamoledger"
	"github.com/countersign-mcp/countersign/internal/ledger/ledgertest"
	"github.com/countersign-mcp/countersign/internal/ledger/memledger"
	"github.com/countersign-mcp/countersign/internal/localaws"
)

// move is one contender of a race: what it tries on the row that everybody was shown.
type move struct {
	name string
	try  func(l *ledger.Ledger, shown ledger.Invocation) (ledger.Invocation, error)
}

func command(by string, c ledger.Command) move {
	return move{by, func(l *ledger.Ledger, shown ledger.Invocation) (ledger.Invocation, error) {
		c := c
		c.Actor, c.Head = ledger.Actor{By: by}, shown.Head
		return l.Do(context.Background(), shown, c)
	}}
}

// resend is the caller making the same call again: it wins nothing, and must be told the truth.
const resend = "the call again"

// race is two things that happen to one row at the same moment, of which one may win.
type race struct {
	name     string
	approved bool // the row is approved before, not only parked
	a, b     move
}

func races() []race {
	at := soon()
	approve := func(by string) move { return command(by, ledger.Command{Kind: ledger.Approve, Approver: by, At: at}) }
	decline := command("bo", ledger.Command{Kind: ledger.Decline, Approver: "bo", At: at})
	// The sweeper's clock is ahead of the approver's: both find their time right.
	expire := command("sweeper", ledger.Command{Kind: ledger.Expire, At: fast()})
	cancel := command("canceller", ledger.Command{Kind: ledger.Cancel, At: at, Principal: ledgertest.Draft("").Principal})
	claim := command("executor", ledger.Command{Kind: ledger.Claim, At: at, Lease: at.Add(lease), DefinitionDigest: ledgertest.Definition})
	again := move{resend, func(l *ledger.Ledger, shown ledger.Invocation) (ledger.Invocation, error) {
		d := ledgertest.Draft("")
		d.Key = shown.Key
		inv, fresh, err := l.Create(context.Background(), d, ledger.Park, ledger.Actor{By: resend}, begin(), begin())
		if fresh {
			return inv, errors.New("the call was made a second time")
		}
		return inv, err
	}}
	return []race{
		{"approve against approve", false, approve("ana"), approve("bo")},
		{"approve against decline", false, approve("ana"), decline},
		{"approve against expire", false, approve("ana"), expire},
		{"cancel against start", true, cancel, claim},
		{"the call again against approve", false, again, approve("ana")},
	}
}

// TestRaces lets two contenders loose on one row at the same moment, again and again. One wins, and the other is told who.
func TestRaces(t *testing.T) {
	t.Parallel()
	standIn := newStandIn(t)
	all := races()
	tab := newTable(t, 2*len(all), "race", "over", "rounds", "one winner, every loser told", "won by")
	for s, store := range []struct {
		name  string
		s     ledger.Store
		sizes [3]int // rounds of each race
	}{
		{"memledger", memledger.New(), [3]int{200, 10_000, 100_000}},
		{"dynamoledger", standIn, [3]int{200, 2_000, 10_000}},
	} {
		for i, r := range all {
			t.Run(store.name+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				rounds := sized(t, store.sizes)
				l := ledger.New(ledger.Config{Store: store.s})
				wins := map[string]int{}
				for n := range rounds {
					if n%2 == 1 { // who is started last tends to win
						r.a, r.b = r.b, r.a
					}
					winner, err := r.run(l, fmt.Sprint(r.name, n))
					if err != nil {
						t.Fatalf("round %d: %v", n+1, err)
					}
					wins[winner]++
				}
				tab.set(s*len(all)+i, r.name, store.name, thousands(rounds), thousands(rounds), strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(wins), "map["), "]"))
			})
		}
	}
}

// run is one round. It returns who won, or what went wrong.
func (r race) run(l *ledger.Ledger, key string) (winner string, err error) {
	ctx := context.Background()
	shown, _, err := l.Create(ctx, ledgertest.Draft(key), ledger.Park, ledger.Actor{By: "caller"}, begin(), begin())
	if err == nil && r.approved {
		shown, err = l.Do(ctx, shown, ledger.Command{Kind: ledger.Approve, Approver: "eve", Actor: ledger.Actor{By: "eve"}, At: begin()})
	}
	if err != nil {
		return "", err
	}
	moves := []move{r.a, r.b}
	told := make([]ledger.Invocation, len(moves))
	errs := make([]error, len(moves))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i, m := range moves {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			told[i], errs[i] = m.try(l, shown)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()

	now, err := l.Get(ctx, shown.Key.ID(), true)
	if err != nil {
		return "", err
	}
	if len(now.Events) != len(shown.Events)+1 {
		return "", fmt.Errorf("%d transitions were made of one row: %v", len(now.Events)-len(shown.Events), kinds(now.Events))
	}
	winner = now.Events[len(shown.Events)].By
	for i, m := range moves {
		var conflict *ledger.Conflict
		switch {
		case m.name == resend:
			if errs[i] != nil || told[i].Key != now.Key || told[i].Head != now.Head && told[i].Head != shown.Head {
				return "", fmt.Errorf("the call made again was told %s %v, the row is %s", told[i].State, errs[i], now.State)
			}
		case errs[i] == nil && (m.name != winner || told[i].Head != now.Head):
			return "", fmt.Errorf("%s was told that it won, the row says %s", m.name, winner)
		case errs[i] == nil:
		case !errors.As(errs[i], &conflict):
			return "", fmt.Errorf("%s: %w", m.name, errs[i])
		case m.name == winner:
			return "", fmt.Errorf("%s won and was told that it lost", m.name)
		case conflict.Current.Head != now.Head:
			return "", fmt.Errorf("%s lost and was shown %s instead of what %s did", m.name, conflict.Current.State, winner)
		}
	}
	return winner, ledger.Verify(now)
}

func kinds(events []ledger.Event) []string {
	out := make([]string, len(events))
	for i, e := range events {
		out[i] = fmt.Sprintf("%s by %s", e.Kind, e.By)
	}
	return out
}

// newStandIn returns a dynamoledger over the stand-in, reached over HTTP as the functions reach DynamoDB.
func newStandIn(t *testing.T) ledger.Store {
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
	client := dynamodb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(listener.URL),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", "")})
	if err := dynamoledger.CreateTable(context.Background(), client, "races"); err != nil {
		t.Fatal(err)
	}
	return dynamoledger.New(dynamoledger.Config{Client: client, Table: "races"})
}

// twice is a store without conditions, to show that a race can be seen: it applies whatever comes.
type twice struct{ *memledger.Store }

// Update implements ledger.Store.
func (s twice) Update(ctx context.Context, c ledger.Change) (ledger.Invocation, error) {
	now, err := s.Get(ctx, c.Key, true)
	if err != nil {
		return ledger.Invocation{}, err
	}
	c.From, c.Head = now.State, now.Head // the check has become a read before the write
	return s.Store.Update(ctx, c)
}

// TestRacesCanBeSeen runs the races over a store whose condition checks what it has just read itself.
func TestRacesCanBeSeen(t *testing.T) {
	t.Parallel()
	for _, r := range races()[:4] {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			l := ledger.New(ledger.Config{Store: twice{memledger.New()}})
			for i := range 100 {
				r.a, r.b = r.b, r.a
				if _, err := r.run(l, fmt.Sprint(i)); err != nil {
					t.Logf("round %d: %v", i+1, err)
					return
				}
			}
			t.Error("100 rounds without a condition, and nobody noticed")
		})
	}
}
