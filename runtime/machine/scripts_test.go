package machine

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/plan"
)

var asked = flag.Int("scripts.n", 100, "how many texts TestWhatIsParsableIsParsedByEveryShell gives to each shell")

// Texts of pieces of the grammar, in any order: what no process is started for, every
// shell of this machine can parse.
func TestWhatIsParsableIsParsedByEveryShell(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	pieces := append(strings.Fields("; ;; & && | || ( ) < > >> << <<- <<E E 2>&1 >&2 <& 1> <> $( ) ` \" ' \\ $x ${x} ${x:-y} ${x%.*} ${#x} $((1+2)) $(( )) ((  f() "+
		"a b x=1 x= a=( 0 12 # #c * ? [ ] [-f ~ ! - . : , @ = + é export local return set test echo $'a' $\"a\" ${x//a/b} ${!x} ${x:-' ${x:-\" \"${x- } $[ $[1] @(a) <( &> a) (a) a|b) for[ i a-b"), append(reserved, "for a-b in x; do a; done", "\n", "\n", "\t", "\r", "\x01", " ")...)
	rng := rand.New(rand.NewPCG(uint64(*asked), 1))
	var texts []string
	for tries := 0; len(texts) < *asked; tries++ {
		if tries > 1000**asked {
			t.Fatalf("only %d texts are parsable", len(texts))
		}
		var b strings.Builder
		for range 1 + rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
			if rng.IntN(4) > 0 {
				b.WriteByte(' ')
			}
		}
		if parsable(b.String()) {
			texts = append(texts, b.String())
		}
	}
	shells := 0
	for _, name := range []string{"sh", "dash", "bash", "busybox"} {
		shell, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		link := filepath.Join(t.TempDir(), "sh") // as which bash and busybox are POSIX shells
		if err := os.Symlink(shell, link); err != nil {
			t.Fatal(err)
		}
		shells++
		for _, text := range texts {
			if why := parse(t.Context(), link, os.Getenv("PATH"), text); why != "" {
				t.Errorf("%q needs no process, and %s says: %s", text, name, why)
			}
		}
	}
	if shells == 0 {
		t.Error("there is no shell")
	}
}

func TestWhatIsParsable(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "a; b", "a 'b' >c 2>&1", "if a; then b; fi", "for i in a b; do echo \"$i\"; done", "a | b && ! c &", "cat <<E\nx\nE\n", "x=$(a | b)", "[ -f a ] || exit 3",
		"set -eu\nmkdir -p a/b\necho $HANK_ITERATION >>a/b/c", "case $1 in a|b) c ;; *) d ;; esac"} {
		if !parsable(text) {
			t.Errorf("a process is started for %q", text)
		}
	}
	for _, text := range []string{"if x", "a 'b", "{ x", "! if", "else", "in a", "[[ a", "f() b", "a\r\nb", "a \\", "a >&2>&1", "x[", "$(", "case a in", "echo ${",
		"for a-b in x; do :; done", "for é in x; do :; done", `echo "${x:-'"'}"`, "echo \"${x-'`'}\"", `echo "${x:-'$('}"`, "echo $["} {
		if parsable(text) {
			t.Errorf("no process is started for %q", text)
		}
	}
}

func TestWhereAShellFindsAnError(t *testing.T) {
	t.Parallel()
	for complaint, want := range map[string]struct {
		line int
		rest string
	}{
		`/usr/bin/sh: 2: Syntax error: "fi" unexpected`:        {2, `Syntax error: "fi" unexpected`},
		"sh: line 3: syntax error near unexpected token `('":   {3, "syntax error near unexpected token `('"},
		`/bin/bash: line 12: unexpected EOF while looking for`: {12, `unexpected EOF while looking for`},
		`sh: syntax error: unterminated quoted string`:         {1, `syntax error: unterminated quoted string`},
		`something else`: {1, `something else`},
		`/usr/bin/sh: 7: Syntax error: Unterminated quoted string`: {7, `Syntax error: Unterminated quoted string`},
	} {
		if line, rest := place(complaint); line != want.line || rest != want.rest {
			t.Errorf("%s: got %d, %q", complaint, line, rest)
		}
	}
}

// What follows the line that ends a script is data.
func TestWhatFollowsTheEndOfAScriptIsNotParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\nexit 0 # done\n(data\nif": "a\nexit 0 # done\n",
		"exit\nif":                    "exit\n",
		"a\nif\nexit\n":               "",
		"if a; then\nexit 1; fi\nif":  "",
		"cat <<E\nexit\nE\nif":        "",
		"a\n exit\nif":                "",
	} {
		line := strings.Count(text, "\n") + 1
		if strings.HasPrefix(text, "a\nif") {
			line = 2
		}
		if got := ended(text, line); got != want {
			t.Errorf("%q ends with %q, want %q", text, got, want)
		}
	}
	scripts := []plan.Script{{ScriptText: &plan.ScriptText{Text: "a\nexit\n(data\nif"}}, {ScriptText: &plan.ScriptText{Text: "if a; then\nexit\n(data\nif"}}}
	problems := parseAll(t.Context(), "/bin/sh", os.Getenv("PATH"), scripts)
	if problems[scripts[0].ScriptText] != "" || problems[scripts[1].ScriptText] == "" {
		t.Errorf("%v", problems)
	}
}
