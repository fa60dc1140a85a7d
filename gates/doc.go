// Package gates judges whether a task may leave a stage. A check is a function
// of a Subject, which holds read-only facts with one timestamp, and answers
// with a Verdict: a tree with a reason and the evidence that it looked at.
//
// The zero Verdict is an error and never passes; a gate that panics, or that
// nobody registered, is an error too. So nothing passes by accident.
//
// The built-in checks are in gates/checks. A check of your own is a Gate; test
// it with testing/fstest.MapFS and the Static doubles, without a network.
package gates
