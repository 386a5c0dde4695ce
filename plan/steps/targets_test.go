package steps

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
)

// What is inside of a file is what a list of all files says, after copies of files and
// directories in any order.
func TestATargetInsideOfAFileIsFound(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/a/b", "b/a/b/a", "ab"}
	rng := rand.New(rand.NewPCG(16, 6))
	found := 0
	for range 2000 {
		var got targets
		files := map[string]bool{}
		for range 8 {
			to, file := names[rng.IntN(len(names))], rng.IntN(2) == 0
			around := slices.DeleteFunc(slices.Collect(maps.Keys(files)), func(f string) bool { return !strings.HasPrefix(to, f+"/") })
			var made map[string]bool
			if file {
				made = map[string]bool{"": true}
			} else if rng.IntN(2) == 0 {
				made = map[string]bool{"a": true}
			}
			inside, by := got.copy(to, made)
			if (inside == "") != (len(around) == 0) || (by == 0) != (inside == "") || inside != "" && !slices.Contains(around, inside) {
				t.Fatalf("%s is inside %q, want one of %q", to, inside, around)
			}
			if inside != "" {
				found++
			}
			maps.DeleteFunc(files, func(f string, _ bool) bool { return f == to || strings.HasPrefix(f, to+"/") })
			for name := range made {
				files[path.Join(to, name)] = true
			}
		}
	}
	if found == 0 {
		t.Error("no target was inside of a file")
	}
}

func TestAPatternOfANameThatIsTooLongGivesNoFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for pattern, none := range map[string]bool{long: true, "*/" + long: true, "a*" + long: false, "{" + long + ",a}": false, `\` + long: false, long[1:] + "/" + long[1:]: false, "**": false, strings.Repeat("d/", 2100): true} {
		if got := NoName(pattern); (got != "") != none {
			t.Errorf("%.20s: %q", pattern, got)
		}
	}
}
