package wire

import (
	"strings"

	"github.com/countersign-mcp/countersign/internal/conn/show"
)

// CarriesSecret reports whether a header is named like those that carry a credential.
func CarriesSecret(name string) bool {
	return strings.Contains(strings.ToLower(name), "authorization") || show.NamesSecret(name)
}

// HoldsSecret reports whether the text between the placeholders is more likely a credential than a name. A number of any length and
// a UUID are names here: tenants and accounts have them.
func HoldsSecret(text string) bool {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;=\"'(){}", r) }) {
		if show.HasSecretPrefix(word) || show.LooksSecret(word) && !show.IsID(word) {
			return true
		}
	}
	return false
}
