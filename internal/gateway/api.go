package gateway

import (
	"encoding/json"
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway/answer"
)

// AwaitTool is the built-in tool that answers what became of a parked call.
const AwaitTool = answer.AwaitTool

// The metadata keys of our own in _meta.
const (
	MetaKey    = "countersign/idempotency-key" // in a request: the client's own key for this call
	MetaErrors = answer.MetaErrors             // in a result: per connection, what went wrong and where
)

// CallRequest is one tools/call of a client, decoded strictly and not interpreted.
type CallRequest struct {
	Tool           string          // full served name; never split at "__"
	Args           json.RawMessage // the exact bytes of the member "arguments"; nil when absent or null
	Meta           json.RawMessage // the member "_meta" as sent, or nil
	IdempotencyKey string          // Idempotency-Key header or _meta key; empty: none
	Session        string          // explicit handle, or the legacy client's signed session, or empty
	Client         string          // client name and version, self-reported
	RequestID      string          // the request's id in our logs
}

// Reply is the answer to a call or an await, ready to be put into a JSON-RPC response; Status is what it tells (package answer).
type (
	Reply  = answer.Reply
	Status = answer.Status
)

// The statuses (package answer).
const (
	StatusAwaiting    = answer.Awaiting
	StatusRunning     = answer.Running
	StatusInDoubt     = answer.InDoubt
	StatusDone        = answer.Done
	StatusDenied      = answer.Denied
	StatusExpired     = answer.Expired
	StatusCancelled   = answer.Cancelled
	StatusNotExecuted = answer.NotExecuted
	StatusUnknown     = answer.Unknown
	StatusAttested    = answer.Attested
	StatusErased      = answer.Erased
)

// Await limits.
const (
	DefaultWait = 5 * time.Second
	MaxWait     = 20 * time.Second
)
