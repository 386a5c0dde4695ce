package packdb

// SHA names a git object: 40 lower-case hexadecimal digits, or "" for none.
type SHA string
