package conn_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn"
	"github.com/google/go-cmp/cmp"
)

func TestRenderWithoutCaretIsOneLineForEachProblem(t *testing.T) {
	t.Parallel()
	_, problems := conn.Parse("connections/crm.yml", []byte("url: https://h.example\naproval: always\neffect: never\n"))
	var b strings.Builder
	if err := conn.Render(&b, problems, nil, conn.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(problems.Error()+"\n", b.String()); diff != "" || strings.Count(b.String(), "\n") != 2 {
		t.Errorf("Render differs from Error (-error +render):\n%s", diff)
	}
}

// TestTheCaretStandsBelowTheValue holds lines in which a character is not one column wide.
func TestTheCaretStandsBelowTheValue(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, src, want string
	}{
		{
			"behind a tab", "url: https://h.example\napproval:\task # x\n",
			"    2 | approval:\task # x\n" +
				"      |          \t^~~\n",
		},
		{
			"behind wide characters", "url: https://h.example\ntools: [検索, \"a b\"]\n",
			"    2 | tools: [検索, \"a b\"]\n" +
				"      |         \u3000\u3000  ^~\n",
		},
		{
			"behind a combining mark", "url: https://h.example\ntools: [e\u0301, \"a b\"]\n",
			"    2 | tools: [e\u0301, \"a b\"]\n" +
				"      |            ^~\n",
		},
		{
			"behind a byte order mark", "\uFEFFurl: ftp://h.example\n",
			"    1 | url: ftp://h.example\n" +
				"      |      ^~~~~~~~~~~~~~~\n",
		},
		{
			"in a file with the line ends of Windows", "url: https://h.example\r\napproval: ask\r\n",
			"    2 | approval: ask\n" +
				"      |           ^~~\n",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, problems := conn.Parse("crm.yml", []byte(row.src))
			got := render(t, problems, map[string][]byte{"crm.yml": []byte(row.src)})
			if _, excerpt, _ := strings.Cut(got, "\n"); excerpt != row.want {
				t.Errorf("the excerpt differs (-want +got):\n%s", cmp.Diff(row.want, excerpt))
			}
		})
	}
}

// TestNoCredentialIsEverShown plants a credential in each place where people put one, and looks for it in everything that
// the package prints (C5).
func TestNoCredentialIsEverShown(t *testing.T) {
	t.Parallel()
	const url = "url: https://h.example/mcp\n"
	for _, row := range []struct{ name, src, secret string }{
		{"as the credential", url + "auth: {type: bearer, credential: sk_live_51Habc}\n", "51Habc"},
		{"as the credential, beside another mistake", url + "auth: {type: baerer, credential: p@ssw0rd}\n", "p@ssw0rd"},
		{"as the credential, in a nested mapping", url + "auth:\n  type: bearer\n  credential: hunter 2\n", "hunter 2"},
		{"straight behind auth", url + "auth: hunter2\n", "hunter2"},
		{"behind an unknown key", url + "token: hunter2\n", "hunter2"},
		{"behind an unknown key of auth", url + "auth: {type: bearer, credential: t, token: hunter2}\n", "hunter2"},
		{"in a header", url + "headers: {Authorization: Bearer hunter2}\n", "hunter2"},
		{"in a header with an anchor", url + "headers:\n  Authorization: &a Bearer hunter2\n", "hunter2"},
		{"in a header with a tag", url + "headers:\n  Authorization: !secret hunter2\n", "hunter2"},
		{"in a header with a hidden character", url + "headers:\n  Authorization: hunter2\u200b\n", "hunter2"},
		{"in a header of any name, behind a broken placeholder", url + "headers: {X-A: \"hunter2 ${a\"}\n", "hunter2"},
		{"in a header of any name, in another tool's placeholder", url + "headers: {X-A: \"${q7Zk2Vw9Lx4Tn8Rb}${hunter2:-x}\"}\n", "q7Zk2Vw9Lx4Tn8Rb"},
		{"in a header of any name, before a line break", url + "headers: {X-A: \"hunter2\\n\"}\n", "hunter2"},
		{"in a header of any name, with a character of another script", url + "headers: {X-A: hunter2é}\n", "hunter2"},
		{"in a header of any name, as a list", url + "headers: {X-A: [hunter2]}\n", "hunter2"},
		{"in a header that looks random", url + "headers: {X-A: q7Zk2Vw9Lx4Tn8Rb}\n", "q7Zk2Vw9Lx4Tn8Rb"},
		{"in a header that is not ours to set", url + "headers: {Cookie: session=hunter2}\n", "hunter2"},
		{"in place of all headers", url + "headers: hunter2\n", "hunter2"},
		{"as the credential of the deploy", url + "auth: {type: bearer, credential: t}\ndiscovery: {credential: hunter 2}\n", "hunter 2"},
		{"in a duplicate header", url + "headers:\n  A: x\n  A: hunter2\n", "hunter2"},
		{"in a line that is not YAML", url + "password: hunter2: x\n", "hunter2"},
		{"behind a tab", url + "auth:\n\tcredential: hunter2\n", "hunter2"},
		{"in the user of the url", "url: https://ana:hunter2@h.example/mcp\n", "hunter2"},
		{"in the query of the url", "url: https://h.example/mcp?api_key=hunter2\n", "hunter2"},
		{"in the path of a url that is wrong elsewhere", "url: http://h.example/s/q7Zk2Vw9Lx4Tn8Rb/mcp\n", "q7Zk2Vw9Lx4Tn8Rb"},
		{"in place of a variable's name", "url: https://${sk_live_0123456789}/mcp\n", "0123456789"},
		{"in the port of a broken url", "url: https://h.example:hunter2/mcp\n", "hunter2\""},
		{"as the approval", url + "approval: ghp_0123456789abcdefABCD\n", "0123456789"},
		{"as a key", url + "ghp_0123456789abcdefABCD: x\n", "0123456789"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, problems := conn.Parse("connections/crm.yml", []byte(row.src))
			if len(problems) == 0 {
				t.Fatal("no problem")
			}
			out := render(t, problems, map[string][]byte{"connections/crm.yml": []byte(row.src)})
			if strings.Contains(out, row.secret) {
				t.Errorf("the output holds the credential:\n%s", out)
			}
		})
	}
}

func TestAFileNameCannotWriteToTheTerminal(t *testing.T) {
	t.Parallel()
	_, problems := conn.Parse("connections/\x1b[2J\u202e.yml", []byte("url: https://h.example\n"))
	const want = `connections/\x1b[2J\u202e.yml:1:1: `
	if got := problems.Error(); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

func TestRenderReturnsTheWritersError(t *testing.T) {
	t.Parallel()
	_, problems := conn.Parse("connections/crm.yml", nil)
	if err := conn.Render(fullDisk{}, problems, nil, conn.Options{}); !errors.Is(err, errFull) {
		t.Errorf("Render = %v, want %v", err, errFull)
	}
}

var errFull = errors.New("no space left")

// fullDisk is a writer without space.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }
