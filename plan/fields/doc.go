// Package fields has the tables of the files that users write: hank.json,
// hankweave.json and the configuration files of sentinels. A table says which
// fields an object has, which values they take, and what they are for. The
// checks and hints of package plan use them, and so does the JSON Schema that is
// published for editors.
package fields
