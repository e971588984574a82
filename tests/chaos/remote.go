package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// The tools of the remote server.
const (
	toolSend = "send" // acts
	toolLook = "look" // only reads: how often send has acted
)

// toolSchema is the input of both.
const toolSchema = `{"type":"object","properties":{"run":{"type":"string"},"size":{"type":"string"}},"required":["run"]}`

// serveCall is the remote server's tools/call; everything else is the test server's own.
func (r *Rig) serveCall(rw http.ResponseWriter, req *http.Request, body []byte) bool {
	var m struct {
		ID     string
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if json.Unmarshal(body, &m) != nil || m.Method != "tools/call" || req.Header.Get("Authorization") != "Bearer "+credential {
		return false
	}
	var args struct{ Run, Size string }
	if json.Unmarshal(m.Params.Arguments, &args) != nil {
		return false
	}
	v, ok := r.worlds.Load(args.Run)
	if !ok {
		r.stats.stray("a call of the finished run " + args.Run)
		panic(http.ErrAbortHandler)
	}
	w := v.(*World)
	id, owner, _ := strings.Cut(m.ID, ".")
	var s *sandbox
	var inv *invocation
	act := func() answer { return w.execute(id, owner, m.ID, args.Size) }
	if m.Params.Name == toolLook {
		s, inv = w.asker()
		act = func() answer { return w.look(id, m.ID) }
	} else {
		s, inv = w.sender(owner)
	}
	if s != nil && s.isDoomed() {
		panic(http.ErrAbortHandler) // as at the front
	}
	plain := func(status int) func() answer {
		return func() answer { return answer{status, http.Header{"Content-Type": {"text/plain"}}, []byte("chaos")} }
	}
	w.exchange(rw, req, s, inv, peer{
		at:        Boundary{Kind: Remote, Who: "mcp", What: m.Params.Name},
		act:       act,
		throttled: plain(http.StatusTooManyRequests), // refused: a proof that it did not run
		failed:    plain(http.StatusBadGateway),
	})
	return true
}

// execute is the remote acting. Each time it answers something else, so that a result is known to be of one execution.
func (w *World) execute(id, owner, rpcID, size string) answer {
	w.mu.Lock()
	n := len(w.executions) + 1
	text := fmt.Sprintf("ran %s, execution %d", w.run, n)
	if bytes := map[string]int{"large": 9_000, "huge": 620_000}[size]; bytes > 0 {
		text += " " + noise(n, bytes)
	}
	body := toolResult(text)
	w.executions = append(w.executions, execution{ledger.ID(id), owner, body})
	w.mu.Unlock()
	return rpcResult(rpcID, body)
}

// look is the remote reading.
func (w *World) look(id, rpcID string) answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	body := toolResult(fmt.Sprintf("ran %s, look %d: %d executions", w.run, len(w.looks)+1, len(w.executions)))
	w.looks = append(w.looks, execution{ledger.ID(id), "", body})
	return rpcResult(rpcID, body)
}

func toolResult(text string) string {
	return fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"resultType":"complete"}`, text)
}

func rpcResult(id, result string) answer {
	return answer{200, map[string][]string{"Content-Type": {"application/json"}}, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%q,"result":%s}`, id, result)}
}

// noise is a text that no compression fits into a row. Three quarters of it remain.
func noise(n, size int) string {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	b := make([]byte, size)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[rng.IntN(64)]
	}
	return string(b)
}

// hold is an answer of the remote that is kept back.
type hold struct {
	there    bool // the remote has acted
	released bool
}

// holdNext makes the remote act on the next call and keep its answer back until release.
func (w *World) holdNext() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = &hold{}
}

func (w *World) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != nil {
		w.held.released = true
	}
}

// holding reports whether an answer is kept back now.
func (w *World) holding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held != nil && w.held.there && !w.held.released
}

// keepBack keeps the answer of inv's call back, if that is to be. The caller's turn is over until the answer is released.
func (w *World) keepBack(inv *invocation, gone <-chan struct{}) {
	w.mu.Lock()
	h := w.held
	mine := h != nil && !h.there
	if mine {
		h.there = true
	}
	w.mu.Unlock()
	if mine {
		w.turns.pass(inv.actor, func() bool { w.mu.Lock(); defer w.mu.Unlock(); return h.released }, gone)
	}
}

// hanging is a remote that does not answer at all.
type hanging struct {
	calls  int  // how many
	acts   bool // it does act before it hangs
	starve bool // the function gets no time any more either, so that the platform kills it at its timeout
}

// hangs takes one call to hang.
func (w *World) hangs() (hanging, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hang.calls == 0 {
		return hanging{}, false
	}
	w.hang.calls--
	return w.hang, true
}

// shortTimeout is the timeout of functions whose call hangs: the gateway keeps two seconds of it for recording, the rest is how
// long it waits for the remote.
const shortTimeout = 2700 * time.Millisecond

// hangNext makes the next call hang until the function's timeout.
func (w *World) hangNext(starve bool) {
	acts := w.draw(2) == 0
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeout, w.ages = shortTimeout, true
	w.hang = hanging{calls: 1, acts: acts, starve: starve}
	w.notes = append(w.notes, fmt.Sprintf("the remote will hang; it acts before: %t; the function is killed at its timeout: %t", acts, starve))
}

// elapse lets time go by for the rows: the leases of all calls that run move into the past by as much. Nothing else of a row depends
// on so little time.
func (w *World) elapse(retry int) {
	w.mu.Lock()
	ages := w.ages
	w.mu.Unlock()
	if !ages {
		return
	}
	client := dynamodb.NewFromConfig(direct(w.store))
	for _, inv := range w.rows() {
		if inv.State != ledger.Started {
			continue
		}
		lease := inv.Lease.Add(-time.Duration(retry+1) * time.Minute) // Lambda waits one minute, then two
		_, err := client.UpdateItem(w.rig.ctx, &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), UpdateExpression: aws.String("SET l = :l"),
			Key:                       map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: inv.Key.Partition}, "k": &types.AttributeValueMemberS{Value: inv.Key.Sort}},
			ExpressionAttributeValues: map[string]types.AttributeValue{":l": &types.AttributeValueMemberN{Value: fmt.Sprint(lease.UnixMilli())}},
		})
		if err != nil {
			w.fail("letting time go by: %v", err)
		}
	}
}

// starve lets a call hang until its caller gives up or is killed.
func (w *World) starve(s *sandbox, gone <-chan struct{}, h hanging, act func() answer) {
	if h.acts {
		act()
	}
	if h.starve {
		s.freeze() // whoever waits for the invoke kills it at its deadline
	}
	<-gone
}
