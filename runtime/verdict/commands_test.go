package verdict

import "testing"

func TestCommandsInATextAreForTheExecution(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no codon has failed; name the one to do again: hank retry CODON":                         "no codon has failed; name the one to do again: hank retry CODON -e 'a b'",
		"hank run --keep-tree takes it, or hank doctor --fix starts anew":                         "hank run --keep-tree -e 'a b' takes it, or hank doctor --fix -e 'a b' starts anew",
		"mv 'x y' z && hank run --restore":                                                        "mv 'x y' z && hank run --restore -e 'a b'",
		"the workspace changed; hank run --max-cost 0.9 goes on":                                  "the workspace changed; hank run --max-cost 0.9 -e 'a b' goes on",
		"hank restore . --from 0123456789ab --delete -e /x brings it back":                        "hank restore . --from 0123456789ab --delete -e /x brings it back",
		"choose: hank land --branch=late '--message=it is; late' --onto=0123456789ab lands there": "choose: hank land --branch=late '--message=it is; late' --onto=0123456789ab -e 'a b' lands there",
		"end it with: hank stop -e DIR":                                                           "end it with: hank stop -e DIR",
		"removed by hank gc on Monday; see: hank run --help":                                      "removed by hank gc on Monday; see: hank run --help",
		"start one with: hank run HANK":                                                           "start one with: hank run HANK",
		"hank runs as user 3; hank land needs git":                                                "hank runs as user 3; hank land needs git",
		"held by hank process 3 on vm (hank run; its folder is locked)":                           "held by hank process 3 on vm (hank run; its folder is locked)",
	} {
		if got := ForExecution(text, " -e 'a b'"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got := ForExecution(text, ""); got != text {
			t.Errorf("%q becomes %q without an option", text, got)
		}
	}
	for command, want := range map[string]string{"": "", "hank run": "hank run -e x", "hank run -e y": "hank run -e y", "hank retry 'a#1' --adopt": "hank retry 'a#1' --adopt -e x"} {
		if got := CommandForExecution(command, " -e x"); got != want {
			t.Errorf("%q becomes %q, want %q", command, got, want)
		}
	}
}
