package gateway

import (
	"time"

	"github.com/countersign-mcp/countersign/internal/gateway/answer"
	"github.com/countersign-mcp/countersign/internal/gateway/plan"
)

// AwaitTool is the built-in tool that answers what became of a parked call.
const AwaitTool = answer.AwaitTool

// The metadata keys of our own in _meta.
const (
	MetaKey    = plan.MetaKey      // in a request: the client's own key for this call
	MetaErrors = answer.MetaErrors // in a result: per connection, what went wrong and where
)

// CallRequest is one tools/call of a client, decoded strictly and not interpreted (package plan).
type CallRequest = plan.Request

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
