package format

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hank/internal/secret"
	"hank/internal/term"
	"hank/plan/diagnostic"
)

// Group is what was found in one hank, or in the settings.
type Group struct {
	Name  string
	Found []diagnostic.Diagnostic
}

// Text is a diagnostic for people: what it says, and below, the line that it is about with
// a mark at the place, and what may help.
func Text(d diagnostic.Diagnostic) (head, body string) {
	hint := d.Hint
	d.Hint, d.File = "", Path(d.File)
	head = d.String()
	var below strings.Builder
	if before, after, found := d.Excerpt(); found && !hasSecret(before+after) {
		number := fmt.Sprintf("%5d", d.Line)
		fmt.Fprintf(&below, "%s | %s%s\n", number, before, after)
		fmt.Fprintf(&below, "%s | %s^\n", strings.Repeat(" ", len(number)), strings.Repeat(" ", term.Columns(before)))
	}
	if hint != "" {
		fmt.Fprintf(&below, "    hint: %s\n", hint)
	}
	return head, below.String()
}

// Path is a path as it is shown: quoted, if it has what a terminal does not show as it is.
func Path(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// hasSecret reports whether a line has what must not be shown.
func hasSecret(line string) bool { return secret.Text(line) != line || secret.Line(line) != line }

// GitHub is a diagnostic as a workflow command, which GitHub shows beside the line.
func GitHub(d diagnostic.Diagnostic) string {
	level := map[diagnostic.Severity]string{diagnostic.Error: "error", diagnostic.Warning: "warning"}[d.Severity]
	if level == "" {
		level = "notice"
	}
	place := "file=" + property(plainPath(d.File)) + ","
	if d.InNoFile() {
		place = ""
	}
	if d.Line > 0 {
		place += fmt.Sprintf("line=%d,col=%d,", d.Line, d.Column)
	}
	return fmt.Sprintf("::%s %stitle=%s::%s", level, place, property(d.Rule), message.Replace(withHint(d)))
}

var (
	message    = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	properties = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func property(text string) string { return properties.Replace(text) }

func withHint(d diagnostic.Diagnostic) string {
	if d.Hint == "" {
		return d.Message
	}
	return d.Message + "\n" + d.Hint
}

// plainPath is a path with slashes and without ./ in front.
func plainPath(file string) string { return strings.TrimPrefix(filepath.ToSlash(file), "./") }
