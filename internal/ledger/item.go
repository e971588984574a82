package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/history"
	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// attribute ties a field of Invocation to its stored form, in both directions.
type attribute = row.Attribute[Invocation]

// grantKey stores the key of the grant: in the call's own partition, which is where it is unless the call has a client key, only the hash
// of its sort key.
func grantKey() attribute {
	return attribute{Field: row.GrantKey,
		Get: func(inv *Invocation) (any, bool) {
			k := inv.GrantKey
			if hash, ok := strings.CutPrefix(k.Sort, grantSort); ok && k.Partition == inv.Key.Partition && !strings.Contains(hash, "/") {
				return hash, true
			}
			return k.Partition + "/" + k.Sort, k != Key{}
		},
		Set: func(inv *Invocation, v any) bool {
			s, ok := v.(string)
			partition, sort, full := strings.Cut(s, "/")
			if !full {
				partition, sort = inv.Key.Partition, grantSort+s
			}
			inv.GrantKey = Key{partition, sort}
			return ok
		}}
}

// implied is what a row does not store because its history, or another attribute, says it. Where a row has another value, it is stored.
type implied struct {
	decision, proof, upstream string
	created                   time.Time
	effect                    Effect
	how                       How
}

func (inv *Invocation) implied() implied {
	said := implied{effect: AtMostOnce, decision: history.Decision(inv.Events)} // the more careful one
	said.upstream, _ = strings.CutPrefix(inv.Tool, inv.Connection+"__")
	if said.upstream == inv.Tool {
		said.upstream = ""
	}
	if n := len(inv.Events); n > 0 {
		said.proof, said.created = inv.Events[0].Proof, inv.Events[0].At
		switch last := inv.Events[n-1]; {
		case last.To != Completed:
		case last.Kind == SettleRan:
			said.how = ByAttested
		default:
			said.how = ByResult
		}
	}
	return said
}

// layout is the whole item but for events, result and index, which Item and FromItem handle themselves.
var layout = sync.OnceValue(attributes)

func attributes() []attribute {
	return []attribute{
		row.Text(row.State, func(i *Invocation) *State { return &i.State }),
		row.Text(row.Head, func(i *Invocation) *string { return &i.Head }),
		row.Number(row.Attempts, func(i *Invocation) *int { return &i.Attempts }),
		row.Instant(row.Lease, time.Millisecond, func(i *Invocation) *time.Time { return &i.Lease }),
		row.Text(row.Owner, func(i *Invocation) *string { return &i.Owner }),
		row.Instant(row.ExpiresAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.ExpiresAt }),
		row.Instant(row.ApprovalEndsAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.ApprovalEndsAt }),
		row.Text(row.Effect, func(i *Invocation) *Effect { return &i.Effect }),
		row.Text(row.Gate, func(i *Invocation) *Gate { return &i.Gate }),
		row.Number(row.Approvals, func(i *Invocation) *int { return &i.ApprovalsNeeded }),
		row.Instant(row.CreatedAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.CreatedAt }),
		row.Text(row.Connection, func(i *Invocation) *string { return &i.Connection }),
		row.Text(row.Tool, func(i *Invocation) *string { return &i.Tool }),
		row.Text(row.UpstreamTool, func(i *Invocation) *string { return &i.UpstreamTool }),
		row.Text(row.UpstreamURL, func(i *Invocation) *string { return &i.UpstreamURL }),
		row.Text(row.Principal, func(i *Invocation) *string { return &i.Principal }),
		row.Text(row.PrincipalName, func(i *Invocation) *string { return &i.PrincipalName }),
		row.Text(row.Proof, func(i *Invocation) *string { return &i.Proof }),
		row.Text(row.OwnApprover, func(i *Invocation) *string { return &i.OwnApprover }),
		row.Text(row.ActingUser, func(i *Invocation) *string { return &i.ActingUser }),
		row.Text(row.Session, func(i *Invocation) *string { return &i.Session }),
		row.Text(row.Channel, func(i *Invocation) *string { return &i.Channel }),
		row.Text(row.Client, func(i *Invocation) *string { return &i.Client }),
		row.Raw(row.Args, func(i *Invocation) *[]byte { return &i.Args }),
		row.Digest(row.ArgsDigest, func(i *Invocation) *string { return &i.ArgsDigest }),
		row.Digest(row.Fingerprint, func(i *Invocation) *string { return &i.Fingerprint }),
		row.Digest(row.Definition, func(i *Invocation) *string { return &i.DefinitionDigest }),
		row.Raw(row.Context, func(i *Invocation) *[]byte { return &i.Context }),
		row.Raw(row.Meta, func(i *Invocation) *[]byte { return &i.Meta }),
		row.Digest(row.Decision, func(i *Invocation) *string { return &i.DecisionDigest }),
		row.Digest(row.KeyDigest, func(i *Invocation) *string { return &i.KeyDigest }),
		row.Text(row.Why, func(i *Invocation) *Why { return &i.Why }),
		row.Text(row.How, func(i *Invocation) *How { return &i.How }),
		row.Text(row.Reason, func(i *Invocation) *string { return &i.Reason }),
		row.Text(row.RemoteTask, func(i *Invocation) *string { return &i.RemoteTask }),
		row.Text(row.Linked, func(i *Invocation) *string { return &i.Linked }),
		row.Instant(row.LookAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.LookAt }),
		row.Instant(row.DeleteAt, time.Second, func(i *Invocation) *time.Time { return &i.DeleteAt }),
		row.Instant(row.NotifiedAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.NotifiedAt }),
		row.Number(row.SeenTwice, func(i *Invocation) *int { return &i.SeenTwice }),
		grantKey(),
		row.Text(row.Verified, func(i *Invocation) *string { return &i.Verified }),
		row.Text(row.Erased, func(i *Invocation) *string { return &i.Erased }),
	}
}

// Item returns inv as it is stored.
func (inv Invocation) Item() row.Item {
	it := row.Item{}
	for _, a := range layout() {
		if v, there := a.Get(&inv); there {
			it[a.Field] = v
		}
	}
	said := inv.implied()
	for f, same := range map[row.Field]bool{
		row.Decision: inv.DecisionDigest == said.decision, row.Proof: inv.Proof == said.proof, row.CreatedAt: inv.CreatedAt.Equal(said.created),
		row.Effect: inv.Effect == said.effect, row.How: inv.How == said.how, row.UpstreamTool: inv.UpstreamTool == said.upstream,
	} {
		if _, there := it[f]; same {
			delete(it, f)
		} else if !there && f != row.CreatedAt { // every call has been created
			it[f] = "" // an empty text is not what would be read
		}
	}
	if len(inv.ApprovedBy) > 0 {
		it[row.ApprovedBy] = slices.Clone(inv.ApprovedBy)
	}
	texts := make([]string, len(inv.Events))
	for i, e := range inv.Events {
		texts[i] = e.Text
	}
	it[row.Events] = texts
	if !inv.LookAt.IsZero() {
		it[row.Shard] = shardValue(inv.Key)
	}
	for _, a := range resultAttributes(inv.Result, history.Result(inv.Events)) {
		it[a.Field] = a.Value
	}
	return it
}

// FromItem reads an item back. Attributes that this version does not know are ignored (a newer version may have written
// them); a known one of the wrong type is an error that names it.
func FromItem(k Key, it row.Item) (Invocation, error) {
	inv := Invocation{Key: k, Keyed: strings.HasPrefix(k.Partition, "k#")}
	wrong := func(f row.Field) (Invocation, error) {
		return Invocation{}, fmt.Errorf("%w: %s: attribute %q", ErrUnreadable, k, f)
	}
	for _, a := range layout() {
		if v, there := it[a.Field]; there && !a.Set(&inv, v) {
			return wrong(a.Field)
		}
	}
	if inv.State == "" { // it would be taken for no call at all, and an identical one be put beside it
		return wrong(row.State)
	}
	if v, there := it[row.ApprovedBy]; there {
		names, ok := v.([]string)
		if !ok {
			return wrong(row.ApprovedBy)
		}
		inv.ApprovedBy = slices.Clone(names)
	}
	texts, ok := it[row.Events].([]string)
	if !ok {
		return wrong(row.Events)
	}
	var err error
	if inv.Events, err = history.Parse(texts); err != nil {
		return Invocation{}, fmt.Errorf("%w: %s: %w", ErrUnreadable, k, err)
	}
	inv.fill(it)
	if _, there := it[row.ResultSize]; there {
		r, field := resultFrom(it, history.Result(inv.Events))
		if field != "" {
			return wrong(field)
		}
		inv.Result = r
	}
	return inv, nil
}

// fill gives inv what it does not store, because something else of it says it.
func (inv *Invocation) fill(it row.Item) {
	said := inv.implied()
	fillIn(it, row.Decision, &inv.DecisionDigest, said.decision)
	fillIn(it, row.Proof, &inv.Proof, said.proof)
	fillIn(it, row.CreatedAt, &inv.CreatedAt, said.created)
	fillIn(it, row.Effect, &inv.Effect, said.effect)
	fillIn(it, row.How, &inv.How, said.how)
	fillIn(it, row.UpstreamTool, &inv.UpstreamTool, said.upstream)
}

func fillIn[T any](it row.Item, f row.Field, p *T, said T) {
	if _, there := it[f]; !there {
		*p = said
	}
}

func shardValue(k Key) string { return ShardName(k.Shard()) }

// ShardName returns the stored name of an index partition: attribute q.
func ShardName(shard int) string { return "o#" + strconv.Itoa(shard) }
