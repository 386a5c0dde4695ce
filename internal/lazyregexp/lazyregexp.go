// Package lazyregexp holds regular expressions that are compiled when they are
// first used. hank starts itself once for every codon; what a process of its
// own does not use must not cost it anything.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression of package regexp. Its methods are those of
// *regexp.Regexp and may be called by several goroutines.
type Regexp struct {
	text string
	get  func() *regexp.Regexp
}

// New returns the expression. One that is wrong panics at its first use.
func New(text string) *Regexp {
	return &Regexp{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (r *Regexp) String() string { return r.text }

func (r *Regexp) MatchString(s string) bool { return r.get().MatchString(s) }

func (r *Regexp) FindString(s string) string { return r.get().FindString(s) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.get().FindStringSubmatch(s) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.get().FindAllStringSubmatch(s, n)
}

func (r *Regexp) ReplaceAllString(src, repl string) string {
	return r.get().ReplaceAllString(src, repl)
}

func (r *Regexp) ReplaceAll(src, repl []byte) []byte { return r.get().ReplaceAll(src, repl) }

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int { return r.get().FindAllStringIndex(s, n) }

func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.get().FindAllStringSubmatchIndex(s, n)
}
