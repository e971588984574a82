package address_test

import (
	"strings"
	"testing"

	"github.com/countersign-mcp/countersign/internal/conn/address"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSplitAndFill(t *testing.T) {
	t.Parallel()
	segments, err := address.Split("https://${HOST}:${PORT}/${HOST}/mcp")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"HOST", "PORT"}, address.Variables(segments)); diff != "" {
		t.Errorf("Variables (-want +got):\n%s", diff)
	}
	got := address.Fill(segments, func(name string) string { return strings.ToLower(name) })
	if want := "https://host:port/host/mcp"; got != want {
		t.Errorf("Fill = %s, want %s", got, want)
	}
}

func TestSplitRefusesTheSpellingsOfOtherTools(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"$HOST", "${}", "${HOST", "HOST}", "${env:HOST}", "${HOST:-x}", "${HOST-x}", "{{HOST}}", "${ HOST }", "$$", "${1}", "${a.b}",
		"${context.tenant}", "${HO${ST}}", "${" + strings.Repeat("A", 65) + "}",
	} {
		if segments, err := address.Split(text); err == nil {
			t.Errorf("Split(%q) = %v, want an error", text, segments)
		}
	}
}

// TestNoFaultDependsOnAValue attacks A3: a template whose filled URL is good has no fault before it is filled.
func TestNoFaultDependsOnAValue(t *testing.T) {
	t.Parallel()
	urls := []string{
		"https://mcp.example.com/mcp", "http://localhost:3001/mcp", "http://127.0.0.1/", "http://[::1]:9000/mcp?tenant=eu&x=%20y",
		"https://a.b.c.example:8443/s/%E9/t?tenant=1", "HTTPS://xn--fsq.example", "https://10.0.0.1:443/",
	}
	rapid.Check(t, func(t *rapid.T) {
		url := rapid.SampledFrom(urls).Draw(t, "url")
		if faults := address.Check(url); len(faults) > 0 {
			t.Fatalf("%s has faults: %v", url, faults)
		}
		from := rapid.IntRange(0, len(url)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(url)).Draw(t, "to")
		segments, err := address.Split(url[:from] + "${V}" + url[to:])
		if err != nil {
			t.Fatal(err)
		}
		if faults := address.Check(address.Probe(segments)); len(faults) > 0 {
			t.Fatalf("%s${V}%s has faults: %v", url[:from], url[to:], faults)
		}
	})
}

// TestAFaultNeverRepeatsTheURL attacks A2.
func TestAFaultNeverRepeatsTheURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"https://ana:hunter2@h.example", "https://h.example?token=hunter2", "https://h.example:hunter2/", "https://hunter2_.%zz/",
		"http://hunter2.example", "https://h.example/#hunter2", "https://h.example/hunter2 x", "hunter2", "https://hunter2\n",
		"https://h.example/" + strings.Repeat("hunter2", 400),
	} {
		faults := address.Check(url)
		if len(faults) == 0 {
			t.Errorf("%q has no fault", url)
		}
		for _, f := range faults {
			if strings.Contains(f.Message+f.Hint, "hunter2") {
				t.Errorf("the fault of %q repeats it: %+v", url, f)
			}
		}
	}
}
