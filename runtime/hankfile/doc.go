// Package hankfile reads the author's hank and compares it with the copy that an
// execution has frozen.
//
// It finds the file, reads it under the settings that hold, and says in what a changed
// hank differs and what is asked about it. It writes nothing: freezing and adopting are
// package runtime's.
package hankfile
