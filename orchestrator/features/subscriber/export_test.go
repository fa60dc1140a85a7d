package subscriber

// What tests use and no other package does.
type Event = event

var Sign = sign

const Type = eventType
