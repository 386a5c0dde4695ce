//go:build !unix

package replay

// dieBy returns the exit status that stands for a death by signal, which this
// platform does not have.
func dieBy(string) int { return 137 }
