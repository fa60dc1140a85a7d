package trackhttp

import _ "embed" // openapi.json

// description is the layer by OpenAPI 3.1. A test holds it against the answers.
//
//go:embed openapi.json
var description []byte
