// Package race tells tests of many cases whether the race detector is on.
//
// It makes them up to ten times slower, and looks at what runs at the same time, which
// is the same in each case. So they take one case in Step with it, and scripts/test
// runs them once more without it, with all cases.
package race
