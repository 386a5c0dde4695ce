package worktree

// ModeType is the mask of a file's type in its mode, as stat(2) has it.
const ModeType = 0o170000

// ModeLink is the type of a symbolic link.
const ModeLink = 0o120000
