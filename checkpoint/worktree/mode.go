package worktree

const ModeType = 0o170000

const ModeLink = 0o120000
