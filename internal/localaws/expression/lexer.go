package expression

import (
	"strings"

	"github.com/countersign-mcp/countersign/internal/localaws/wire"
)

// maxLength is DynamoDB's limit on the text of one expression, in bytes.
const maxLength = 4096

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// tokens splits an expression into words (with their # or : mark), operators and
// punctuation.
func tokens(kind, text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, refuse(kind, "The expression can not be empty;")
	}
	if len(text) > maxLength {
		return nil, refuse(kind, "Expression size has exceeded the maximum allowed size; expression size: %d", len(text))
	}
	var out []string
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case wordByte(c) || c == '#' || c == ':':
			end := i + 1
			for end < len(text) && wordByte(text[end]) {
				end++
			}
			out = append(out, text[i:end])
			i = end
		case strings.HasPrefix(text[i:], "<>") || strings.HasPrefix(text[i:], "<=") || strings.HasPrefix(text[i:], ">="):
			out = append(out, text[i:i+2])
			i += 2
		case strings.IndexByte("=<>()[],.+-", c) >= 0:
			out = append(out, text[i:i+1])
			i++
		default:
			near := text[max(0, i-5):min(len(text), i+6)]
			return nil, refuse(kind, "Syntax error; token: %q, near: %q", text[i:i+1], near)
		}
	}
	return out, nil
}

func refuse(kind, format string, args ...any) error {
	return wire.Invalid("Invalid "+kind+": "+format, args...)
}
