// Package sentinel reads the configuration of a sentinel: what it waits for, when it acts,
// what it asks its model, and which answers it takes.
//
//   - A Config is a configuration with the files that it refers to.
//   - An Event is an event of the journal as a sentinel sees it.
//   - A Watcher is a trigger with what it remembers of the events before.
//   - A Template is a prompt with places that are filled in for each batch of events.
//   - A Structure says which answers are taken, by a JSON Schema.
//
// All of it is pure: it opens no file, asks no clock but to bound its own work, and calls
// no model. A configuration is data: nothing in it is run.
package sentinel
