package diagnostic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hank/plan/jsonshape"
)

// naming is a message that names the field which it is about: one that does not do so
// by itself gets the name, from the codon or loop on, in front.
func naming(pointer, message string) string {
	steps := jsonshape.Steps(pointer)
	for i, step := range steps {
		if strings.ContainsFunc(step, func(r rune) bool { return !unicode.IsPrint(r) }) { // a line end would begin a line
			steps[i] = jsonshape.Quote(step)
		}
	}
	for len(steps) >= 2 && (steps[0] == "hank" || steps[0] == "codons") && isIndex(steps[1]) {
		steps = steps[2:]
	}
	last := len(steps) - 1
	for last >= 0 && isIndex(steps[last]) {
		last--
	}
	if last < 0 {
		return message
	}
	name := steps[last]
	if last > 0 && slices.Contains([]string{"shares", "env", "variables", "prices"}, steps[last-1]) { // it may be any word
		name = strconv.Quote(name)
	}
	if mentions(message, name) {
		return message
	}
	var field strings.Builder
	for i, step := range steps {
		switch {
		case isIndex(step):
			field.WriteString("[" + step + "]")
			continue
		case i > 0:
			field.WriteByte('.')
		}
		field.WriteString(step)
	}
	return shortened(field.String()) + ": " + message
}

// shortened is a field without its middle, where it is too long to be read.
func shortened(field string) string {
	if r := []rune(field); len(r) > 2*widestExcerpt {
		return string(r[:widestExcerpt]) + "…" + string(r[len(r)-widestExcerpt:])
	}
	return field
}

func isIndex(step string) bool {
	return step != "" && strings.Trim(step, "0123456789") == ""
}

// mentions reports whether a text has a name as a word.
func mentions(text, name string) bool {
	for at := 0; name != ""; at++ {
		i := strings.Index(text[at:], name)
		if i < 0 {
			break
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(name):])
		if !ofWord(before) && !ofWord(after) {
			return true
		}
	}
	return false
}

func ofWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Dollars is an amount for people: with two decimals, or with more where it is not
// in whole cents, for an amount that differs must not read the same.
func Dollars(f float64) string {
	if text := fmt.Sprintf("%.2f", f); fmt.Sprintf("%.6f", f) == text+"0000" {
		return "$" + text
	}
	return fmt.Sprintf("$%.6g", f)
}
