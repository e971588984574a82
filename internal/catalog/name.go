package catalog

import (
	"fmt"
	"strings"
)

const (
	maxName  = 64 // what clients accept
	longName = 46 // some clients put a prefix of their own in front
)

// servedName returns the name under which a tool is served: the connection's name, two underscores and the server's name of
// the tool, in which every other character than a-z, A-Z, 0-9, _ and - becomes an underscore. The rule is stable: a name
// depends on nothing but the two.
func servedName(connection, upstream string) (string, error) {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, upstream)
	if strings.Trim(plain, "_-") == "" {
		return "", fmt.Errorf("no letter or digit of its name is one that clients accept (a-z, A-Z, 0-9); %s", leaveOut)
	}
	served := connection + "__" + plain
	if len(served) > maxName {
		return "", fmt.Errorf("it would be served as %s, which has %d characters, and clients accept at most %d; give the connection file a name that is %d characters shorter, or shorten the tool's name at the server, or %s",
			served, len(served), maxName, len(served)-maxName, leaveOut)
	}
	if reserved(served) {
		return "", fmt.Errorf("it would be served as %s, the name of one of the gateway's own tools; %s", served, leaveOut)
	}
	return served, nil
}

// leaveOut is the cure that always works.
const leaveOut = "leave it out by listing the other tools under tools:"

// reserved reports whether a name belongs to the gateway's own tools.
func reserved(served string) bool {
	switch served {
	case "countersign_await_decision", "search_tools", "call_tool":
		return true
	}
	return strings.HasPrefix(served, "countersign_")
}

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
