package gateway

import (
	"errors"
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/countersign-mcp/countersign/internal/secret"
)

// resolveError words a connection whose variables, credential or headers could not be had. What is missing is shown by its path, and
// what of the context is missing or unfit by its name, never by its value; anything else that a store says stays in the log.
func resolveError(err error) *NotSent {
	var reasons []string
	for _, r := range resolveErrors(err) {
		if r.Context == "" && !errors.Is(r, secret.ErrNotFound) {
			reasons = nil
			break
		}
		reasons = append(reasons, strings.TrimPrefix(r.Error(), "connection "+r.Connection+": ")) // the answer names it
	}
	reason := strings.Join(reasons, "; ")
	if reason == "" {
		reason = "its variables or credential could not be read now; the operator's log has the reason"
	}
	return &NotSent{Stage: "resolve", Reason: reason, Err: err}
}

// transient reports whether a connection could not be resolved because a store did not answer: the value may be there. A call
// that a person approved is not ended for that.
func transient(err error) bool {
	for _, r := range resolveErrors(err) {
		if r.Err != nil && !errors.Is(r, secret.ErrNotFound) {
			return true
		}
	}
	return false
}

// resolveErrors returns each value that is the reason of an error of conn.Connection.Resolve.
func resolveErrors(err error) []*conn.ResolveError {
	var all []*conn.ResolveError
	switch e := err.(type) {
	case *conn.ResolveError:
		return append(all, e)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, resolveErrors(one)...)
		}
	}
	return all
}
