package livemessage

// What tests use and no other package does.
type View = view

var Render = render
