package proc

import (
	"errors"
	"testing"
)

// An orphan whose keeper was killed has the run itself as its parent.
func TestAnOrphanOfARunIsNoUser(t *testing.T) {
	t.Parallel()
	run := []string{"/usr/local/bin/hank", "run", "-e", "x"}
	keeper := []string{"hank", KeeperSubcommand, "attempt", "/w"}
	shell := []string{"bash"}
	for name, c := range map[string]struct {
		chain [][]string
		want  bool
	}{
		"a command of the user":               {[][]string{{"hank", "approve"}, shell}, false},
		"a child of a keeper":                 {[][]string{{"hank", "approve"}, keeper, run, shell}, false}, // which has its own mark
		"an orphan of a run":                  {[][]string{{"hank", "approve"}, run, shell}, true},
		"a descendant of one":                 {[][]string{{"hank", "approve"}, {"python3", "evil.py"}, run, shell}, true},
		"a run that another command detaches": {[][]string{run, {"hank", "run", "--detach"}, shell}, false},
		"a run that is detached, spelled out": {[][]string{run, {"hank", "run", "-detach=1"}, shell}, false},
		"an orphan of a run not detached":     {[][]string{{"hank", "approve"}, {"hank", "run", "--detach=false"}, shell}, true},
		"an orphan of a run with a note":      {[][]string{{"hank", "approve"}, {"hank", "run", "--detachment=x"}, shell}, true},
		"the run itself":                      {[][]string{run, shell}, false},
		"a shell that has the name":           {[][]string{{"hank", "approve"}, {"bash", "run"}, shell}, false},
		"a command of hank that runs nothing": {[][]string{{"hank", "approve"}, {"hank", "watch"}, shell}, false},
		"a process without a command line":    {[][]string{nil, run, shell}, true},
	} {
		if got := orphaned(c.chain); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What cannot be found is not trusted: a process is unknown where a system does not name it.
func TestAProcessThatIsUnknownMayNotAct(t *testing.T) {
	t.Parallel()
	var denied *DeniedError
	if err := MayAct(-1, "/", ""); !errors.As(err, &denied) {
		t.Errorf("it may: %v", err)
	}
}
