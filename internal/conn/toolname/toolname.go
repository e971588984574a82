package toolname

import "strings"

// IsPattern reports whether an entry stands for several tools.
func IsPattern(entry string) bool { return strings.ContainsAny(entry, "*?") }

// Match reports whether an entry is or covers a tool (N1, N2).
func Match(entry, tool string) bool {
	pattern, name := []rune(entry), []rune(tool)
	star, mark := -1, 0 // the last * so far, and how much of the name it covers
	i, j := 0, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			star, mark = i, j
			i++
		case i < len(pattern) && (pattern[i] == '?' || pattern[i] == name[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == '*' {
		i++
	}
	return i == len(pattern)
}

// Covers reports whether an entry matches every tool that another one matches. Where it cannot tell it says no (N3). An empty entry
// stands for all tools, as in a rule.
func Covers(entry, other string) bool {
	switch {
	case entry == "" || entry == other:
		return true
	case other == "":
		return strings.Trim(entry, "*") == ""
	case strings.Contains(entry, "?") && IsPattern(other):
		return false // a ? would match a * of the other, which stands for more than one character
	}
	return Match(entry, other) // without a ?, what is no * in entry meets literal parts of other, and its * take anything
}
