// Package prompt asks the user on a terminal.
//
// A question has answers, of which one may be the default, and perhaps a difference
// that the user can look at first. It repeats until it is answered or cancelled.
// Cancelled is a question by q, by the keys that interrupt, quit or end the input, and
// by a signal that ends programs: all of them are the same to who asks, and the signal
// that a key would send is not sent.
//
// Only what is typed after a question was shown answers it. Lines that are there
// before, such as the rest of a pasted block, were not meant for it: an optional
// question is then not asked and leaves them to the shell, and any other discards
// them, since they were written in the belief that nothing would be asked.
//
// The package changes nothing but the mode of the terminal, which it puts back, and
// decides nothing: what an answer means is up to who asks.
package prompt
