package main

import (
	"regexp"
	"slices"
	"strings"
)

// A phrase is what hank does not write, and what it writes instead.
type phrase struct {
	pattern *regexp.Regexp
	instead string
	// unless are matches, with their surroundings, in which the words have another
	// meaning.
	unless []string
}

// phrases are the words of another dialect: most are correct English that has a
// standard term in technical writing.
var phrases = []phrase{
	{word(`behind`), "after", []string{"leave behind", "leaves behind", "left behind", "left it behind", "left something behind"}},
	{word(`(go|goes|gone|going|went) on`), "continue, resume, proceed", nil},
	{word(`at work`), "running, in progress", nil},
	{word(`anew`), "again, from scratch; recreate, rewrite, rebuild", nil},
	{word(`mend(s|ed|ing)?`), "repair, fix", nil},
	{word(`(hank|it|git|which|that|agent|run|codon|program|command|file|line|record|state|name|meta|journal|message) (says|said|say|has said)`), "prints, reports, shows, tells", nil},
	{word(`(you|to|nobody) (say|says)`), "run, use, give", nil},
	{word(`stands?`), "is, is located, appears", []string{"stand-in", "stand for", "stands for", "stand alone"}},
	{word(`lies (in|beside|next|there)`), "is inside, is next to", nil},
	{word(`verbs?`), "command, subcommand", nil},
	{word(`a person`), "you, the user", nil},
	{word(`nobody (is there|to ask)`), "not running interactively", nil},
	{word(`cut (off|short)`), "interrupted", nil},
	{word(`(take|takes|taken|taking|took) ((it|them|that|this|all of it) )?back`), "undo, revert", nil},
	{word(`for good`), "permanently", []string{"for good reason"}},
	{word(`in order`), "gracefully, cleanly; repair", []string{"in order to", "in order of", "in order:", "in order,", "loops, in order", "events in order"}},
	{word(`timelines?`), "lineage path", []string{"--only timelines", "timelines    checkpoints of", "*timelines*", "a timeline, plots"}},
	{word(`threads?`), "lineage path", []string{"OS thread", "threads of the keeper", "thread.started", "thread id"}},
	{word(`from before (it|them)`), "the state before it", nil},
	{word(`of (hank|git)'s( own)?`), "hank's own, Git's", nil},
	{word(`memories`), "copies, records", nil},
	{word(`(hank|hanks|codon|codons|plan) (is|are|was|were|has been) done`), "finished, completed", nil},
	{word(`folders?`), "directory", nil},
	{word(`give (the )?same command`), "run the same command again", nil},
	{word(`what was there`), "previous contents", nil},
}

// word compiles a pattern whose spaces are any white space and whose ends are ends
// of words.
func word(pattern string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(pattern, " ", `\s+`) + `\b`)
}

// published are literals whose text is part of a format and never changes, each
// with the format.
var published = map[string]string{
	"Hank-Empty-Folders: ": "a trailer of commit messages",
	"timelines":            "a kind of garbage: a value of gc --only and of its JSON",
}

// A match is a phrase in a text.
type match struct {
	offset  int
	text    string
	instead string
}

// matches finds the phrases of a text.
func matches(text string) []match {
	if _, ok := published[text]; ok {
		return nil
	}
	var all []match
	for _, p := range phrases {
		for _, at := range p.pattern.FindAllStringIndex(text, -1) {
			if !slices.ContainsFunc(p.unless, func(u string) bool { return surrounds(text, at, u) }) {
				all = append(all, match{at[0], strings.Join(strings.Fields(text[at[0]:at[1]]), " "), p.instead})
			}
		}
	}
	slices.SortFunc(all, func(a, b match) int { return a.offset - b.offset })
	return all
}

// surrounds reports whether the match at this place is a part of an occurrence of
// longer in the text.
func surrounds(text string, at []int, longer string) bool {
	for from := max(0, at[1]-len(longer)); from <= at[0] && from+len(longer) <= len(text); from++ {
		if strings.EqualFold(text[from:from+len(longer)], longer) {
			return true
		}
	}
	return false
}
