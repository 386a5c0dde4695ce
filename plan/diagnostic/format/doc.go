// Package format writes diagnostics down: for people, with the line that each is about,
// and for programs, as annotations of GitHub, as SARIF and as JUnit.
//
// A Group is the diagnostics of one hank, or of the settings. The package decides nothing:
// which diagnostics there are, and how severe each is, is decided before.
package format
