package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/catalog/schema"
)

// largest is a schema near every bound, and arguments that fill it.
func largest(tb testing.TB) (doc, args string) {
	tb.Helper()
	var properties, values []string
	for i := range 420 {
		properties = append(properties, fmt.Sprintf(
			`"p%d":{"type":"object","properties":{"id":{"type":"string","pattern":"^[a-z0-9-]{1,40}$"},"kind":{"enum":["a","b"]}},"required":["id"]}`, i))
		values = append(values, fmt.Sprintf(`"p%d":{"id":"n-%d","kind":"a"}`, i, i))
	}
	doc, args = `{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`, `{`+strings.Join(values, ",")+`}`
	if len(doc) < 50<<10 || len(doc) > 64<<10 {
		tb.Fatalf("the schema has %d bytes", len(doc))
	}
	return doc, args
}

func BenchmarkValidateLargest(b *testing.B) {
	doc, args := largest(b)
	s := compile(b, doc)
	b.ReportAllocs()
	for b.Loop() {
		if !fits(b, s, args) {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCompileLargest(b *testing.B) {
	doc, _ := largest(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Compile(json.RawMessage(doc), 3); err != nil {
			b.Fatal(err)
		}
	}
}
