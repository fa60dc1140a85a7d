package trackfile_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

// The parts of FIT files, byte by byte as the protocol's description has them: the decoder under test
// has an encoder too, and what one forgets the other does not write.
const (
	// local 0: record, little endian: timestamp, latitude, longitude
	defineRecord = "\x40\x00\x00\x14\x00\x03" + "\xfd\x04\x86" + "\x00\x04\x85" + "\x01\x04\x85"
	// local 1: with two bytes of developer field 0 of index 0
	defineOdd = "\x61\x00\x00\x14\x00\x02" + "\x00\x04\x85" + "\x01\x04\x85" + "\x01" + "\x00\x02\x00"
	oddRecord = "\x01\x00\x00\x00\x20\x00\x00\x00\x05\xaa\xbb"
	// local 2: developer_data_id of index 0; local 3: field_description of index 0, number 0, without a base type that is valid
	described = "\x42\x00\x00\xcf\x00\x01" + "\x03\x01\x02" + "\x02\x00" + "\x43\x00\x00\xce\x00\x03" + "\x00\x01\x02" + "\x01\x01\x02" +
		"\x02\x01\x02" + "\x03\x00\x00\xff"
)

func fitRecords(n int) string {
	var b []byte
	for i := range n {
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint32(b, uint32(1_000_000_000+i))
		b = binary.LittleEndian.AppendUint32(b, uint32(0x20000000+i*10_000))
		b = binary.LittleEndian.AppendUint32(b, 0x05000000)
	}
	return string(b)
}

// fitSum is the checksum of the protocol's description, by its table of half bytes.
func fitSum(body string) string {
	table := [16]uint16{
		0x0000, 0xCC01, 0xD801, 0x1400, 0xF001, 0x3C00, 0x2800, 0xE401, 0xA001, 0x6C00, 0x7800, 0xB401, 0x5000, 0x9C01, 0x8801, 0x4400,
	}
	var sum uint16
	for _, b := range []byte(body) {
		sum = sum>>4&0x0fff ^ table[sum&0xf] ^ table[b&0xf]
		sum = sum>>4&0x0fff ^ table[sum&0xf] ^ table[b>>4]
	}
	return string(binary.LittleEndian.AppendUint16(nil, sum))
}

// fitFile is a whole file. The header has a checksum, or 0 in its place, when it has 14 bytes.
func fitFile(header byte, summed bool, data string) string {
	head := []byte{header, 0x10, 0x64, 0x00}
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(data))), ".FIT"...)
	switch {
	case header == 14 && summed:
		head = append(head, fitSum(string(head))...)
	case header == 14:
		head = append(head, 0, 0)
	}
	body := string(head) + data
	return body + fitSum(body)
}

// fitActivity is a whole file of n points.
func fitActivity(n int) string { return fitFile(14, true, defineRecord+fitRecords(n)) }

// What devices write is read, whole or up to where it ends; what was damaged is refused.
func TestFITOfDevices(t *testing.T) {
	t.Parallel()
	data := defineRecord + fitRecords(5)
	short, unsummed := fitFile(12, false, data), fitFile(14, false, data)
	wrong := []byte(fitActivity(5))
	wrong[40] ^= 1
	for name, c := range map[string]struct {
		body, want string
		cut        bool
	}{
		"14 bytes":           {fitActivity(5), "a [FIT] :5", false},
		"12 bytes":           {short, "a [FIT] :5", false},
		"no sum":             {unsummed, "a [FIT] :5", false},
		"chained":            {short + unsummed, "a [FIT] :5 :5", false},
		"cut":                {short[:12+len(defineRecord)+13*2+4], "a [FIT] :2", true},
		"without a size":     {short[:4] + "\x00\x00\x00\x00" + short[8:len(short)-2], "a [FIT] :5", true},
		"cut before its sum": {unsummed[:len(unsummed)-2], "a [FIT] :5", true},
		"no point":           {short[:20], "a [FIT] FIT: the file is damaged: decode message [byte pos: 18]: EOF", false},
		"wrong sum":          {string(wrong), "a [FIT] FIT: the file is damaged: its checksum is not that of its bytes", false},
		"developer fields": {fitFile(12, false, defineRecord+defineOdd+fitRecords(1)+oddRecord+described+oddRecord+fitRecords(1)),
			"a [FIT] :4", false},
	} {
		require.Equal(t, c.want, strings.Join(summary("a", strings.NewReader(c.body), trackfile.Limits{}), "|"), name)
		for d := range trackfile.Read("a", strings.NewReader(c.body), trackfile.Limits{}) {
			for _, track := range d.Tracks {
				require.Equal(t, c.cut, track.CutOff, name)
			}
		}
	}
}
