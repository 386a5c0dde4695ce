package testkit

import "hank/checkpoint/worktree"

// GitLookalikes are names that git's fsck refuses, or takes for another name.
var GitLookalikes = []string{
	".GIT", ".Git", ".git ", ".git.", ".git...", ".git . .", ".git:stream", ".git::$INDEX_ALLOCATION", "git~1", "GIT~1", "GIT~1.",
	".g\u200cit", "\u200d.git", ".git\ufeff", ".git\xff", ".GIT\uffff", `a\.git`, `.git\hooks`, `x\GIT~1`, `..\.git `,
	".GITMODULES", ".gitmodules ", "gitmod~1", "GI7EBA~1", "gi7d29~2", ".gitattributes.", ".gitmod\u200cules", `a\.gitmodules`,
	worktree.EscapePrefix, worktree.EscapePrefix + "x", worktree.EscapePrefix + "%41", worktree.EscapePrefix + ".GIT",
}
