package checks

// What tests use and no other package does.
var StripMarkup = stripMarkup
