package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/identity"
	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/ledger"
)

// MaxHeld is the longest timeout for which the caller's request is held; longer calls go to the executor (T0d).
const MaxHeld = 60 * time.Second

const channel = "mcp"

// Plan is a call that passed every check which needs no row: what would be sent, where and under which gate.
type Plan struct {
	Tool       *catalog.Tool
	Conn       conn.Connection
	Resolved   conn.Resolved // after Resolve
	Draft      ledger.Invocation
	Twins      ledger.Newest // after Meet: where calls that are identical to this one meet, and, once it was read, the newest of them
	Actor      ledger.Actor
	Key        string // the client's own, or empty
	Effect     string // what identifies the call's effect (dedupe_key), for people too; empty: nothing does
	Reads      bool   // it does not wait for a person, and changes nothing: no row before it runs
	HandedOver bool   // it may take longer than a caller is held: where it needs nobody's decision, an executor runs it
}

// Visible reports whether p may see and call t: whether its scopes allow it, and the conditions of the connection and of the tool hold
// for its context. Lists, searches, calls and executors ask the same question here, so they cannot differ (P3). What of a condition
// cannot be judged withholds the tool.
func Visible(p identity.Principal, c conn.Connection, t *catalog.Tool) bool {
	return withheld(p, c, t) == nil
}

// withheld says why p may not call t. A condition is not repeated: it may name roles that the caller should not learn of.
func withheld(p identity.Principal, c conn.Connection, t *catalog.Tool) error {
	if !p.Scopes.Allows(t.Connection, t.Upstream, c.ReadsOnly(t.Upstream)) {
		return fault.New(fault.Forbidden, "client %q may not call %s: it lacks the scope %s", p.Name, t.Name, identity.Needed(t.Connection)).
			With("scope", identity.Needed(t.Connection))
	}
	if offered, missing := c.OffersTool(t.Upstream, p.Context); !offered {
		var unknown error // for the operator's log
		if len(missing) > 0 {
			unknown = errors.New("not known of it: " + strings.Join(missing, ", "))
		}
		return fault.Wrap(unknown, fault.Forbidden, "client %q may not call %s: a condition of connection %s does not hold for what is known of this client; its operator configures that",
			p.Name, t.Name, t.Connection)
	}
	return nil
}

// Make checks what the caller may do, and its arguments. An error is a *fault.Error: nothing was parked or sent.
func Make(tool *catalog.Tool, c conn.Connection, p identity.Principal, r Request, now time.Time) (Plan, error) {
	if err := withheld(p, c, tool); err != nil {
		return Plan{}, err
	}
	args, err := arguments(tool, r.Args)
	if err != nil {
		return Plan{}, err
	}
	pl := Plan{Tool: tool, Conn: c, Key: r.IdempotencyKey, HandedOver: c.Timeout > MaxHeld}
	decision := c.Gate(tool.Upstream, args, p.Context)
	gate := ledger.Gate(decision.Approval)
	if pl.Reads = c.ReadsOnly(tool.Upstream) && gate == ledger.GateNever; pl.Reads {
		pl.Key = "" // a read is a fresh one, whatever was read under this key before
	}
	if err := keepable(tool, args, gate != ledger.GateNever, pl.HandedOver); err != nil {
		return Plan{}, err
	}
	fingerprint, err := jsonx.Fingerprint(args)
	if err != nil {
		return Plan{}, unclean(tool, err)
	}
	if pl.Effect, err = effectOf(tool, c, args); err != nil {
		return Plan{}, err
	}
	meta, err := forwarded(r.Meta)
	if err != nil {
		return Plan{}, err
	}
	used, err := kept(c, tool.Upstream, p.Context)
	if err != nil {
		return Plan{}, err
	}
	pl.Draft = ledger.Invocation{
		Effect: ledger.Effect(c.Effect), Gate: gate, CreatedAt: now,
		Connection: c.Name, Tool: tool.Name, UpstreamTool: tool.Upstream,
		Principal: p.ID, PrincipalName: p.Name, Proof: p.Proof, OwnApprover: p.Approver, ActingUser: p.ActingUser,
		Session: r.Session, Channel: channel, Client: r.Client,
		Args: args, ArgsDigest: jsonx.Digest(args), Fingerprint: fingerprint, Context: used, Meta: meta,
	}
	if gate != ledger.GateNever {
		pl.Draft.ExpiresAt, pl.Draft.ApprovalsNeeded = now.Add(c.ApprovalTTL), decision.Approvals
	}
	pl.Actor = ledger.Actor{By: "principal:" + p.ID, Proof: p.Proof, RequestID: r.RequestID}
	return pl, nil
}

// arguments checks what was received against the tool's schema; nothing, and null, are the empty object.
func arguments(tool *catalog.Tool, raw json.RawMessage) ([]byte, error) {
	args := bytes.TrimSpace(raw)
	if len(args) == 0 || bytes.Equal(args, []byte("null")) {
		args = []byte("{}")
	}
	var invalid *catalog.ArgumentError
	if err := tool.Validate(args); errors.As(err, &invalid) {
		return nil, fault.Wrap(err, fault.Invalid, "%s: %s", tool.Name, invalid.Error()).With("arguments", true)
	} else if err != nil {
		return nil, err
	}
	return args, nil
}

// keepable refuses arguments that a row could not keep whole, for a call that waits (P2).
func keepable(tool *catalog.Tool, args []byte, gated, handedOver bool) error {
	switch {
	case len(args) <= ledger.MaxKeptArgs:
		return nil
	case gated:
		return fault.New(fault.Invalid, "%s needs a person's approval, and its arguments are %d bytes: at most %d can be shown whole to an approver; nothing was parked or sent",
			tool.Name, len(args), ledger.MaxKeptArgs).With("arguments", true)
	case handedOver:
		return fault.New(fault.Invalid, "%s may run longer than a caller is held, so its arguments are kept until it runs, and they are %d bytes: at most %d are kept; nothing was sent",
			tool.Name, len(args), ledger.MaxKeptArgs).With("arguments", true)
	}
	return nil
}

// effectOf returns what identifies the effect of a call, or nothing where the connection file names nothing for the tool. A call that
// lacks a part of it is refused: nobody could tell whether it repeats another, and to run it as if it did not would be a guess.
func effectOf(tool *catalog.Tool, c conn.Connection, args []byte) (string, error) {
	effect, lacks, err := catalog.Effect(c.DedupeKey[tool.Upstream], args)
	switch {
	case err != nil:
		return "", unclean(tool, err)
	case lacks != "":
		return "", fault.New(fault.Invalid,
			"%s needs the argument %s, which identifies what the call brings about (dedupe_key of connection %s), not empty and not null; nothing was parked or sent",
			tool.Name, lacks, c.Name).With("arguments", true)
	}
	return effect, nil
}

func unclean(tool *catalog.Tool, err error) error {
	return fault.Wrap(err, fault.Invalid, "%s: the arguments are not clean JSON: %v", tool.Name, err).With("arguments", true)
}

// Resolve completes the plan with where the call would go and as whom.
func (pl *Plan) Resolve(to conn.Resolved, y ledger.Keyer) {
	pl.Resolved, pl.Draft.UpstreamURL = to, to.URL
	pl.Draft.DefinitionDigest = catalog.DefinitionDigest(pl.Tool, pl.Conn, to)
	if pl.Draft.Gate == ledger.GateOnce {
		// Kept on the row, so that the approve function can write the grant without holding the key that derives it.
		session := pl.Draft.Session
		if session == "" {
			session = "principal:" + pl.Draft.Principal
		}
		// What several people have to approve is not covered by what one of them said when one was enough.
		covers := pl.Draft.DefinitionDigest
		if n := pl.Draft.ApprovalsNeeded; n > 1 {
			covers += "#" + strconv.Itoa(n)
		}
		pl.Draft.GrantKey = y.Grant(pl.joining(y), session, covers)
	}
}

// Meet completes the plan with where calls that are identical to this one meet.
func (pl *Plan) Meet(y ledger.Keyer) { pl.Twins = ledger.Meeting(pl.joining(y)) }

// Meets reports whether the call joins an identical one that is open: one without a key that a person decides or an executor runs.
func (pl *Plan) Meets() bool {
	return pl.Key == "" && pl.Effect == "" && (pl.Draft.Gate != ledger.GateNever || pl.HandedOver)
}

// joining is the partition of identical calls. The context is part of what an identical call is (P4): an approval for one tenant never
// covers a call for another.
func (pl *Plan) joining(y ledger.Keyer) string {
	return y.Joining(pl.Draft.Principal, pl.Draft.ActingUser, pl.Draft.Tool, pl.Draft.Fingerprint+string(pl.Draft.Context))
}

// Effects returns the partition of the calls with the same effect; empty where nothing identifies it.
func (pl *Plan) Effects(y ledger.Keyer) string {
	if pl.Effect == "" {
		return ""
	}
	return y.Effects(pl.Draft.Principal, pl.Draft.ActingUser, pl.Draft.Tool, pl.Effect+pl.sent()) // P4
}

// Keyed returns the draft under the key that the client's own key derives.
func (pl *Plan) Keyed(y ledger.Keyer) ledger.Invocation {
	d := pl.Draft
	d.Key = y.Keyed(d.Principal, d.ActingUser, d.Tool, pl.Key)
	d.Keyed = true
	d.KeyDigest = jsonx.Digest([]byte(pl.Key))
	return d
}
