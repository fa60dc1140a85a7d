package projectfile

// What tests use and no other package does.
var ParsePipeline = parsePipeline
