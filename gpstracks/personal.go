package gpstracks

import (
	"net/url"
	"path"
	"regexp"
)

// contact is an address of e-mail, or a telephone number: with + or 00, of a leading 0, or in three groups.
// Dates and times, which begin otherwise or are shorter, are none.
var contact = regexp.MustCompile(`(?i)[\p{L}\d._%+-]+(?:@|\s?[(\[]at[)\]]\s?)[\p{L}\d-]+(?:\.[\p{L}\d-]+)+` +
	`|(?:\+|\b00)[1-9](?:[ ()/.-]{0,2}\d){6,14}\b|\b0[1-9]\d{1,4}[ /-]\d(?:[ -]?\d){5,9}\b` +
	`|\b0[1-9]\d{8,9}\b|(?:\(\d{3}\) ?|\b\d{3}[-. ])\d{3}[-. ]\d{4}\b`)

// scrubbed is a text of at most n characters in which … stands for contacts.
func scrubbed(s string, n int) string { return shortened(contact.ReplaceAllString(s, "…"), n) }

// person is a part of an address behind which the name or number of a person stands, and personalHost one
// where hardly anything else is.
var (
	person = regexp.MustCompile(`(?i)(?:^|[/?&])(?:@|~|(?:athletes?|users?|profiles?|members?|people|person|account|author|u)[/=])[^/?&]`)

	personalHost = regexp.MustCompile(`(?i)(?:^|\.)(?:facebook|instagram|twitter|x|linkedin|tiktok|t|wa|vk)\.(?:com|me)$`)
)

// named is the end of a path that names a person.
var named = regexp.MustCompile(`(?i)/(?:[@~]|(?:athletes?|users?|profiles?|members?|people|person|account|author|u)/)[^/]+/?$`)

// ReferenceOf is the last part of a track's address, its number at the source. It is empty where that is a person's name or number.
func ReferenceOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || personalHost.MatchString(u.Hostname()) || named.MatchString(u.Path) {
		return ""
	}
	if id := path.Base(u.Path); id != "." && id != "/" && !contact.MatchString(id) {
		return id
	}
	return ""
}

// isPersonal reports an address that leads to a person rather than to a track.
func isPersonal(address string) bool {
	u, err := url.Parse(address)
	return err != nil || personalHost.MatchString(u.Hostname()) || person.MatchString(u.Path+"?"+u.RawQuery) ||
		contact.MatchString(u.Path+" "+u.RawQuery+" "+u.Fragment)
}
