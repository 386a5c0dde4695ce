// Package modeltest holds the random model test: a simple model of an
// execution beside the real program, and random operations on both.
//
// The model is written from the documents, not from the code, and shares
// nothing with it. It knows
//
//   - trees: what stands at each path of the workspace, empty directories too
//     (tree_test.go);
//   - programs: codons that put, append, delete, link and ignore files, cost
//     money, track a part of the workspace, have a rig, an archive or a gate, and fail
//     on request; some are in a loop, which ends by its limit, by a command, or by the
//     votes of a codon, and may have a gate; their author adds codons anywhere, removes
//     some and changes the order (program_test.go);
//   - places: a tree, the codon that is next, the verdict, the frozen program, and the
//     lineage path: how codons have ended, and the tree before each. What is finished, and
//     so what is next, follows from path and program (model_test.go).
//
// Operations (operations_test.go) do one thing to both; checks (check_test.go)
// compare them. Where the documents leave something open, the model holds a
// doubt: a set of nodes that may stand at a path. What is observed ends it.
// Where hank asks (exit code 4), the model must know why, and answers.
//
// What is asked at a gate is about the work that it judges: the model knows what was
// answered about which, so that it tells after each move whether the gate asks again.
//
// Some commands have an operation ID (repeat_test.go): given again at any later time they
// must do nothing and answer the same.
//
// What a dry run has said of a command just before it is compared with what the command did
// (foretold_test.go): whether it asks, with which code it ends before it runs anything, and which
// codon it runs first; of a move, which paths it adds, changes and deletes.
//
// Scripts write what they do into a log outside of the workspace, so that the
// test knows which codon began when, whatever the execution says about it.
//
// A failure prints the seed and the operations as shell commands. They can be
// run again in the directory that is kept with HANK_MODEL_KEEP=DIR.
//
// Not modelled: votes of trees, votes that fail, budgets, agents other than scripts, data, output files,
// a workspace elsewhere, and edits by hand between a crash and the next run.
package modeltest
