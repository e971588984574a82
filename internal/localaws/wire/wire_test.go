package wire_test

import (
	"errors"
	"hash/crc32"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

type input struct {
	Name   string
	Nested []struct{ Value int }
}

func TestDecode(t *testing.T) {
	t.Parallel()
	var ok input
	if err := wire.Decode("Op", []byte(`{"Name":"x","Nested":[{"Value":1}]}`), &ok); err != nil || ok.Nested[0].Value != 1 {
		t.Errorf("got %+v, %v", ok, err)
	}
	for body, want := range map[string]string{
		`{"Other":1}`:                "ValidationException: the local stand-in does not implement Other of Op",
		`{"Nested":[{},{"Deep":1}]}`: "ValidationException: the local stand-in does not implement Nested.1.Deep of Op",
		`{"name":"x"}`:               "ValidationException: the local stand-in does not implement name of Op",
		`{"Name":1}`:                 "SerializationException: ",
		`{"Name":"x","Name":"y"}`:    "SerializationException: ",
		`{`:                          "SerializationException: ",
		``:                           "SerializationException: ",
	} {
		if err := wire.Decode("Op", []byte(body), &input{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// P2, P3: status, type and checksum of every answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		service wire.Service
		err     error
		status  int
		body    []string
	}{
		{"a value", wire.DynamoDB, nil, 200, []string{`{"Count":1}`}},
		{"a refusal of DynamoDB", wire.DynamoDB, &wire.Error{Code: wire.CodeNotFound, Message: "m"}, 400, []string{`"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"`, `"message":"m"`}},
		{"a refusal of Parameter Store", wire.SSM, &wire.Error{Code: "ParameterNotFound"}, 400, []string{`"__type":"ParameterNotFound"`}},
		{"a validation", wire.SSM, wire.Invalid("no %s", "way"), 400, []string{`"com.amazon.coral.validate#ValidationException"`, `"no way"`}},
		{"a refusal with more members", wire.DynamoDB, &wire.Error{Code: wire.CodeConditional, Fields: map[string]any{"Item": map[string]int{"a": 1}}}, 400, []string{`"Item":{"a":1}`}},
		{"any other error", wire.DynamoDB, errors.New("surprise"), 500, []string{`InternalServerError"`, `"surprise"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			if test.err == nil {
				wire.Answer(w, test.service, "id-1", map[string]int{"Count": 1})
			} else {
				wire.Fail(w, test.service, "id-1", test.err)
			}
			body := w.Body.String()
			if w.Code != test.status {
				t.Errorf("status %d, want %d", w.Code, test.status)
			}
			for _, want := range test.body {
				if !strings.Contains(body, want) {
					t.Errorf("the body %s lacks %s", body, want)
				}
			}
			for name, want := range map[string]string{
				"Content-Type": test.service.ContentType(), "X-Amzn-Requestid": "id-1", "Content-Length": strconv.Itoa(len(body)),
				"X-Amz-Crc32": strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(body))), 10),
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
	unwritable := httptest.NewRecorder()
	wire.Answer(unwritable, wire.DynamoDB, "id-2", func() {})
	if unwritable.Code != 500 {
		t.Errorf("an answer that cannot be written has status %d, want 500", unwritable.Code)
	}
}
