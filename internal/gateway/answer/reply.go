package answer

import (
	"encoding/json"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// The names that clients hold.
const (
	AwaitTool  = "countersign_await_decision" // the built-in tool that answers what became of a parked call
	MetaErrors = "countersign/errors"         // in a result's _meta: per connection, what went wrong and where
)

// Reply is the answer to a call or an await, ready to be put into a JSON-RPC response.
type Reply struct {
	Result json.RawMessage // a CallToolResult: the remote's own bytes where it answered, else ours
	Error  json.RawMessage // the remote's own JSON-RPC error object where it answered one
	Status Status
	ID     ledger.ID // the invocation; empty for calls that have none to await
}

// Status is what a caller is told about an invocation (ledger.md 1.1).
type Status string

// The statuses, in the words that clients are told.
const (
	Awaiting    Status = "awaiting_approval"
	Running     Status = "running"
	InDoubt     Status = "in_doubt"
	Done        Status = "done" // Result or Error is the remote's own
	Denied      Status = "denied"
	Expired     Status = "expired"
	Cancelled   Status = "cancelled"
	NotExecuted Status = "not_executed"
	Unknown     Status = "outcome_unknown"
	Attested    Status = "attested" // a named person says it ran; there is no result
	Erased      Status = "erased"   // it ran, and an operator erased its result since
)

// ErrorFacts is the value of _meta["countersign/errors"].
func ErrorFacts(connection, what, stage string, status, code int, reason string) map[string]any {
	f := map[string]any{"error": what, "stage": stage, "message": reason}
	if status != 0 {
		f["status"] = status
	}
	if code != 0 {
		f["code"] = code
	}
	return map[string]any{connection: f}
}
