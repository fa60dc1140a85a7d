package telegram

// What tests use and no other package does.
var Render = render
