package attr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/countersign-mcp/countersign/internal/localaws/attr"
	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

func decode(t testing.TB, text string) attr.Item {
	t.Helper()
	item, err := attr.DecodeItem([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return item
}

func encode(t testing.TB, item attr.Item) string {
	t.Helper()
	text, err := json.Marshal(item)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// V3: what is written is read back, in the order of names.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"a":{"S":""}}`, `{"a":{"S":"<&>\u2028 é 🙂"}}`, `{"a":{"N":"-1.5"}}`, `{"a":{"B":""}}`, `{"a":{"B":"AP8="}}`,
		`{"a":{"BOOL":false},"b":{"BOOL":true},"c":{"NULL":true}}`, `{"a":{"L":[]},"b":{"M":{}}}`,
		`{"a":{"L":[{"M":{"k":{"L":[{"S":"deep"}]}}},{"N":"2"}]}}`, `{"a":{"SS":["b","a"]},"b":{"NS":["1","2"]},"c":{"BS":["AA==","AQI="]}}`,
		`{"":{"S":"a name may be empty in a map"}}`,
	} {
		item := decode(t, text)
		again := decode(t, encode(t, item))
		if !item.Equal(again) {
			t.Errorf("%s reads back as %s", text, encode(t, again))
		}
		if encode(t, item) != encode(t, again) {
			t.Errorf("%s is written in two ways", text)
		}
	}
}

func TestJSONThatIsRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"L":[`, 40) + `{"S":"x"}` + strings.Repeat(`]}`, 40)
	for text, code := range map[string]string{
		`{"a":{}}`:                      wire.CodeInvalid,
		`{"a":{"S":"x","N":"1"}}`:       wire.CodeInvalid,
		`{"a":{"X":"x"}}`:               wire.CodeInvalid,
		`{"a":{"NULL":false}}`:          wire.CodeInvalid,
		`{"a":{"SS":[]}}`:               wire.CodeInvalid,
		`{"a":{"SS":["x","x"]}}`:        wire.CodeInvalid,
		`{"a":{"NS":["1","1.0"]}}`:      wire.CodeInvalid,
		`{"a":{"N":"x"}}`:               wire.CodeInvalid,
		`{"a":` + deep + `}`:            wire.CodeInvalid,
		`{"a":{"N":1}}`:                 wire.CodeUnreadable,
		`{"a":{"S":null}}`:              wire.CodeUnreadable,
		`{"a":{"BOOL":"true"}}`:         wire.CodeUnreadable,
		`{"a":{"B":"not base64!"}}`:     wire.CodeUnreadable,
		`{"a":{"L":{}}}`:                wire.CodeUnreadable,
		`{"a":"x"}`:                     wire.CodeUnreadable,
		`[]`:                            wire.CodeUnreadable,
		`null`:                          wire.CodeUnreadable,
		`{"a":{"S":"x"}} trailing`:      wire.CodeUnreadable,
		`{"a":{"S":"x"},"a":{"S":"y"}}`: wire.CodeUnreadable,
		"{\"a\":{\"S\":\"\xff\"}}":      wire.CodeUnreadable,
	} {
		_, err := attr.DecodeItem([]byte(text))
		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Code != code {
			t.Errorf("%.60s: %v, want %s", text, err, code)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"ab":{"S":"é"}}`:                         2 + 2,
		`{"a":{"B":"AAEC"}}`:                       1 + 3,
		`{"a":{"BOOL":true},"b":{"NULL":true}}`:    2 + 2,
		`{"a":{"N":"0"}}`:                          1 + 1,
		`{"a":{"N":"5"}}`:                          1 + 2,
		`{"a":{"N":"-1234.5"}}`:                    1 + 5,
		`{"a":{"N":"12000000"}}`:                   1 + 2,
		`{"a":{"L":[]}}`:                           1 + 3,
		`{"a":{"L":[{"S":"xy"},{"BOOL":true}]}}`:   1 + 3 + 1 + 2 + 1 + 1,
		`{"a":{"M":{"key":{"S":"x"}}}}`:            1 + 3 + 1 + 3 + 1,
		`{"a":{"SS":["a","bc"]},"n":{"NS":["1"]}}`: 1 + 3 + 1 + 2,
	} {
		if got := decode(t, text).Size(); got != want {
			t.Errorf("%s has size %d, want %d", text, got, want)
		}
	}
}

func TestKeyTextsDifferWhenKeysDo(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, text := range []string{`{"S":"1"}`, `{"N":"1"}`, `{"B":"MQ=="}`, `{"S":"N1"}`, `{"S":""}`, `{"N":"1.5"}`, `{"S":"1.0"}`} {
		key := decode(t, `{"k":`+text+`}`)["k"].KeyText()
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same key text", text, other)
		}
		seen[key] = text
	}
	one, again := decode(t, `{"k":{"N":"1"}}`)["k"], decode(t, `{"k":{"N":"1.0"}}`)["k"]
	if one.KeyText() != again.KeyText() {
		t.Error("1 and 1.0 have different key texts")
	}
}

// FuzzDecodeItem looks for input that panics, or that does not survive being written and
// read again.
func FuzzDecodeItem(f *testing.F) {
	for _, seed := range []string{`{"a":{"S":"x"}}`, `{"a":{"L":[{"N":"1e5"},{"M":{"k":{"BS":["AA=="]}}}]}}`, `{"a":{"NULL":true}`, `{"a":{"NS":["1","-2"]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		item, err := attr.DecodeItem(raw)
		if err != nil {
			return
		}
		if again := decode(t, encode(t, item)); !item.Equal(again) || item.Size() != again.Size() {
			t.Errorf("%s reads back as %s", encode(t, item), encode(t, again))
		}
		if packed, err := json.Marshal(attr.Pack(item)); err != nil || string(packed) != encode(t, item) {
			t.Errorf("%s is packed as %s, %v", encode(t, item), packed, err)
		}
	})
}
