package gateway

import (
	"encoding/json"
	"time"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// AwaitTool is the built-in tool that answers what became of a parked call.
const AwaitTool = "countersign_await_decision"

// The metadata keys of our own in _meta.
const (
	MetaKey    = "countersign/idempotency-key" // in a request: the client's own key for this call
	MetaErrors = "countersign/errors"          // in a result: per connection, what went wrong and where
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

// Reply is the answer to a call or an await, ready to be put into a JSON-RPC response.
type Reply struct {
	Result json.RawMessage // a CallToolResult: the remote's own bytes where it answered, else ours
	Error  json.RawMessage // the remote's own JSON-RPC error object where it answered one
	Status Status
	ID     ledger.ID // the invocation; empty for calls that have none to await
}

// Status is what a caller is told about an invocation (ledger.md 1.1).
type Status string

// The statuses.
const (
	StatusAwaiting    Status = "awaiting_approval"
	StatusRunning     Status = "running"
	StatusInDoubt     Status = "in_doubt"
	StatusDone        Status = "done" // Result or Error is the remote's own
	StatusDenied      Status = "denied"
	StatusExpired     Status = "expired"
	StatusCancelled   Status = "cancelled"
	StatusNotExecuted Status = "not_executed"
	StatusUnknown     Status = "outcome_unknown"
	StatusAttested    Status = "attested" // a named person says it ran; there is no result
)

// Await limits.
const (
	DefaultWait = 5 * time.Second
	MaxWait     = 20 * time.Second
)
