package accounting_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-mcp/countersign/internal/localaws/accounting"
)

func TestBook(t *testing.T) {
	t.Parallel()
	book := accounting.New()
	book.Record("dynamodb", "PutItem", false, accounting.Usage{Table: "t", WCU: 2, IndexWCU: 1})
	book.Record("dynamodb", "PutItem", true, accounting.Usage{Table: "t", WCU: 1})
	book.Record("dynamodb", "BatchGetItem", false, accounting.Usage{Table: "t", RCU: 0.5}, accounting.Usage{Table: "u", RCU: 1, IndexRCU: 2})
	book.Record("ssm", "GetParameter", false)
	book.Bare([]string{"b", "a"})
	book.Bare([]string{"a"})

	want := []accounting.Row{
		{Service: "dynamodb", Operation: "BatchGetItem", Table: "t", Requests: 1, RCU: 0.5},
		{Service: "dynamodb", Operation: "BatchGetItem", Table: "u", Requests: 1, RCU: 1, IndexRCU: 2},
		{Service: "dynamodb", Operation: "PutItem", Table: "t", Requests: 2, Failed: 1, WCU: 3, IndexWCU: 1},
		{Service: "ssm", Operation: "GetParameter", Requests: 1},
	}
	if diff := cmp.Diff(want, book.Rows()); diff != "" {
		t.Errorf("rows differ (-want +got):\n%s", diff)
	}
	// The batch is one request, though it is in two rows.
	if diff := cmp.Diff(accounting.Row{Requests: 4, Failed: 1, WCU: 3, RCU: 1.5, IndexWCU: 1, IndexRCU: 2}, book.Total()); diff != "" {
		t.Errorf("total differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[2], book.Of("PutItem", "t")); diff != "" {
		t.Errorf("one row differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(accounting.Row{Service: "dynamodb", Operation: "Scan", Table: "t"}, book.Of("Scan", "t")); diff != "" {
		t.Errorf("a row that is not there differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, book.BareNames()); diff != "" {
		t.Errorf("bare names differ (-want +got):\n%s", diff)
	}
	book.Reset()
	if len(book.Rows()) != 0 || len(book.BareNames()) != 0 || book.Total() != (accounting.Row{}) {
		t.Error("something is left after Reset")
	}
}
