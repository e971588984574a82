package functionurl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// Lambda's limits in bytes (AWS Lambda Developer Guide, "Lambda quotas": 6 MB synchronous, 1 MB asynchronous; the exact
// numbers are those of its error messages).
const (
	MaxRequest = 6_291_456 // the event of a synchronous invoke
	MaxAnswer  = 6_291_556 // what a function may answer
	MaxAsync   = 1_048_576 // the event of an asynchronous invoke
)

// Schedule is the name under which an EventBridge scheduled event is dispatched.
const Schedule = "schedule"

var (
	// ErrNoURL is returned for a function URL event that reaches a function without a URL.
	ErrNoURL = errors.New("this function has no URL")
	// ErrUnknownEvent is returned for a payload that is neither a function URL event nor one of Config.Events.
	ErrUnknownEvent = errors.New("unknown event")
)

// EventFunc answers one kind of event. It gets the whole payload as it arrived. Its result is encoded as JSON (nil as null); an
// error makes Lambda run an asynchronous event again, up to twice. Its text ends in the function's log.
type EventFunc = func(ctx context.Context, payload json.RawMessage) (any, error)

// Config says what a function answers. The zero Config refuses everything.
type Config struct {
	Name    string               // the function, for messages
	Handler http.Handler         // answers the function URL; nil: this function has none
	Events  map[string]EventFunc // by the value of the payload's member "countersign", or Schedule
	Domain  string               // host of the function's own URL; requests for another are refused. Empty: not checked
	IAM     bool                 // the URL's auth type is AWS_IAM: CallerFrom has the caller, and a request without one is refused
	Log     *slog.Logger         // nil: no log
}

// Handler is a lambda.Handler.
type Handler struct {
	config  Config
	adapter *httpadapter.HandlerAdapterV2
}

// New returns the handler for lambda.Start.
func New(c Config) *Handler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Name == "" {
		c.Name = "(unnamed)"
	}
	h := &Handler{config: c}
	h.adapter = httpadapter.NewV2(http.HandlerFunc(h.serve))
	return h
}

// envelope is as much of a payload as tells its kind.
type envelope struct {
	RequestContext struct {
		HTTP json.RawMessage `json:"http"`
	} `json:"requestContext"`
	Countersign string `json:"countersign"`
	Source      string `json:"source"`
	DetailType  string `json:"detail-type"`
}

// Invoke answers one payload. For a function URL event the error is nil and the answer is payload format 2.0, whatever happened;
// only a function without a URL returns an error for it, ErrNoURL. For an event it returns what the event's function returned,
// or ErrUnknownEvent.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var e envelope
	if err := json.Unmarshal(payload, &e); err != nil {
		// The decoder's message can quote the payload, so it is left out (U4).
		return nil, fmt.Errorf("function %s: the payload of %d bytes is not an event: %w", h.config.Name, len(payload), ErrUnknownEvent)
	}
	// The URL comes first: a caller of the URL chooses header values and the body, never the members of the event, so the order
	// decides only for a payload that somebody forged with lambda:InvokeFunction (U2).
	if len(e.RequestContext.HTTP) > 0 && string(e.RequestContext.HTTP) != "null" {
		return h.url(ctx, payload)
	}
	name := e.Countersign
	if name == "" && e.Source == "aws.events" && e.DetailType == "Scheduled Event" {
		name = Schedule
	}
	return h.event(ctx, name, payload)
}

func (h *Handler) url(ctx context.Context, payload []byte) ([]byte, error) {
	if h.config.Handler == nil {
		return nil, fmt.Errorf("function %s refuses a function URL event: %w; it answers %s", h.config.Name, ErrNoURL, h.known())
	}
	var event events.APIGatewayV2HTTPRequest
	if err := json.Unmarshal(payload, &event); err != nil {
		h.config.Log.Error("function URL event of a shape this function does not know", "function", h.config.Name)
		return encode(refusal(http.StatusBadRequest, "invalid", "the event of this function URL is not payload format 2.0")), nil
	}
	in, refused := h.admit(event)
	if refused != nil {
		return encode(*refused), nil
	}
	answer, err := h.adapter.ProxyWithContext(context.WithValue(ctx, arrivalKey{}, in), in.event)
	if err != nil {
		// admit has tried everything the adapter can refuse, and serve always writes a status.
		h.config.Log.Error("function URL adapter", "function", h.config.Name, "error", err)
		return encode(refusal(http.StatusInternalServerError, "internal", hidden)), nil
	}
	return h.fit(ctx, answer), nil
}

func (h *Handler) event(ctx context.Context, name string, payload []byte) (answer []byte, err error) {
	run, ok := h.config.Events[name]
	switch {
	case ok && run != nil:
	case name == "":
		return nil, fmt.Errorf("function %s: a payload without requestContext.http and without a member \"countersign\": %w; it answers %s",
			h.config.Name, ErrUnknownEvent, h.known())
	default:
		return nil, fmt.Errorf("function %s: %w %q; it answers %s", h.config.Name, ErrUnknownEvent, brief(name), h.known())
	}
	defer func() {
		if p := recover(); p != nil {
			h.logPanic(ctx, "event "+name, p)
			answer, err = nil, fmt.Errorf("function %s: event %q ended in a panic; whether its work was done is unknown here", h.config.Name, name)
		}
	}()
	result, err := run(ctx, json.RawMessage(payload))
	if err != nil {
		return nil, err
	}
	answer, err = json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("function %s: the result of event %q is not JSON: %w", h.config.Name, name, err)
	}
	if len(answer) > MaxAnswer {
		return nil, fmt.Errorf("function %s: event %q was done, but its result of %d bytes is over Lambda's limit of %d", h.config.Name, name, len(answer), MaxAnswer)
	}
	return answer, nil
}

// known lists what this function answers, for messages.
func (h *Handler) known() string {
	var names []string
	for name := range h.config.Events {
		names = append(names, fmt.Sprintf("event %q", name))
	}
	slices.Sort(names)
	if h.config.Handler != nil {
		names = slices.Insert(names, 0, "its URL")
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// logPanic writes where a panic happened. Of its value only the type is written, unless the runtime made it: a value of ours may
// quote arguments or credentials (U4).
func (h *Handler) logPanic(ctx context.Context, where string, p any) {
	text := fmt.Sprintf("%T", p)
	if e, ok := p.(runtime.Error); ok {
		text = e.Error()
	}
	h.config.Log.ErrorContext(ctx, "panic", "function", h.config.Name, "where", where, "panic", text, "stack", string(debug.Stack()))
}

// brief cuts a name from a payload to a length fit for a message.
func brief(name string) string {
	if len(name) > 40 {
		return name[:40] + "..."
	}
	return name
}
