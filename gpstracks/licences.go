package gpstracks

import "embed"

// Licences are the licence records of this module's sources, licences/<source>.md each: their front matter
// says whether its tracks may be collected and shown. Package adapters/gpsfile reads them.
//
//go:embed licences/*.md
var Licences embed.FS
