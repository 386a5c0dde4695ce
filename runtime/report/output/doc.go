// Package output is what commands print with --json: for each command a form, made of
// what the packages below report.
//
// A form has the names under which its members were published first, and beside them
// names that all forms share:
//
//   - A time is in a member whose name ends in At: RFC 3339 in UTC, with milliseconds.
//   - nextCommand is a command that a program may run as it is printed, nextAdvice what
//     a user is told to do; resumeCommand and finishCommand are commands, too.
//   - checkpointSha is the checkpoint that an object is about; other members that hold
//     an id of a commit end in Sha.
//   - A path that was made absolute ends in Path, one as it was typed in Given.
//   - runStatus and codonStatus are the status of a record; verdict is the word for people.
//   - Where there is none, these members are null. They are never left out.
//   - A form that comes with an exit code other than 0 has the reason in error.
//
// A test makes docs/schema/output of the types, with the published names that others stand
// beside now, and checks what every command prints in the scripts of cmd/hank against it.
//
// The package changes nothing and decides nothing: what it prints was found out below it.
package output
