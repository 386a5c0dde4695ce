package docs

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// proof is a long proof of scripts/prove: the tests that it runs.
type proof struct {
	name, folder string
	tests        *regexp.Regexp
}

// proofs reads what runs what from the scripts, so that it stands in one place.
func proofs(t testing.TB) []proof {
	t.Helper()
	var all []proof
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\) prove \w+ '([^']+)' \./(\S+)`).FindAllStringSubmatch(read(t, "../scripts/prove"), -1) {
		all = append(all, proof{m[1], m[3], regexp.MustCompile(m[2])})
	}
	if len(all) < 10 {
		t.Fatalf("scripts/prove has only %d proofs", len(all))
	}
	return append(all, proof{"powerfail", "scripts/powercut", regexp.MustCompile(`^Test`)}, proof{"fuzz", "", regexp.MustCompile(`^Fuzz`)})
}

// survivals are the counts of a proof's runs that found nothing, the newest last.
func survivals(t testing.TB) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for line := range strings.Lines(read(t, "ledger.md")) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); len(cells) == 7 && cells[5] == "nothing" {
			all[cells[2]] = append(all[cells[2]], strings.Join(strings.Fields(cells[4]), " "))
		}
	}
	if len(all) < 3 {
		t.Fatalf("the ledger has only %d proofs that found nothing", len(all))
	}
	return all
}

// everyChange stands where no long form of a test is in the ledger.
const everyChange = "at every change"

// survived is what the ledger says of a promise's tests.
func survived(p promise, proofs []proof, counts map[string][]string) string {
	var out []string
	for _, f := range proofs {
		runs := func(name string) bool {
			m := testName.FindStringSubmatch(name)
			return m != nil && (f.folder == "" || m[1] == f.folder) && f.tests.MatchString(m[2])
		}
		if c := counts[f.name]; len(c) > 0 && slices.ContainsFunc(p.tests, runs) {
			out = append(out, fmt.Sprintf("[%s](ledger.md): %s", f.name, c[len(c)-1]))
		}
	}
	if len(out) == 0 {
		return everyChange
	}
	return strings.Join(out, "; ")
}

var survival = regexp.MustCompile(`\[(\w+)\]\(ledger\.md\): (.*?)(?:; \[|$)`)

// What a promise is said to have survived stands in the ledger: these proofs run
// its tests, and have counted this. A newer line of the ledger makes no page wrong.
func TestPromisesSurvivedWhatTheLedgerSays(t *testing.T) {
	t.Parallel()
	list, counts := proofs(t), survivals(t)
	if *update {
		writeSurvived(t, list, counts)
	}
	for _, p := range promises(t) {
		want := survived(p, list, counts)
		if (want == everyChange) != (p.survived == everyChange) {
			t.Errorf("%s: it survived %q, not %q: go test ./docs -update", p.what, want, p.survived)
			continue
		}
		rest := p.survived
		for want != everyChange && rest != "" {
			m := survival.FindStringSubmatch(rest)
			if m == nil {
				t.Errorf("%s: %q is no proof of the ledger", p.what, rest)
				break
			}
			if !slices.Contains(counts[m[1]], m[2]) || !strings.Contains(want, "["+m[1]+"]") {
				t.Errorf("%s: the ledger does not say of it %s: %s", p.what, m[1], m[2])
			}
			_, rest, _ = strings.Cut(rest, m[2])
			rest = strings.TrimPrefix(rest, "; ")
		}
	}
}

func writeSurvived(t *testing.T, list []proof, counts map[string][]string) {
	rows := promises(t)
	var text strings.Builder
	for line := range strings.Lines(read(t, "durability.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) >= 5 && strings.Contains(cells[2], "`") {
			line = strings.Join(cells[:4], "|") + "| " + survived(rows[0], list, counts) + " |\n"
			rows = rows[1:]
		}
		text.WriteString(line)
	}
	if err := os.WriteFile("durability.md", []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
