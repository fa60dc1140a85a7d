package egress

// What tests use and no other package does.
type Proxy = proxy

var Listen = listen
