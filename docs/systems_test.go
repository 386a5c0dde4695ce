package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// point is a row of systems.md: what another system does about its state.
type point struct {
	what, hank string
	tests      []string
}

func points(t testing.TB) []point {
	t.Helper()
	var all []point
	for line := range strings.Lines(read(t, "systems.md")) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 2 || strings.HasSuffix(line, "| test |\n") {
			continue
		}
		if len(cells) != 3 {
			t.Errorf("systems.md: a row has %d cells, not 3: %s", len(cells), line)
			continue
		}
		p := point{what: strings.TrimPrefix(cells[0], "| "), hank: cells[1]}
		for _, m := range code.FindAllStringSubmatch(cells[2], -1) {
			p.tests = append(p.tests, m[1])
		}
		all = append(all, p)
	}
	if len(all) < 80 {
		t.Fatalf("systems.md has only %d points", len(all))
	}
	return all
}

var howHankDoes = regexp.MustCompile(`^\*\*(Same|Better|Left out)\.\*\* \S`)

// Each point of the other systems has an answer, once; what hank claims to do has tests, and they exist.
func TestPointsOfOtherSystemsHaveAnswersAndTests(t *testing.T) {
	t.Parallel()
	for _, p := range points(t) {
		answer := howHankDoes.FindStringSubmatch(p.hank)
		if answer == nil {
			t.Errorf("%s: %q does not begin with **Same.**, **Better.** or **Left out.**", p.what, p.hank)
			continue
		}
		if len(p.tests) == 0 && answer[1] != "Left out" {
			t.Errorf("%s: no test is named", p.what)
		}
		for _, name := range p.tests {
			if !isThere(t, name) {
				t.Errorf("%s: there is no test %s", p.what, name)
			}
		}
	}
}

func TestAPointOfAnotherSystemStandsOnce(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, p := range points(t) {
		if slices.Contains(seen, p.what) {
			t.Errorf("it stands twice: %s", p.what)
		}
		seen = append(seen, p.what)
	}
}
