// Package frontmatter splits a prompt file into the description at its top,
// between two lines of three dashes, and the prompt. It joins texts to a prompt, takes
// off what is no part of one, and judges what is left.
//
// It understands the part of YAML that front matter is made of, and never refuses a
// text: what it cannot read it names.
package frontmatter
