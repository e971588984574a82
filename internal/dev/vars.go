package dev

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
)

var varLine = regexp.MustCompile(`^([A-Za-z0-9_./-]+)=(.*)$`)

// readVars reads the variables and credentials for a local run, one NAME=value a line: a path with a slash ("credentials/crm/mcp_token")
// is stored as it is, a bare name (CRM_REGION) as a variable. Lines that are empty or begin with # are skipped. A value is
// taken as it stands, and one in quotes is refused: they would arrive at a server. Errors name file and line, never a value.
func readVars(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading variables: %w", err)
	}
	defer f.Close()
	out, given := map[string]string{}, map[string]int{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		m := varLine.FindStringSubmatch(text)
		if m == nil || m[2] == "" {
			return nil, fmt.Errorf("%s:%d: expected NAME=value, such as CRM_REGION=eu or credentials/crm/mcp_token=SECRET", file, n)
		}
		if v := m[2]; len(v) > 1 && (v[0] == '"' || v[0] == '\'') && v[len(v)-1] == v[0] {
			return nil, fmt.Errorf("%s:%d: the value of %s stands in quotes, which would be sent as part of it: write it without them", file, n, m[1])
		}
		path := m[1]
		if !strings.Contains(path, "/") {
			path = "vars/" + path
		}
		if first := given[path]; first != 0 {
			return nil, fmt.Errorf("%s:%d: %s is given on line %d already", file, n, m[1], first)
		}
		out[path], given[path] = m[2], n
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading variables from %s: %w", file, err)
	}
	return out, nil
}
