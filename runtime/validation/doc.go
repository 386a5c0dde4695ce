// Package validation judges hanks and the settings around them: hank validate.
//
// A Validation is the verdict on all that one command was given; a Hank is the verdict on
// one of them. What is wrong with a hank is package plan's to say, and what this machine
// lacks for it, package machine's. This package decides how severe it is for the one who
// asks, and whether the hank is valid. It writes nothing.
package validation
