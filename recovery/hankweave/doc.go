// Package hankweave reads the event journal that the compatible system has left in a
// directory, so that its executions can be adopted. It writes nothing.
//
//   - Hankweave is the system whose executions, hank.json files and state.json hank can
//     continue (docs/compatibility.md).
//   - A foreign journal is one of its own: lines without the number and the checksum
//     that every event of hank's has, or packed after a run's end.
//   - A foreign event is one such line.
//
// Its state.json is read by package state, and what an adoption changes is recorded by
// package recovery.
package hankweave
