package web

// What tests use and no other package does.
type (
	Hastened  = hastened
	MadeAgain = madeAgain
)
