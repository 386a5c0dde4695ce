//go:build race

package race

// Step is how far a test of many cases goes from one to the next.
const Step = 12
