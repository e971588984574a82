package catalog

import "strings"

// didYouMean returns the candidate nearest to a name, if one is near.
func didYouMean(name string, candidates []string) (string, bool) {
	best, nearest := "", 1+max(2, len(name)/4)
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < nearest {
			best, nearest = c, d
		}
	}
	return best, best != ""
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
