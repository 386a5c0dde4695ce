package steps

import "hank/internal/lazyregexp"

// destroyers are commands that hardly anybody wants in an automatic step.
var destroyers = []*lazyregexp.Regexp{
	lazyregexp.New(`\brm\s+(-[a-zA-Z-]+\s+)*-[a-zA-Z]*[rR][a-zA-Z]*\s+(-[a-zA-Z-]+\s+)*["']?(/|~/?|\$HOME/?|\$\{HOME\}/?|/\*)["']?(\s|;|&|\||$)`),
	lazyregexp.New(`>\s*/dev/(sd[a-z]|nvme\d|vd[a-z]|hd[a-z]|disk\d)`),
	lazyregexp.New(`\bdd\b[^;&|\n]*\bof=/dev/`),
	lazyregexp.New(`\bmkfs(\.\w+)?\s`),
	lazyregexp.New(`(?i)\bformat\s+[a-z]:`),
	lazyregexp.New(`(?i)\bdel\s+(/\w\s+)*/s\b`),
	lazyregexp.New(`:\(\)\s*\{\s*:\s*\|\s*:`),
}

// Destroyer is the part of a command that hardly anybody wants in an automatic step; empty if
// there is none.
func Destroyer(command string) string {
	for _, d := range destroyers {
		if found := d.FindString(command); found != "" {
			return found
		}
	}
	return ""
}
