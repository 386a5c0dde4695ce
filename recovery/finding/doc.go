// Package finding has the words of a diagnosis: what was found, how severe it is, and
// the decision that only the user can make, with the options and the command for each.
//
// It holds data alone and does nothing.
package finding
