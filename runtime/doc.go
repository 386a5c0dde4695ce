// Package runtime drives a plan: it brings an execution into order, runs codon
// after codon, and makes every step a place to return to.
//
// run.go begins and ends a run, start.go decides where it goes on, driver.go goes
// through the plan. Everything that is remembered goes through
// execution.Execution; everything that is started goes through the keeper.
package runtime
