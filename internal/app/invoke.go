package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/countersign-mcp/countersign/internal/ledger"
)

// The names of the events that functions send each other, in the member "countersign".
const (
	eventExecute = "execute" // to mcp: run an approved call
	eventNotify  = "notify"  // to notify: tell the approvers
	eventScan    = "scan"    // to expire: the daily scan
	eventRelist  = "relist"  // to mcp: compare what the servers list with what is served
)

// event is the payload of an asynchronous invocation: the id alone, because the row decides.
type event struct {
	Countersign string    `json:"countersign"`
	Invocation  ledger.ID `json:"invocation_id,omitempty"`
}

// ScanEvent is what a daily rule sends to the expire function.
func ScanEvent() []byte { return []byte(`{"countersign":"` + eventScan + `"}`) }

// hint returns a function which asynchronously invokes fn with event name. The answer says only that the hint was taken; it
// may still be lost or doubled.
func (c Config) hint(fn, name string) func(context.Context, ledger.ID) error {
	client := lambda.NewFromConfig(c.AWS)
	function := c.FunctionName(fn)
	return func(ctx context.Context, id ledger.ID) error {
		payload, err := json.Marshal(event{Countersign: name, Invocation: id})
		if err != nil {
			return err
		}
		_, err = client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, InvocationType: types.InvocationTypeEvent, Payload: payload})
		if err != nil {
			return fmt.Errorf("invoking %s: %w", function, err)
		}
		return nil
	}
}

// invocationID reads the id out of an event's payload.
func invocationID(payload json.RawMessage) (ledger.ID, error) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return "", fmt.Errorf("event is not JSON of the shape {\"countersign\": ..., \"invocation_id\": ...}: %w", err)
	}
	key, err := ledger.ParseID(string(e.Invocation))
	if err != nil {
		return "", fmt.Errorf("event %s: %w", e.Countersign, err)
	}
	return key.ID(), nil
}
