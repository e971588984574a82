package web

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/countersign-mcp/countersign/internal/jsonx"
	"github.com/countersign-mcp/countersign/internal/web/visible"
)

// node is one JSON value as it is shown. Exactly one of Text, Flow and Children is
// set, or none for what is empty.
type node struct {
	Key      []visible.Segment // of an object's member
	Type     string            // text, number, true or false, null, object, list
	Size     string            // of containers: "3 members"
	Text     []visible.Segment // of a scalar
	Flow     string            // a list of nothing but numbers, true, false and null, as one line
	Children []node
	List     bool // children are elements, not members
	Level    int  // how many containers are open here, itself included
}

// remark is one warning at one place. It is spelt out only when it is listed:
// there may be as many remarks as values, and a place may be as long as all of
// them together.
type remark struct {
	place string
	Kind  visible.Warning
}

// placeShown is how many characters of a place are listed; the page shows all of
// it where it stands.
const placeShown = 60

// Place is the beginning of the place, shown exactly.
func (r remark) Place() []visible.Segment {
	runes := 0
	for i := range r.place {
		if runes++; runes > placeShown {
			return append(visible.Segments(r.place[:i]), visible.Segment{Text: " and so on", Escaped: true})
		}
	}
	return visible.Segments(r.place)
}

// tree reads data, which Check must accept, into nodes and collects warnings. Its
// size is linear in data: nesting is shown by nesting, never by repeated paths.
func tree(data []byte, place string) (node, []remark, error) {
	if err := jsonx.Check(data, jsonx.Limits{}); err != nil {
		return node{}, nil, err
	}
	t := treeReader{d: jsontext.NewDecoder(bytes.NewBuffer(data))}
	root, err := t.value(place)
	return root, t.remarks, err
}

type treeReader struct {
	d       *jsontext.Decoder
	remarks []remark
	level   int
}

// indented is how many levels are set in; deeper ones say their number, so that a
// narrow screen keeps its width for the text.
const indented = 5

// Deep reports whether a container's children are not set in any more.
func (n node) Deep() bool { return n.Level > indented }

func (t *treeReader) warn(place, text string) {
	for _, kind := range visible.Warnings(text) {
		t.remarks = append(t.remarks, remark{place, kind})
	}
}

// value reads one value. Recursion is bounded by Check's depth limit.
func (t *treeReader) value(place string) (node, error) {
	token, err := t.d.ReadToken()
	if err != nil {
		return node{}, err
	}
	t.level++
	defer func() { t.level-- }()
	switch token.Kind() {
	case '{':
		return t.object()
	case '[':
		return t.list(place)
	case '"':
		text := token.String()
		t.warn(place, text)
		return node{Type: "text", Text: visible.Segments(text)}, nil
	case '0':
		return node{Type: "number", Text: visible.Segments(token.String())}, nil // the digits as they came
	case 't', 'f':
		return node{Type: "true or false", Text: visible.Segments(token.String())}, nil
	}
	return node{Type: "null", Text: visible.Segments("null")}, nil
}

func (t *treeReader) object() (node, error) {
	n := node{Type: "object", Level: t.level}
	for t.d.PeekKind() != '}' {
		name, err := t.d.ReadToken()
		if err != nil {
			return node{}, err
		}
		key := name.String() // before the next read, which may overwrite the token
		t.warn("the name "+key, key)
		child, err := t.value(key)
		if err != nil {
			return node{}, err
		}
		child.Key = visible.Segments(key)
		n.Children = append(n.Children, child)
	}
	_, err := t.d.ReadToken()
	n.Size = count(len(n.Children), "member")
	return n, err
}

func (t *treeReader) list(place string) (node, error) {
	n := node{Type: "list", List: true, Level: t.level}
	bare := true
	for t.d.PeekKind() != ']' {
		child, err := t.value(place)
		if err != nil {
			return node{}, err
		}
		bare = bare && (child.Type == "number" || child.Type == "null" || child.Type == "true or false")
		n.Children = append(n.Children, child)
	}
	_, err := t.d.ReadToken()
	n.Size = count(len(n.Children), "element")
	if bare && len(n.Children) > 0 { // no element can hold a comma
		var flow bytes.Buffer
		for i, child := range n.Children {
			if i > 0 {
				flow.WriteString(", ")
			}
			flow.WriteString(child.Text[0].Text)
		}
		n.Flow, n.Children = flow.String(), nil
	}
	return n, err
}
