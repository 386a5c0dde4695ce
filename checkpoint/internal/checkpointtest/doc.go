// Package checkpointtest is a store with a workspace for tests: it writes files, takes
// checkpoints, and compares them with an oracle that reads every byte and with stock git.
// No product code imports it.
package checkpointtest
