// Package guard decides which HTTP requests reach the page of hank web, and what a
// browser may do with the answers.
//
// It is a chain of checks around one handler. A request passes them in this order; the
// first one that refuses answers, and the handler never sees the request:
//
//  1. Host: the header is in an exact list. A page of another name that resolves to this
//     machine (DNS rebinding) is refused, whatever its origin says.
//  2. Origin and Sec-Fetch-Site, where a browser sends them: no other page asks. The
//     check of net/http comes first, and ours takes less.
//  3. Method: GET and HEAD look, POST acts, and there is no other. A handler of GET
//     changes nothing.
//  4. Token: 256 random bits in the header Authorization, never in a cookie or a URL that
//     is sent. Only the files of the program itself, which say nothing of any
//     execution, are answered without.
//  5. Capability: one token looks, another one acts.
//  6. Caller: to act, the process that asks must be known, and must be nobody's agent.
//
// The answers carry headers that keep a browser from running, framing, embedding or
// storing what is in them. There is no header that lets another origin read them.
//
// The package knows no execution. It reads nothing but the request and writes nothing
// but the answer.
package guard
