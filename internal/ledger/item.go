package ledger

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger/row"
)

// attribute ties a field of Invocation to its stored form, in both directions.
type attribute struct {
	field row.Field
	get   func(*Invocation) (value any, there bool)
	set   func(*Invocation, any) bool // false: the stored value has another type
}

func text[T ~string](f row.Field, p func(*Invocation) *T) attribute {
	return attribute{f,
		func(inv *Invocation) (any, bool) { v := *p(inv); return string(v), v != "" },
		func(inv *Invocation, v any) bool { s, ok := v.(string); *p(inv) = T(s); return ok }}
}

func number(f row.Field, p func(*Invocation) *int) attribute {
	return attribute{f,
		func(inv *Invocation) (any, bool) { v := *p(inv); return int64(v), v != 0 || f == row.Attempts },
		func(inv *Invocation, v any) bool { n, ok := v.(int64); *p(inv) = int(n); return ok }}
}

func raw(f row.Field, p func(*Invocation) *[]byte) attribute {
	return attribute{f,
		func(inv *Invocation) (any, bool) { v := *p(inv); return slices.Clone(v), len(v) > 0 },
		func(inv *Invocation, v any) bool { b, ok := v.([]byte); *p(inv) = slices.Clone(b); return ok }}
}

func instant(f row.Field, unit time.Duration, p func(*Invocation) *time.Time) attribute {
	return attribute{f,
		func(inv *Invocation) (any, bool) {
			v := *p(inv)
			return v.UnixNano() / int64(unit), !v.IsZero()
		},
		func(inv *Invocation, v any) bool {
			n, ok := v.(int64)
			*p(inv) = time.Unix(0, 0).Add(time.Duration(n) * unit).UTC()
			return ok
		}}
}

// digest stores the hex of a SHA-256 as its 32 bytes, which is half the price; any other text as it is.
func digest(f row.Field, p func(*Invocation) *string) attribute {
	return attribute{f,
		func(inv *Invocation) (any, bool) { v := *p(inv); return digestValue(v), v != "" },
		func(inv *Invocation, v any) bool {
			switch v := v.(type) {
			case []byte:
				*p(inv) = hex.EncodeToString(v)
			case string:
				*p(inv) = v
			default:
				return false
			}
			return true
		}}
}

func digestValue(s string) any {
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 && strings.ToLower(s) == s {
		return b
	}
	return s
}

// keyText stores another item's key.
func keyText(f row.Field, p func(*Invocation) *Key) attribute {
	return attribute{f,
		func(inv *Invocation) (any, bool) { k := *p(inv); return k.Partition + "/" + k.Sort, k != Key{} },
		func(inv *Invocation, v any) bool {
			s, _ := v.(string)
			partition, sort, ok := strings.Cut(s, "/")
			*p(inv) = Key{partition, sort}
			return ok
		}}
}

// layout is the whole item but for events, result and index, which Item and FromItem handle themselves.
var layout = sync.OnceValue(attributes)

func attributes() []attribute {
	return []attribute{
		text(row.State, func(i *Invocation) *State { return &i.State }),
		text(row.Head, func(i *Invocation) *string { return &i.Head }),
		number(row.Attempts, func(i *Invocation) *int { return &i.Attempts }),
		instant(row.Lease, time.Millisecond, func(i *Invocation) *time.Time { return &i.Lease }),
		text(row.Owner, func(i *Invocation) *string { return &i.Owner }),
		instant(row.ExpiresAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.ExpiresAt }),
		instant(row.ApprovalEndsAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.ApprovalEndsAt }),
		text(row.Effect, func(i *Invocation) *Effect { return &i.Effect }),
		text(row.Gate, func(i *Invocation) *Gate { return &i.Gate }),
		number(row.Approvals, func(i *Invocation) *int { return &i.ApprovalsNeeded }),
		instant(row.CreatedAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.CreatedAt }),
		text(row.Connection, func(i *Invocation) *string { return &i.Connection }),
		text(row.Tool, func(i *Invocation) *string { return &i.Tool }),
		text(row.UpstreamTool, func(i *Invocation) *string { return &i.UpstreamTool }),
		text(row.UpstreamURL, func(i *Invocation) *string { return &i.UpstreamURL }),
		text(row.Principal, func(i *Invocation) *string { return &i.Principal }),
		text(row.PrincipalName, func(i *Invocation) *string { return &i.PrincipalName }),
		text(row.Proof, func(i *Invocation) *string { return &i.Proof }),
		text(row.OwnApprover, func(i *Invocation) *string { return &i.OwnApprover }),
		text(row.ActingUser, func(i *Invocation) *string { return &i.ActingUser }),
		text(row.Session, func(i *Invocation) *string { return &i.Session }),
		text(row.Channel, func(i *Invocation) *string { return &i.Channel }),
		text(row.Client, func(i *Invocation) *string { return &i.Client }),
		raw(row.Args, func(i *Invocation) *[]byte { return &i.Args }),
		digest(row.ArgsDigest, func(i *Invocation) *string { return &i.ArgsDigest }),
		digest(row.Fingerprint, func(i *Invocation) *string { return &i.Fingerprint }),
		digest(row.Definition, func(i *Invocation) *string { return &i.DefinitionDigest }),
		raw(row.Context, func(i *Invocation) *[]byte { return &i.Context }),
		raw(row.Meta, func(i *Invocation) *[]byte { return &i.Meta }),
		digest(row.Decision, func(i *Invocation) *string { return &i.DecisionDigest }),
		digest(row.KeyDigest, func(i *Invocation) *string { return &i.KeyDigest }),
		text(row.Why, func(i *Invocation) *Why { return &i.Why }),
		text(row.How, func(i *Invocation) *How { return &i.How }),
		text(row.Reason, func(i *Invocation) *string { return &i.Reason }),
		text(row.RemoteTask, func(i *Invocation) *string { return &i.RemoteTask }),
		text(row.Linked, func(i *Invocation) *string { return &i.Linked }),
		instant(row.LookAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.LookAt }),
		instant(row.DeleteAt, time.Second, func(i *Invocation) *time.Time { return &i.DeleteAt }),
		instant(row.NotifiedAt, time.Millisecond, func(i *Invocation) *time.Time { return &i.NotifiedAt }),
		number(row.SeenTwice, func(i *Invocation) *int { return &i.SeenTwice }),
		keyText(row.GrantKey, func(i *Invocation) *Key { return &i.GrantKey }),
	}
}

// Item returns inv as it is stored.
func (inv Invocation) Item() row.Item {
	it := row.Item{}
	for _, a := range layout() {
		if v, there := a.get(&inv); there {
			it[a.field] = v
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
	for _, a := range resultAttributes(inv.Result) {
		it[a.Field] = a.Value
	}
	return it
}

// FromItem reads an item back. Attributes that this version does not know are ignored (a newer version may have written
// them); a known one of the wrong type is an error that names it.
func FromItem(k Key, it row.Item) (Invocation, error) {
	inv := Invocation{Key: k, Keyed: strings.HasPrefix(k.Partition, "k#")}
	wrong := func(f row.Field) (Invocation, error) {
		return Invocation{}, fmt.Errorf("item %s/%s: attribute %q is not readable", k.Partition, k.Sort, f)
	}
	for _, a := range layout() {
		if v, there := it[a.field]; there && !a.set(&inv, v) {
			return wrong(a.field)
		}
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
	for _, t := range texts {
		e, err := ParseEvent(t)
		if err != nil {
			return Invocation{}, fmt.Errorf("item %s/%s: %w", k.Partition, k.Sort, err)
		}
		inv.Events = append(inv.Events, e)
	}
	if _, there := it[row.ResultKind]; there {
		r, field := resultFrom(it)
		if field != "" {
			return wrong(field)
		}
		inv.Result = r
	}
	return inv, nil
}

func shardValue(k Key) string { return ShardName(k.Shard()) }

// ShardName returns the stored name of an index partition: attribute q.
func ShardName(shard int) string { return "o#" + strconv.Itoa(shard) }
