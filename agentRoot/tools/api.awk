# Lists what Go source files export.
#
# Input:     rows "package path <tab> file", the file relative to the data folder
# Variables: the data folder is $DATA
# Output:    a row per exported identifier, separated by tabs:
#            package path, kind (const, func, method, type, var), name,
#            documented (yes or no), file:line
#
# It relies on the layout that gofmt gives a file: declarations start in the first
# column, names in a group behind exactly one tab. What counts as documented:
#   func, method, type  a comment directly above, or above the group
#   const, var          also a comment at the end of the line, and a comment above
#                       a run of names inside a group, up to the next blank line
# Comments that only instruct a tool (//go:noinline) do not count. Methods count
# if their receiver's type is exported; fields and methods of interfaces do not.

BEGIN { FS = OFS = "\t" }

{
	package = $1
	file = $2
	path = ENVIRON["DATA"] "/" file
	number = doc = groupdoc = rundoc = 0
	group = inside = ""
	while ((status = (getline line < path)) > 0) {
		number++
		if (inside != "") leave(line)
		else take(line)
	}
	close(path)
	if (status < 0) {
		print "api.awk: cannot read " path > "/dev/stderr"
		exit 2
	}
}

# leave takes a line that starts inside a raw string or a block comment.
function leave(s,   at, wascomment) {
	wascomment = inside == "*/"
	at = index(s, inside)
	doc = wascomment
	if (!at) return
	s = substr(s, at + length(inside))
	inside = ""
	enter(s)
}

# enter notices that a line leaves a raw string or a block comment open.
function enter(s,   mark, at) {
	while (match(s, /["'`]|\/\/|\/\*/)) {
		mark = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		if (mark == "//") return
		if (mark == "/*") mark = "*/"
		if (mark == "\"" && match(s, /^([^"\\]|\\.)*"/) || mark == "'" && match(s, /^([^'\\]|\\.)*'/)) {
			s = substr(s, RLENGTH + 1)
		} else if (mark == "`" || mark == "*/") {
			at = index(s, mark)
			if (!at) {
				inside = mark
				return
			}
			s = substr(s, at + length(mark))
		}
	}
}

function take(s) {
	if (s == "") {
		doc = rundoc = 0
		return
	}
	if (s ~ /^\t?\/\//) {
		if (speaks(s)) doc = 1
		return
	}
	if (s ~ /^\t?\/\*/) doc = 1
	else if (group != "") member(s)
	else declaration(s)
	if (index(s, "`") || index(s, "/*")) enter(s)
}

# speaks tells whether a comment says something to people.
function speaks(s) {
	sub(/^\t/, "", s)
	return s !~ /^\/\/([a-z0-9]+:[a-z0-9]|line |extern |export )/ && s !~ /^\/\/[ \t]*$/
}

function declaration(s,   kind) {
	if (s ~ /^func /) {
		func_(s)
	} else if (match(s, /^(const|type|var) /)) {
		kind = substr(s, 1, RLENGTH - 1)
		s = substr(s, RLENGTH + 1)
		if (s ~ /^\($/ || s ~ /^\([ \t]*\/\//) {
			group = kind
			groupdoc = doc
			rundoc = 0
		} else {
			names(kind, s, doc || kind != "type" && trailing(s))
		}
	}
	doc = 0
}

function func_(s,   receiver) {
	sub(/^func /, "", s)
	if (s !~ /^\(/) {
		names("func", s, doc)
		return
	}
	receiver = substr(s, 2, index(s, ")") - 2)
	s = substr(s, index(s, ")") + 1)
	sub(/\[.*$/, "", receiver)
	sub(/^.*[ *]/, "", receiver)
	sub(/^ /, "", s)
	if (receiver ~ /^[A-Z]/ && match(s, /^[A-Z][A-Za-z0-9_]*/)) emit("method", receiver "." substr(s, 1, RLENGTH), doc)
}

# member takes a line of a group: const ( ... ).
function member(s) {
	if (s ~ /^\)/) {
		group = ""
	} else if (s ~ /^\t[A-Za-z_]/) {
		if (group != "type" && doc) rundoc = 1
		names(group, substr(s, 2), groupdoc || doc || rundoc || group != "type" && trailing(s))
	}
	doc = 0
}

# names emits the exported ones of the names that a line begins with.
function names(kind, s, documented,   name) {
	while (match(s, /^[A-Za-z_][A-Za-z0-9_]*/)) {
		name = substr(s, 1, RLENGTH)
		s = substr(s, RLENGTH + 1)
		if (name ~ /^[A-Z]/) emit(kind, name, documented)
		if ((kind != "const" && kind != "var") || !sub(/^,[ \t]*/, "", s)) return
	}
}

function emit(kind, name, documented) {
	print package, kind, name, documented ? "yes" : "no", file ":" number
}

# trailing tells whether a comment follows the code of a line.
function trailing(s) {
	if (!index(s, "//") && !index(s, "/*")) return 0
	gsub(/"([^"\\]|\\.)*"/, "", s)
	gsub(/`[^`]*`/, "", s)
	return s ~ /\/\/[ \t]*[^ \t]/ || s ~ /\/\*/
}
