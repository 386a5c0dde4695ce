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
