// Package page makes the pages of hank web, as HTML, of what package report reads.
//
//   - A Place is what a page shows: a path and its query. Every place has an address.
//   - A fragment is the content of a page, in parts that a browser replaces one by one. It
//     says as of which event and time it is.
//   - An export is the same fragments of one execution in one file, without a script.
//
// All text reaches a page through templates that escape it for where it stands, and that
// mask secrets in every text they print: a template cannot forget it. So what an agent
// writes is only ever text.
//
// The package changes no execution, and computes no verdict: counts, states and costs
// are those of package report.
package page
