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
		"`hank land '--message=Fix the -e bug'` lands":               "hank land '--message=Fix the -e bug' -e 'a b' lands",
		"`hank land '--message=the `date` of -e'`, or `hank doctor`": "hank land '--message=the `date` of -e' -e 'a b', or hank doctor -e 'a b'",
		"`hank land '--message=it'\\''s `x`'` lands":                 "hank land '--message=it'\\''s `x`' -e 'a b' lands",
		"`hank log it's` shows it; `hank run` isn't needed":          "hank log it's -e 'a b' shows it; hank run -e 'a b' isn't needed",
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
	if got := Render(Quote("hank land '--message=a && hank `b`'"), " -e z"); got != "hank land '--message=a && hank `b`' -e z" {
		t.Errorf("a command with others in its quotes: %q", got)
	}
	if got := Quote("hank run `a`"); got != "hank run `a`" {
		t.Errorf("a command that runs another: %q", got)
	}
	for command, want := range map[string]string{"": "", "hank run": "hank run -e x", "hank run -e y": "hank run -e y", "hank land '-m=an -e bug'": "hank land '-m=an -e bug' -e x", "hank retry 'a#1' --adopt": "hank retry 'a#1' --adopt -e x"} {
		if got := Command(command, " -e x"); got != want {
			t.Errorf("%q becomes %q, want %q", command, got, want)
		}
	}
}
