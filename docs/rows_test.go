package docs_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/ledger"
	"github.com/countersign-mcp/countersign/internal/ledger/history"
)

// row is an invocation's item as it is stored, with plain values: bytes that are text as text, digests in hex.
type row map[string]any

// row reads an item past the product, by DynamoDB's own API.
func (r *running) row(t *testing.T, id string) row {
	t.Helper()
	key, err := ledger.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"TableName": "countersign-dev", "ConsistentRead": true,
		"Key": map[string]any{"p": map[string]string{"S": key.Partition}, "k": map[string]string{"S": key.Sort}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, r.aws, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.GetItem")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Item map[string]struct {
			S *string
			N *json.Number
			B *string
			L []struct{ S string }
		}
	}
	if err := json.Unmarshal([]byte(bodyOf(t, resp)), &answer); err != nil {
		t.Fatal(err)
	}
	out := row{}
	for name, v := range answer.Item {
		switch {
		case v.S != nil:
			out[name] = *v.S
		case v.N != nil:
			out[name] = *v.N
		case v.B != nil:
			raw, err := base64.StdEncoding.DecodeString(*v.B)
			if err != nil {
				t.Fatal(err)
			}
			if out[name] = string(raw); !slices.Contains([]string{"a", "cx", "mt", "r"}, name) {
				out[name] = hex.EncodeToString(raw)
			}
		default:
			var all []string
			for _, e := range v.L {
				all = append(all, e.S)
			}
			out[name] = all
		}
	}
	return out
}

// decisionOf returns the digest of what is decided, which the row's first event has.
func decisionOf(t *testing.T, r row) string {
	t.Helper()
	texts, _ := r["e"].([]string)
	events, err := history.Parse(texts)
	if err != nil {
		t.Fatal(err)
	}
	return history.Decision(events)
}

// json writes a row with its attributes in alphabetical order.
func (r row) json(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(map[string]any(r)); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// step is what one write made of a row.
type step struct {
	Set    row      `json:"set"`
	Remove []string `json:"remove,omitempty"`
	Append []string `json:"append to e,omitempty"`
}

// since tells what changed from an earlier row.
func (r row) since(t *testing.T, before row) string {
	t.Helper()
	s := step{Set: row{}}
	for name, v := range r {
		if name == "e" {
			all, earlier := v.([]string), before[name].([]string)
			s.Append = all[len(earlier):]
			continue
		}
		if old, there := before[name]; !there || row(map[string]any{name: old}).json(t) != row(map[string]any{name: v}).json(t) {
			s.Set[name] = v
		}
	}
	for name := range before {
		if _, there := r[name]; !there {
			s.Remove = append(s.Remove, name)
		}
	}
	slices.Sort(s.Remove)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}
