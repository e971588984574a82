package localaws

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/accounting"
	"github.com/countersign-mcp/countersign/internal/localaws/chaos"
	"github.com/countersign-mcp/countersign/internal/localaws/dynamo"
	"github.com/countersign-mcp/countersign/internal/localaws/params"
	"github.com/countersign-mcp/countersign/internal/localaws/table"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// maxBody is DynamoDB's limit on a request, in bytes.
const maxBody = 16 << 20

// call is one AWS request while it is served.
type call struct {
	id        string
	service   wire.Service
	operation string
	body      []byte
}

// result is what carrying a call out came to.
type result struct {
	body any
	err  error
}

func (s *Server) serveAWS(w http.ResponseWriter, r *http.Request) {
	service, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c := call{id: fmt.Sprintf("LOCALAWS%016d", s.requests.Add(1)), service: wire.Service(service), operation: operation}
	if c.service != wire.DynamoDB && c.service != wire.SSM {
		what := "requests without X-Amz-Target, such as those of STS, S3 or Lambda"
		if service != "" {
			what = service + " " + operation
		}
		wire.Fail(w, wire.DynamoDB, c.id, wire.NotImplemented(what))
		return
	}
	var err error
	if c.body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			wire.Fail(w, c.service, c.id, &wire.Error{Code: "RequestEntityTooLarge", Status: http.StatusRequestEntityTooLarge,
				Message: fmt.Sprintf("the request has more than %d bytes", maxBody)})
			return
		}
		panic(http.ErrAbortHandler) // the client went away in the middle of its request
	}

	s.faults.Arrive()
	rule, faulty := chaos.Rule{}, false
	if !s.faults.Idle() {
		rule, faulty = s.faults.Decide(c.describe())
	}
	if !faulty {
		s.answer(w, c, s.carryOut(c, table.Present))
		return
	}
	s.misbehave(w, r, c, rule)
}

func (s *Server) answer(w http.ResponseWriter, c call, out result) {
	if out.err != nil {
		wire.Fail(w, c.service, c.id, out.err)
		return
	}
	wire.Answer(w, c.service, c.id, out.body)
}

// carryOut runs the call.
func (s *Server) carryOut(c call, behind int) result {
	if c.service == wire.SSM {
		body, err := s.params.Do(c.operation, c.body)
		return s.finish(c, serviceSSM, body, dynamo.Cost{}, err)
	}
	body, cost, err := s.dynamo.Do(c.operation, c.body, behind)
	return s.finish(c, serviceDynamoDB, body, cost, err)
}

// finish waits until what the call saw or did is durable (A1), and counts it.
func (s *Server) finish(c call, service string, body any, cost dynamo.Cost, err error) result {
	out := result{body, err}
	if s.log != nil {
		if err := s.log.Sync(); err != nil {
			out = result{err: wire.Internal(err.Error())}
		}
	}
	s.accounting.Record(service, c.operation, out.err != nil, cost.Usage...)
	s.accounting.Bare(cost.BareNames)
	return out
}

// misbehave serves the call as the rule says (A3).
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, c call, rule chaos.Rule) {
	switch rule.Kind {
	case chaos.Throttle:
		s.refused(c)
		code := wire.CodeThrottled
		if c.service == wire.SSM {
			code = wire.CodeSSMThrottled
		}
		wire.Fail(w, c.service, c.id, &wire.Error{Code: code, Message: "throttled by fault rule " + rule.ID})
	case chaos.ErrorBefore:
		s.refused(c)
		wire.Fail(w, c.service, c.id, wire.Internal("fault rule "+rule.ID))
	case chaos.ErrorAfter:
		s.carryOut(c, table.Present)
		wire.Fail(w, c.service, c.id, wire.Internal("fault rule "+rule.ID))
	case chaos.DropBefore:
		s.refused(c)
		s.drop(r, rule)
	case chaos.DropAfter:
		s.carryOut(c, table.Present)
		s.drop(r, rule)
	case chaos.Ghost:
		s.faults.Hold(rule, func() { s.carryOut(c, table.Present) })
		s.drop(r, rule)
	case chaos.StaleRead:
		s.answer(w, c, s.carryOut(c, rule.Behind))
	case chaos.Unprocessed:
		body, cost, err := s.dynamo.BatchGetHalf(c.body)
		s.answer(w, c, s.finish(c, serviceDynamoDB, body, cost, err))
	default:
		panic("fault rule " + rule.ID + " has the unknown kind " + string(rule.Kind))
	}
}

// refused counts a call that is never carried out.
func (s *Server) refused(c call) {
	if c.service == wire.SSM {
		s.accounting.Record(serviceSSM, c.operation, true)
		return
	}
	var usage []accounting.Usage
	for _, table := range c.describe().Tables {
		usage = append(usage, accounting.Usage{Table: table})
	}
	s.accounting.Record(serviceDynamoDB, c.operation, true, usage...)
}

// drop closes the connection without an answer, at once or when the client has given up.
func (s *Server) drop(r *http.Request, rule chaos.Rule) {
	if rule.Hang {
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
	}
	panic(http.ErrAbortHandler)
}

func (c call) describe() chaos.Call {
	if c.service == wire.SSM {
		return params.Call(c.operation, c.body)
	}
	return dynamo.Call(c.operation, c.body)
}
