package fault

import (
	"errors"
	"fmt"
)

// Code says what kind of trouble it is. The set is closed: Codes lists it, and each edge has a row for every member.
type Code string

// The codes.
const (
	Invalid         Code = "invalid"         // the request is wrong; sending it again changes nothing
	Unauthenticated Code = "unauthenticated" // nobody we know
	Forbidden       Code = "forbidden"       // known, but not allowed
	NotFound        Code = "not_found"       // not there, or not yours: the same answer
	Conflict        Code = "conflict"        // somebody else decided first, or a key was used for something else
	Expired         Code = "expired"         // too late
	InDoubt         Code = "in_doubt"        // it may have run; nobody knows, and a person is asked
	Upstream        Code = "upstream"        // the remote server refused or could not be reached: it did not run
	Unavailable     Code = "unavailable"     // our own side cannot answer now; try again
	Internal        Code = "internal"        // a defect
)

// Codes returns every code, in the order of their declaration.
func Codes() []Code {
	return []Code{Invalid, Unauthenticated, Forbidden, NotFound, Conflict, Expired, InDoubt, Upstream, Unavailable, Internal}
}

// Error is an error with a code and a message that may be shown to a stranger.
type Error struct {
	Code    Code
	Message string         // a lower-case phrase: the thing, the place, the cure
	Data    map[string]any // optional facts for programs, as safe to show as Message
	Err     error          // the cause, for the log only; may be nil
}

// Error returns message and cause, for logs (F2).
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error without a cause.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap returns an error whose cause is err.
func Wrap(err error, code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// With returns a copy of e which carries the fact key: value.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Data = make(map[string]any, len(e.Data)+1)
	for k, v := range e.Data {
		c.Data[k] = v
	}
	c.Data[key] = value
	return &c
}

// CodeOf returns the code of err: that of the first *Error in its chain, else Internal (F1).
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// MessageOf returns what may be shown of err: the message of the first *Error in its chain, else a fixed sentence (F1).
func MessageOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Message
	}
	return "something went wrong on our side; the log of this request has the details"
}

// DataOf returns the facts of err for programs, or nil.
func DataOf(err error) map[string]any {
	var e *Error
	if errors.As(err, &e) {
		return e.Data
	}
	return nil
}
