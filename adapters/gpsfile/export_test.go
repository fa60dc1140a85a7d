package gpsfile

// What tests use and no other package does.
var (
	Sources  = sources
	Regions  = regions
	Licences = licences
)
