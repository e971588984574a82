package wire

import (
	"errors"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// Service names one of the two APIs as the X-Amz-Target header does.
type Service string

// The services that are served.
const (
	DynamoDB Service = "DynamoDB_20120810"
	SSM      Service = "AmazonSSM"
)

// ContentType is the media type of requests and answers.
func (s Service) ContentType() string {
	if s == SSM {
		return "application/x-amz-json-1.1"
	}
	return "application/x-amz-json-1.0"
}

// Decode reads a request body into the operation's input. Names are case-sensitive and a
// member given twice is an error, as at AWS.
func Decode(operation string, body []byte, into any) error {
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var refused *Error
	if errors.As(err, &refused) {
		return refused
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) && errors.Is(semantic.Err, json.ErrUnknownName) { // P1
		path := strings.ReplaceAll(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/", ".")
		return Invalid("the local stand-in does not implement %s of %s", path, operation)
	}
	return Unreadable(err)
}

// Answer writes value with status 200.
func Answer(w http.ResponseWriter, service Service, requestID string, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		Fail(w, service, requestID, err)
		return
	}
	write(w, service, requestID, http.StatusOK, body)
}

// Fail writes err in the shape from which the service's SDK builds a typed error.
func Fail(w http.ResponseWriter, service Service, requestID string, err error) {
	var refused *Error
	if !errors.As(err, &refused) {
		refused = Internal(err.Error()) // P2
	}
	namespace := ""
	switch {
	case refused.Code == CodeInvalid || refused.Code == CodeUnreadable:
		namespace = namespaceCoral
	case service == DynamoDB:
		namespace = namespaceDynamoDB
	}
	members := map[string]any{"__type": namespace + refused.Code, "message": refused.Message}
	for name, value := range refused.Fields {
		members[name] = value
	}
	status := refused.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	body, err := json.Marshal(members)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"__type":"`+CodeInternal+`"}`)
	}
	write(w, service, requestID, status, body)
}

func write(w http.ResponseWriter, service Service, requestID string, status int, body []byte) {
	header := w.Header() // P3
	header.Set("Content-Type", service.ContentType())
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	header.Set("X-Amzn-Requestid", requestID)
	w.WriteHeader(status)
	// The caller may have gone; then nobody is left to tell.
	_, _ = w.Write(body)
}
