// Package system tells the benchmarks what they run on, and how much a process takes, and
// runs programs without syncs. What a system does not tell is empty or 0.
//
// It measures nothing and writes no file.
package system
