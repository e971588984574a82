package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/countersign-mcp/countersign/internal/catalog"
	"github.com/countersign-mcp/countersign/internal/jsonx"
)

// The bounds of one server's list.
const (
	maxPages     = 100
	maxTools     = 2048
	maxListBytes = 16 << 20
	readings     = 3 // of the whole list, when it seems to change while it is read
)

// listed is one reading of all pages.
type listed struct {
	tools []json.RawMessage
	pages int
}

// list reads every page. A list that changes meanwhile may show a tool on two pages, or on none; the first can be seen, so such a list is
// read again until two readings agree. Then it is the server's own doing, and a tool that it sends twice in the same words is one tool.
func (p peer) list(ctx context.Context, server catalog.Server, in session) ([]json.RawMessage, error) {
	var last *listed
	for range readings {
		now, err := p.reading(ctx, server, in)
		var moved *movedError
		if errors.As(err, &moved) {
			last = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if now.pages == 1 || !repeats(now.tools) {
			return now.tools, nil
		}
		if last != nil && same(last.tools, now.tools) {
			return once(now.tools), nil
		}
		last = &now
	}
	return nil, &trouble{reason: fmt.Sprintf("the tool list of %s changes while it is read, %d times in a row - try again, or ask its operator what changes it", p.host(), readings)}
}

// movedError is a cursor that the server took back: its list is another one by now.
type movedError struct{ *trouble }

// reading follows every page once. An empty cursor is a cursor (specification, "Pagination"); the same one twice is a loop.
func (p peer) reading(ctx context.Context, server catalog.Server, in session) (listed, error) {
	var all listed
	seenCursors := map[string]bool{}
	var cursor json.RawMessage
	size := 0
	for {
		if all.pages++; all.pages > maxPages {
			return listed{}, &trouble{reason: fmt.Sprintf("%s lists its tools on more than %d pages", p.host(), maxPages)}
		}
		result, err := p.page(ctx, server, in, cursor)
		if t := (*trouble)(nil); cursor != nil && errors.As(err, &t) && t.code == mcp.INVALID_PARAMS {
			return listed{}, &movedError{t}
		}
		if err != nil {
			return listed{}, err
		}
		size += len(result)
		var onPage []json.RawMessage
		if err := json.Unmarshal(member(result, "tools"), &onPage); err != nil {
			return listed{}, &trouble{reason: fmt.Sprintf("%s answered tools/list without a list of tools (page %d)", p.host(), all.pages)}
		}
		all.tools = append(all.tools, onPage...)
		if len(all.tools) > maxTools {
			return listed{}, &trouble{reason: fmt.Sprintf("%s lists more than %d tools, which is the most for one connection", p.host(), maxTools)}
		}
		if size > maxListBytes {
			return listed{}, &trouble{reason: fmt.Sprintf("the tool list of %s is larger than %d MiB", p.host(), maxListBytes>>20)}
		}
		cursor = member(result, "nextCursor")
		if cursor == nil || string(cursor) == "null" {
			return all, nil
		}
		var text string
		if json.Unmarshal(cursor, &text) != nil {
			return listed{}, &trouble{reason: fmt.Sprintf("%s answered tools/list with a cursor that is not text (page %d)", p.host(), all.pages)}
		}
		if seenCursors[text] {
			return listed{}, &trouble{reason: fmt.Sprintf("%s hands out the same cursor again (page %d), so its list never ends - its operator must mend it", p.host(), all.pages)}
		}
		seenCursors[text] = true
	}
}

// repeats reports whether a name is there twice. A definition without a name is the catalog's affair.
func repeats(tools []json.RawMessage) bool {
	seen := map[string]bool{}
	for _, t := range tools {
		name := string(member(t, "name"))
		if name != "" && seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

func same(a, b []json.RawMessage) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// once drops what was sent before in the same bytes. Two definitions of one name that differ both stay, and the catalog refuses them.
func once(tools []json.RawMessage) []json.RawMessage {
	seen := map[string]bool{}
	var kept []json.RawMessage
	for _, t := range tools {
		if !seen[string(t)] {
			seen[string(t)] = true
			kept = append(kept, t)
		}
	}
	return kept
}

func (p peer) page(ctx context.Context, server catalog.Server, in session, cursor json.RawMessage) (json.RawMessage, error) {
	meta, err := p.meta(server, nil)
	if err != nil {
		return nil, err
	}
	params := json.RawMessage(`{}`)
	if cursor != nil {
		if params, err = jsonx.Set(params, "cursor", cursor); err != nil {
			return nil, err
		}
	}
	if meta != nil {
		if params, err = jsonx.Set(params, "_meta", meta); err != nil {
			return nil, err
		}
	}
	result, _, err := p.read(ctx, server, in, message{method: mcp.MethodToolsList, params: params})
	return result, err
}
