// Package startpoint decides how a command starts: which codon runs next, from which
// checkpoint, and what the user has to be asked before.
//
// A Situation is what was read; a Start is what follows from it, from the request and
// from the answers. Deciding is pure: the package reads nothing but its arguments and
// changes nothing. Package runtime carries a Start out.
package startpoint
