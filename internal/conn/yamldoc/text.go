package yamldoc

import (
	"strconv"
	"strings"
)

// DidYouMean returns a hint naming the word that was probably meant, or nothing when none is near.
func DidYouMean(value string, words []string) string {
	folded := Fold(value)
	best, bestDistance := "", 3
	for _, w := range words {
		limit := 2
		if len(w) < 5 {
			limit = 1 // of a short word, two changes leave nothing
		}
		if d := distance(folded, Fold(w)); d <= limit && d < bestDistance {
			best, bestDistance = w, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + strconv.Quote(best) + "?"
}

// Fold removes the differences that people do not see as differences: case, surrounding space, and which separator is used.
func Fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "-", "_")
}

// distance counts the insertions, deletions, replacements and swaps of neighbours between two words (optimal string
// alignment), or answers a large number when the lengths alone rule out a near word: values come from files of any content.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y)+2 || len(y) > len(x)+2 {
		return len(x) + len(y)
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
