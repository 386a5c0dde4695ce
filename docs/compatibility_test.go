package docs

import (
	"regexp"
	"strings"
	"testing"
)

var testedBy = regexp.MustCompile("`([a-z0-9/]+)[./]([A-Za-z0-9_]+)`")

// Each row in which hank differs from the compatible system names tests, and they exist.
func TestDeviationsHaveTests(t *testing.T) {
	t.Parallel()
	rows := 0
	for line := range strings.SplitSeq(read(t, "compatibility.md"), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| test |") {
			continue
		}
		rows++
		cells := strings.Split(strings.TrimSuffix(line, " |"), " | ")
		found := testedBy.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(found) == 0 {
			t.Errorf("no test is named: %s", line)
		}
		for _, m := range found {
			if !isThere(t, strings.Trim(m[0], "`")) {
				t.Errorf("there is no test %s: %s", m[0], line)
			}
		}
	}
	if rows < 60 {
		t.Errorf("only %d rows were read", rows)
	}
}
