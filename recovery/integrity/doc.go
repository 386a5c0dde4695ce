// Package integrity notices while agents are running that somebody else has changed
// hank's own files, and puts back what is known of them.
//
// An agent is the same user as hank, so nothing short of the sandbox keeps it out. A
// [Monitor] holds what hank's files were when the run began and what hank has made of them
// since: the modes of its directories, the lock file, the meta, and in the store the
// references and the small files. What differs is reported, quarantined and rewritten from
// memory. The journal and state.json belong to the write path, which compares and rewrites
// them itself and reports what it finds through the same Monitor. Git's objects and the
// transcripts are not in memory: a copy elsewhere, or the sandbox, protects those.
package integrity
