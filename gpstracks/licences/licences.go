// Package licences holds the licence records of this module's sources: one
// Markdown file a source, whose front matter says whether its tracks may be
// collected and shown. Package adapters/gpsfile reads them.
package licences

import "embed"

// Files are the records, <source>.md each.
//
//go:embed *.md
var Files embed.FS
