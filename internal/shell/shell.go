// Package shell writes words into command lines that people copy.
package shell

import "strings"

// Quote returns a word as a POSIX shell reads it: unchanged where that is safe,
// else in single quotes.
func Quote(word string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"
	if word != "" && strings.Trim(word, safe) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Path is Quote of a path: one that begins with - has ./ before it, so that no command
// takes it for an option.
func Path(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return Quote(path)
}
