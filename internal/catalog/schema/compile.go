package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/countersign-mcp/countersign/internal/catalog/text"
)

// schemaURL names the schema inside the compiler. It is absolute, so that a relative reference cannot reach the file system.
const schemaURL = "countersign://tool/input"

// noOther refuses every document but the one that is compiled (J1): a schema of a stranger must not make the deploy, or a
// function, fetch anything.
type noOther struct{}

func (noOther) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to another document, %s, which is never fetched", text.Short(url))
}

// Schema is a compiled input schema.
type Schema struct {
	compiled  *jsonschema.Schema
	cost      int // of Admission
	heaviest  int // weight of its heaviest pattern
	unchecked []Unchecked
}

// Compile compiles a schema that Admit accepted at that cost.
func Compile(raw json.RawMessage, cost int) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	root, ok := doc.(map[string]any)
	if !ok {
		return nil, ErrNotObject
	}
	g, err := graphOf(root)
	if err != nil {
		return nil, err
	}
	s, err := compile(g)
	if err != nil {
		return nil, err
	}
	s.cost = cost
	return s, nil
}

// compile takes out of the graph's document what cannot be checked here (J4), and compiles the rest.
func compile(g *graph) (*Schema, error) {
	known, unchecked := g.patterns()
	g.relax(unchecked)
	c := jsonschema.NewCompiler()
	c.UseLoader(noOther{})
	c.UseRegexpEngine(known.engine)
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(schemaURL, g.root); err != nil {
		return nil, err
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, readable(err)
	}
	return &Schema{compiled: schema, heaviest: known.heaviest, unchecked: unchecked}, nil
}

// readable keeps what the compiler says to one line without the internal name of the schema.
func readable(err error) error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var v *jsonschema.ValidationError
		if errors.As(invalid.Err, &v) {
			problems := problemsOf(v)
			phrases := make([]string, len(problems))
			for i, p := range problems {
				phrases[i] = p.String()
			}
			return errors.New("it is not a valid schema: " + strings.Join(phrases, "; "))
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return load.Err // that of noOther
	}
	said := strings.ReplaceAll(err.Error(), schemaURL+"#", "")
	return errors.New(text.Short(strings.Join(strings.Fields(strings.ReplaceAll(said, schemaURL, "the schema")), " ")))
}

// hugeNumber finds a number whose exponent would make exact arithmetic expand it to thousands of digits.
func hugeNumber(doc []byte) (string, bool) {
	const most = 400 // more than a float64 holds
	d := jsontext.NewDecoder(bytes.NewBuffer(doc))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return "", false
		}
		if token.Kind() != '0' {
			continue
		}
		number := token.String()
		at := strings.IndexAny(number, "eE")
		if at < 0 {
			continue
		}
		exponent := strings.TrimLeft(strings.TrimLeft(number[at+1:], "+-"), "0")
		if len(exponent) > 3 || len(exponent) == 3 && exponent > fmt.Sprint(most) {
			return number, true
		}
	}
}

// valuesIn counts the values of a text that was checked: objects, arrays and scalars, not names.
func valuesIn(doc []byte) int {
	d := jsontext.NewDecoder(bytes.NewBuffer(doc))
	for n := 0; ; {
		token, err := d.ReadToken()
		if err != nil {
			return n
		}
		switch kind, length := d.StackIndex(d.StackDepth()); {
		case token.Kind() == '}' || token.Kind() == ']':
		case kind == '{' && length%2 == 1 && token.Kind() == '"': // a name
		default:
			n++
		}
	}
}
