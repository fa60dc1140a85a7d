package egress

import "net/netip"

// closed are the blocks that lead to this machine, its networks, or through an address within
// the address, beside those that package netip names.
func closed() []netip.Prefix {
	var out []netip.Prefix
	for _, block := range []string{
		// This network, carriers, protocols, tests, reserved.
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4",
		// Compatible, local translation, discard, Teredo, 6to4, site.
		"::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2002::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(block))
	}
	return out
}

// inner is the IPv4 address within an address, if there is one: 64:ff9b::/96 is the block in which an IPv6 network shows them.
func inner(a netip.Addr) netip.Addr {
	if a = a.Unmap(); netip.MustParsePrefix("64:ff9b::/96").Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// public reports whether an address is one of the internet: none of this machine, its networks,
// its cloud's metadata, or a group.
func public(a netip.Addr) bool {
	a = inner(a)
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" {
		return false
	}
	for _, block := range closed() {
		if block.Contains(a) {
			return false
		}
	}
	return true
}

// metadata reports whether an address is one at which a cloud tells a machine who it is, or is of the link: what is
// said there is the operator's, and no list allows it.
func metadata(a netip.Addr) bool {
	a = inner(a)
	switch a.WithZone("").String() {
	case "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254":
		return true
	}
	return a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast()
}
