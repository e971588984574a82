package catalog

import (
	"fmt"
	"unicode/utf8"
)

// longDescription is where the first well-known client cuts a description.
const longDescription = 2048

// hiddenIn finds a character that a person reading a definition cannot see and a model can read or a terminal obeys.
func hiddenIn(text string) error {
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
		case r < ' ', 0x7f <= r && r < 0xa0:
			return fmt.Errorf("a control character (U+%04X)", r)
		case 0x202a <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
			return fmt.Errorf("a character that reverses the direction of text (U+%04X)", r)
		case r == 0x200b, r == 0x2060, 0x2061 <= r && r <= 0x2064, r == 0xfeff:
			return fmt.Errorf("an invisible character (U+%04X)", r)
		case 0xe0000 <= r && r <= 0xe007f:
			return fmt.Errorf("an invisible tag character (U+%04X)", r)
		}
	}
	return nil
}

func characters(text string) int { return utf8.RuneCountInString(text) }
