# Reads the heads of Go source files and says what each of them is.
#
# Input:     one path per line, relative to the data folder: strings/reader.go
# Variables: os, arch (the platform to look at; cgo is off); the data folder is $DATA
# Output:    a row per file, separated by tabs:
#            package path, file, lines, used (yes or no: built on that platform),
#            package name, package comment (yes or no), imported paths (by spaces)
#
# It relies on the layout that gofmt gives a file. The rules of what is built are
# those of go/build: the name's _os and _arch, and the //go:build line.

BEGIN {
	FS = "\n"
	OFS = "\t"
	systems = "aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos"
	unix = "aix android darwin dragonfly freebsd hurd illumos ios linux netbsd openbsd solaris"
	archs = "386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm"
	set(systems, knownOS)
	set(archs, knownArch)
	set(unix, isUnix)
	if (!(os in knownOS) || !(arch in knownArch)) {
		print "files.awk: unknown platform " os "/" arch > "/dev/stderr"
		exit failed = 2
	}
}

{
	path = ENVIRON["DATA"] "/" $0
	reset()
	while ((status = (getline line < path)) > 0) {
		lines++
		if (!done) head(line)
	}
	close(path)
	if (status < 0) {
		print "files.awk: cannot read " path > "/dev/stderr"
		exit failed = 2
	}
	slash = 0
	for (i = length($0); i > 0 && !slash; i--) if (substr($0, i, 1) == "/") slash = i
	used = namefits(substr($0, slash + 1)) && evaluate(constraint) && !cgo && name != "documentation"
	print (slash ? substr($0, 1, slash - 1) : "."), $0, lines, used ? "yes" : "no", name, comment ? "yes" : "no", imports
}

function set(words, into,   list, n) {
	n = split(words, list, " ")
	while (n > 0) into[list[n--]] = 1
}

function reset() {
	lines = done = doc = block = group = cgo = comment = 0
	name = constraint = imports = ""
}

# head takes one line of a file's head. doc is 1 when the line before ended a comment.
function head(s) {
	if (block) {
		block = index(s, "*/") == 0
		doc = 1
	} else if (s ~ /^\/\/go:build /) {
		if (name == "") constraint = substr(s, 12)
	} else if (s ~ /^\/\//) {
		if (s !~ /^\/\/[a-z0-9]+:[a-z0-9]/ && s !~ /^\/\/[ \t]*$/) doc = 1
	} else if (s ~ /^\/\*/) {
		block = index(s, "*/") == 0
		doc = 1
	} else if (group && s ~ /^\)/) {
		group = 0
	} else if (group) {
		if (s !~ /^[ \t]*\/\//) imported(s)
	} else if (s ~ /^package /) {
		name = s
		sub(/^package[ \t]+/, "", name)
		sub(/[^A-Za-z0-9_].*$/, "", name)
		comment = doc
		doc = 0
	} else if (s ~ /^import[ \t]*\(/) {
		group = 1
	} else if (s ~ /^import[ \t]/) {
		imported(s)
	} else {
		if (s ~ /^(func|type|const|var)[ \t(]/) done = 1
		doc = 0
	}
}

function imported(s) {
	if (!match(s, /"[^"]+"/)) return
	s = substr(s, RSTART + 1, RLENGTH - 2)
	if (s == "C") cgo = 1
	else imports = imports (imports == "" ? "" : " ") s
}

# namefits looks at the parts of a file name behind its first underscore.
function namefits(file,   part, n, first) {
	sub(/\..*$/, "", file)
	first = index(file, "_")
	if (!first) return 1
	n = split(substr(file, first + 1), part, "_")
	if (n >= 2 && (part[n - 1] in knownOS) && (part[n] in knownArch)) return fits(part[n - 1]) && part[n] == arch
	if (part[n] in knownOS) return fits(part[n])
	return !(part[n] in knownArch) || part[n] == arch
}

# fits tells whether a system's name stands for the chosen system.
function fits(goos) {
	return goos == os || goos == "linux" && os == "android" || goos == "darwin" && os == "ios" || goos == "solaris" && os == "illumos"
}

# evaluate works out a //go:build expression; an empty one is true.
function evaluate(expr) {
	if (expr == "") return 1
	rest = expr
	advance()
	return either()
}

function advance() {
	sub(/^[ \t]+/, "", rest)
	if (rest == "" || !match(rest, /^(&&|\|\||!|\(|\)|[A-Za-z0-9_.]+)/)) {
		token = ""
		return
	}
	token = substr(rest, 1, RLENGTH)
	rest = substr(rest, RLENGTH + 1)
}

# The values are computed before they are joined: both sides must be consumed.
function either(   left, right) {
	left = both()
	while (token == "||") {
		advance()
		right = both()
		left = left || right
	}
	return left
}

function both(   left, right) {
	left = single()
	while (token == "&&") {
		advance()
		right = single()
		left = left && right
	}
	return left
}

function single(   value) {
	if (token == "!") {
		advance()
		return !single()
	}
	if (token == "(") {
		advance()
		value = either()
		advance()
		return value
	}
	value = tagged(token)
	advance()
	return value
}

function tagged(tag) {
	return tag == arch || tag == "gc" || tag == "unix" && (os in isUnix) || tag ~ /^go1\.[0-9]+$/ || (tag in knownOS) && fits(tag)
}
