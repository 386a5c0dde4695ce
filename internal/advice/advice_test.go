package advice

import "testing"

func TestCommandsOfAMessageAreForTheExecution(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"name the codon: `hank retry CODON`":                         "name the codon: hank retry CODON -e 'a b'",
		"`hank run --keep-tree` keeps it, or `hank doctor --fix`":    "hank run --keep-tree -e 'a b' keeps it, or hank doctor --fix -e 'a b'",
		"`hank restore . --from 0123456789ab -e /x` restores it":     "hank restore . --from 0123456789ab -e /x restores it",
		"`hank land '--message=it is; late'` lands":                  "hank land '--message=it is; late' -e 'a b' lands",
		"see: `hank ls`, `hank run --help`, `hank validate`":         "see: hank ls, hank run --help, hank validate",
		"the file `hank.json` and `git log` stay, as does `hank run": "the file `hank.json` and `git log` stay, as does `hank run",
		"held by hank process 3 (hank run), removed by hank gc":      "held by hank process 3 (hank run), removed by hank gc",
		"no command of hank's is across\n`hank two\nlines`, that is": "no command of hank's is across\n`hank two\nlines`, that is",
		"": "",
	} {
		if got := Render(text, " -e 'a b'"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := Render("see: `hank doctor`", ""); got != "see: hank doctor" {
		t.Errorf("without an option: %q", got)
	}
	if got := Render(Quote("mkdir 'x y' && hank run")+" works", " -e z"); got != "mkdir 'x y' && hank run -e z works" {
		t.Errorf("a line of two commands: %q", got)
	}
	for command, want := range map[string]string{"": "", "hank run": "hank run -e x", "hank run -e y": "hank run -e y", "hank retry 'a#1' --adopt": "hank retry 'a#1' --adopt -e x"} {
		if got := Command(command, " -e x"); got != want {
			t.Errorf("%q becomes %q, want %q", command, got, want)
		}
	}
}
