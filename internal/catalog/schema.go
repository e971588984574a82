package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL names the schema inside the compiler. It is absolute, so that a relative reference cannot reach the file system.
const schemaURL = "countersign://tool/input"

// noOther refuses every document but the one that is compiled (K5): a schema of a stranger must not make the deploy, or a
// function, fetch anything.
type noOther struct{}

func (noOther) Load(url string) (any, error) {
	return nil, fmt.Errorf("it refers to another document, %s, which is never fetched", short(url))
}

func compileSchema(raw []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noOther{})
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile(schemaURL)
	if err != nil {
		return nil, readable(err)
	}
	return schema, nil
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
	text := strings.ReplaceAll(err.Error(), schemaURL+"#", "")
	return errors.New(short(strings.Join(strings.Fields(strings.ReplaceAll(text, schemaURL, "the schema")), " ")))
}

// hugeNumber finds a number whose exponent would make exact arithmetic expand it to thousands of digits.
func hugeNumber(text []byte) (string, bool) {
	const most = 400 // more than a float64 holds
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
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
func valuesIn(text []byte) int {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
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
