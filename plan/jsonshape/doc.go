// Package jsonshape compares JSON with tables and says where it differs.
//
//   - A [Document] is a JSON file with the line and column of everything in it.
//     [Read] continues after comments, trailing commas and a byte order mark, which
//     it reports.
//   - A [Shape] says what a value must look like. Shapes are built by functions
//     such as [Object], [Optional] and [Whole], and are never changed afterwards.
//   - A [Checker] compares the two. It reports each [Problem] once, with a hint
//     where a name is near another, and marks what is wrong: [Document.Sound] is
//     the JSON of the rest, which can be decoded.
//   - [Schema] writes a shape as JSON Schema, for editors.
//
// The rules that are reported are: syntax, byte-order-mark, comment,
// trailing-comma, trailing-data, duplicate-field, unknown-field, ignored-field,
// missing-field, wrong-type, bad-value, no-effect, and those set by [Shape.Under].
//
// The package knows nothing of hanks.
package jsonshape
