package proc

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Below must end, and give each descendant once, parents first, whatever a
// listing that is not atomic shows: circles, double pids, missing parents.
func TestBelowEndsAndTakesEachOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		var list []Info
		for range n {
			list = append(list, Info{
				Identity: Identity{PID: rapid.IntRange(0, 20).Draw(t, "pid")},
				Parent:   rapid.IntRange(0, 20).Draw(t, "parent"),
			})
		}
		root := rapid.IntRange(0, 20).Draw(t, "root")
		found := Below(list, root)
		if len(found) > n {
			t.Fatalf("%d found of %d", len(found), n)
		}
		known := map[int]bool{root: true}
		for _, p := range found {
			if !known[p.Parent] {
				t.Fatalf("%d comes before its parent %d", p.PID, p.Parent)
			}
			if p.PID == root {
				t.Fatal("the root is its own descendant")
			}
			known[p.PID] = true
		}
		for _, p := range list {
			if known[p.Parent] && p.PID != p.Parent && !known[p.PID] {
				t.Fatalf("%d below %d is missing", p.PID, p.Parent)
			}
		}
	})
}

func TestEnvironmentEntriesMatchWhole(t *testing.T) {
	t.Parallel()
	block := []byte("A=1\x00HANK=xy\x00B=HANK=x\x00\x00HANK=z")
	for entry, want := range map[string]bool{
		"A=1": true, "HANK=xy": true, "HANK=z": true, "B=HANK=x": true,
		"HANK=x": false, "A=": false, "A": false, "=1": false, "HANK=x\x00y": false,
	} {
		if got := hasEntry(block, []byte(entry)); got != want {
			t.Errorf("%q: %v", entry, got)
		}
	}
}

func TestSearchRefusesWhatIsNoVariable(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{{"", "x"}, {"A=B", "x"}, {"A\x00", "x"}, {"A", "x\x00y"}} {
		if _, err := WithEnv(c[0], c[1]); err == nil {
			t.Errorf("%q=%q was searched for", c[0], c[1])
		}
	}
}

func TestShownArgumentsAreShortAndKeepSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"claude"}, "claude"},
		{[]string{"claude", "-p", "do it"}, "claude -p do it"},
		{[]string{"x", "--api-key", "sk-123", "go"}, "x --api-key *** go"},
		{[]string{"x", "--token=abc", "TOKEN=abc", "a=b"}, "x --token=*** TOKEN=*** a=b"},
		{[]string{"curl", "-H", "Authorization: Bearer abc"}, "curl -H ***"},
		{[]string{"sh", "-c", "echo ghp_abc"}, "sh -c ***"},
		{[]string{"a\x1b[31m", "b\nc\x00\xff"}, "a [31m b c"},
		{[]string{"x", strings.Repeat("ü", 200)}, "x " + strings.Repeat("ü", 80) + "…"},
	} {
		if got := showArgs(c.args); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
}
