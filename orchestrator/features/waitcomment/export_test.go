package waitcomment

// What tests use and no other package does.
var Sentences = sentences
