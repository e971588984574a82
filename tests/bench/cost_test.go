package bench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway"
)

// budget is the most that a flow may cost. Units are what DynamoDB bills: a write of up to 1 KB or a strongly consistent read of
// up to 4 KB is one, an eventually consistent read half of one.
type budget struct {
	requests int
	writes   int     // of requests
	index    float64 // write units of the index
	wcu      float64 // write units of the table: writes, and one more for each further KB of each item
	rcu      float64 // of the table and the index
	row      int     // bytes of the largest row; 0: any
}

// note is the text of about 250 bytes of arguments.
var note = strings.Repeat("please pay the invoice ", 10)

// TestCostPerFlow holds each flow of docs/ledger.md against its budget, through the gateway and the notifier.
func TestCostPerFlow(t *testing.T) {
	t.Parallel()
	must := func(w *world) func(gateway.Reply, error) gateway.Reply {
		return func(r gateway.Reply, err error) gateway.Reply {
			w.Helper()
			if err != nil {
				w.Fatal(err)
			}
			return r
		}
	}
	status := func(w *world, r gateway.Reply, want gateway.Status) {
		w.Helper()
		if r.Status != want {
			w.Fatalf("status = %s, want %s", r.Status, want)
		}
	}
	approve := func(w *world) {
		w.Helper()
		w.approve()
		if n := w.hints(); n > 0 {
			w.Fatalf("%d hints failed", n)
		}
	}
	await := func(w *world, r gateway.Reply) gateway.Reply {
		w.Helper()
		return must(w)(w.Await(w.Context(), w.caller, string(r.ID), 0))
	}
	ungated := func(key, note string) func(*world) {
		return func(w *world) { status(w, must(w)(w.call("free", 1, key, note)), gateway.StatusDone) }
	}
	earlier := func(note string) func(*world) gateway.Reply {
		return func(w *world) gateway.Reply { ungated("k", note)(w); return gateway.Reply{} }
	}
	type flow struct {
		name   string
		before func(*world) gateway.Reply
		run    func(*world, gateway.Reply)
		most   budget
	}
	only := func(run func(*world)) func(*world, gateway.Reply) { return func(w *world, _ gateway.Reply) { run(w) } }
	park := func(connection string) func(*world) gateway.Reply {
		return func(w *world) gateway.Reply {
			r := must(w)(w.call(connection, 1, "", note))
			status(w, r, gateway.StatusAwaiting)
			w.hints()
			return r
		}
	}
	finished := func(connection string) func(*world) gateway.Reply {
		return func(w *world) gateway.Reply {
			r := park(connection)(w)
			approve(w)
			return r
		}
	}
	gated := func(note string) func(*world, gateway.Reply) {
		return func(w *world, _ gateway.Reply) {
			r := must(w)(w.call("pay", 1, "", note))
			status(w, r, gateway.StatusAwaiting)
			w.hints()
			approve(w)
		}
	}
	for _, f := range []flow{
		{name: "a call that changes nothing", most: budget{requests: 1, writes: 1, wcu: 1},
			run: only(func(w *world) { status(w, must(w)(w.call("look", 1, "", "")), gateway.StatusDone) })},
		{name: "an ungated call without a key, row up to 1 KB", run: only(ungated("", "")), most: budget{requests: 2, writes: 2, wcu: 2}},
		{name: "an ungated call with a key, row up to 1 KB", run: only(ungated("k", "")), most: budget{requests: 2, writes: 2, wcu: 2}},
		{name: "an ungated call with a key and 250 B of arguments", run: only(ungated("k", note)), most: budget{requests: 2, writes: 2, wcu: 2}},
		{name: "a deduplicated retry, row up to 1 KB", before: earlier(""), run: only(ungated("k", "")), most: budget{requests: 1, writes: 1, wcu: 1}},
		{name: "a deduplicated retry with 250 B of arguments", before: earlier(note), run: only(ungated("k", note)), most: budget{requests: 1, writes: 1, wcu: 1}},
		{name: "a gated call with few arguments, from the call to the result", run: gated(""), most: budget{requests: 10, writes: 5, index: 6, wcu: 5, rcu: 5, row: 950}},
		{name: "a gated call with 100 B of arguments, from the call to the result", run: gated(note[:82]), most: budget{requests: 10, writes: 5, index: 6, wcu: 5, rcu: 5, row: 1024}},
		{name: "a gated call with 250 B of arguments, from the call to the result", run: gated(note), most: budget{requests: 10, writes: 5, index: 6, wcu: 6, rcu: 5}},
		{name: "an identical call joins the one that waits", before: park("pay"), most: budget{requests: 2, writes: 1, wcu: 1, rcu: 1},
			run: func(w *world, _ gateway.Reply) {
				status(w, must(w)(w.call("pay", 1, "", note)), gateway.StatusAwaiting)
			}},
		{name: "an await that is too early", before: park("pay"), most: budget{requests: 1, rcu: 0.5},
			run: func(w *world, r gateway.Reply) { status(w, await(w, r), gateway.StatusAwaiting) }},
		{name: "an await that gets the result", before: finished("pay"), most: budget{requests: 1, rcu: 0.5},
			run: func(w *world, r gateway.Reply) { status(w, await(w, r), gateway.StatusDone) }},
		{name: "a full wait of 5 s for a decision that does not come", before: park("pay"), most: budget{requests: 11, rcu: 5.5},
			run: func(w *world, r gateway.Reply) {
				status(w, must(w)(w.Await(w.Context(), w.caller, string(r.ID), gateway.DefaultWait)), gateway.StatusAwaiting)
			}},
		{name: "a call under a remembered approval", before: finished("once"), most: budget{requests: 3, writes: 2, wcu: 2, rcu: 1},
			run: only(func(w *world) { status(w, must(w)(w.call("once", 1, "", note)), gateway.StatusDone) })},
		{name: "a call under a remembered approval, next to another session's", most: budget{requests: 4, writes: 2, wcu: 2, rcu: 2},
			before: func(w *world) gateway.Reply {
				finished("once")(w)
				w.session = "another"
				r := finished("once")(w)
				w.session = ""
				return r
			},
			run: only(func(w *world) { status(w, must(w)(w.call("once", 1, "", note)), gateway.StatusDone) })},
		{name: "a call with a key under a remembered approval", before: finished("once"), most: budget{requests: 3, writes: 2, wcu: 2, rcu: 1},
			run: only(func(w *world) { status(w, must(w)(w.call("once", 1, "k", note)), gateway.StatusDone) })},
		{name: "a sweep with nothing to do", before: park("pay"), most: budget{requests: 4, rcu: 2}, run: only(func(w *world) {
			if r, err := w.Sweep(w.Context()); err != nil || r != (gateway.SweepReport{}) {
				w.Fatalf("%+v, %v", r, err)
			}
		})},
		{name: "a sweep that expires one call", before: park("pay"), most: budget{requests: 6, writes: 1, index: 1, wcu: 1, rcu: 3}, run: only(func(w *world) {
			w.advance(8 * 24 * time.Hour)
			if r, err := w.Sweep(w.Context()); err != nil || r.Expired != 1 {
				w.Fatalf("%+v, %v", r, err)
			}
		})},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			var before gateway.Reply
			if f.before != nil {
				before = f.before(w)
			}
			w.aws.Accounting().Reset()
			f.run(w, before)
			got := w.aws.Accounting().Total()
			rows := w.aws.Accounting().Rows()
			cost := budget{requests: got.Requests, wcu: got.WCU, index: got.IndexWCU, rcu: got.RCU + got.IndexRCU, row: w.largest()}
			for _, row := range rows {
				if strings.HasSuffix(row.Operation, "Item") && !strings.HasSuffix(row.Operation, "GetItem") {
					cost.writes += row.Requests
				}
			}
			t.Logf("measure: %-68s %2d requests, %d writes, %v WCU, %v index WCU, %v RCU, $%.2f a million; the row has %d bytes",
				f.name, cost.requests, cost.writes, cost.wcu, cost.index, cost.rcu, (cost.wcu+cost.index)*0.625+cost.rcu*0.125, cost.row)
			most := f.most
			if cost.requests > most.requests || cost.writes > most.writes || cost.index > most.index || cost.wcu > most.wcu || cost.rcu > most.rcu || most.row > 0 && cost.row > most.row {
				t.Errorf("cost %+v, at most %+v", cost, most)
				for _, row := range rows {
					t.Logf("%+v", row)
				}
			}
			if got.Failed > 1 || got.Failed == 1 && f.most.requests != 1 {
				t.Errorf("%d requests failed", got.Failed)
			}
		})
	}
}
