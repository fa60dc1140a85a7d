package access

var ParseGrant = parseGrant
