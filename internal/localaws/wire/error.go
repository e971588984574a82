package wire

import (
	"fmt"
	"net/http"
)

// Error is a refusal as AWS words it. The zero Status means 400, which is what both
// services use for every fault of the caller.
type Error struct {
	Code    string         // the exception's name without a namespace, such as ValidationException
	Message string         // shown to the caller
	Status  int            // HTTP status
	Fields  map[string]any // further members of the answer, such as Item of a failed condition
}

// Error returns the code and message in one line.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Codes that more than one package answers with.
const (
	CodeInvalid       = "ValidationException"
	CodeUnreadable    = "SerializationException"
	CodeUnknown       = "UnknownOperationException"
	CodeInternal      = "InternalServerError"
	CodeThrottled     = "ProvisionedThroughputExceededException"
	CodeSSMThrottled  = "ThrottlingException"
	CodeConditional   = "ConditionalCheckFailedException"
	CodeNotFound      = "ResourceNotFoundException"
	CodeInUse         = "ResourceInUseException"
	namespaceDynamoDB = "com.amazonaws.dynamodb.v20120810#"
	namespaceCoral    = "com.amazon.coral.validate#"
)

// Invalid is a ValidationException.
func Invalid(format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

// Unreadable is a SerializationException: the body is not what the protocol allows.
func Unreadable(err error) *Error {
	return &Error{Code: CodeUnreadable, Message: err.Error()}
}

// NotImplemented refuses, by name, something that AWS has and this stand-in has not.
func NotImplemented(what string) *Error {
	return &Error{Code: CodeUnknown, Message: "the local stand-in does not implement " + what}
}

// Internal is a 500: the caller cannot know whether its write was committed.
func Internal(message string) *Error {
	return &Error{Code: CodeInternal, Message: message, Status: http.StatusInternalServerError}
}
