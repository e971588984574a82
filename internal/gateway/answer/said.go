package answer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Said returns the text of what a remote answered, for people, or its JSON where it is more, or other, than text.
func Said(result, rpcError json.RawMessage) string {
	if rpcError != nil {
		return "error " + string(rpcError)
	}
	var r struct {
		Content []struct{ Type, Text string } `json:"content"`
		IsError bool                          `json:"isError"`
	}
	if json.Unmarshal(result, &r) != nil || len(r.Content) == 0 {
		return string(result)
	}
	var texts []string
	for _, c := range r.Content {
		if c.Type != "text" {
			return string(result)
		}
		texts = append(texts, c.Text)
	}
	if r.IsError {
		texts[0] = "error " + texts[0]
	}
	return strings.Join(texts, "\n")
}

// Cut returns the beginning of text, at most n bytes of it and no half character, and whether that is not all.
func Cut(text string, n int) (string, bool) {
	if len(text) <= n {
		return text, false
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n], true
}
