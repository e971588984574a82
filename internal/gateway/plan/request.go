package plan

import (
	"encoding/json"

	"github.com/countersign-mcp/countersign/internal/fault"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// MetaKey is the member of a request's _meta that holds the client's own key for the call.
const MetaKey = "countersign/idempotency-key"

// maxMeta bounds the _meta that is stored with a call, shown to its approver and sent.
const maxMeta = 16 << 10

// Request is one tools/call of a client, decoded strictly and not interpreted.
type Request struct {
	Tool           string          // full served name; never split at "__"
	Args           json.RawMessage // the exact bytes of the member "arguments"; nil when absent or null
	Meta           json.RawMessage // the member "_meta" as sent, or nil
	IdempotencyKey string          // Idempotency-Key header or _meta key; empty: none
	Session        string          // explicit handle, or the legacy client's signed session, or empty
	Client         string          // client name and version, self-reported
	RequestID      string          // the request's id in our logs
}

// forwarded returns what of a request's _meta goes on: all but the key that the client made for us.
func forwarded(meta json.RawMessage) (json.RawMessage, error) {
	if len(meta) == 0 {
		return nil, nil
	}
	out, err := jsonx.Remove(meta, MetaKey)
	switch {
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "_meta is not a clean JSON object: %v", err)
	case len(out) > maxMeta:
		return nil, fault.New(fault.Invalid, "_meta is %d bytes: at most %d are passed on; nothing was parked or sent", len(out), maxMeta)
	}
	return out, nil
}
