package postgres

import (
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// array writes slices as PostgreSQL reads them, element by element without boxing
// each: a transaction of the writer is a few statements with very many of them, which
// the server waits for. What it reads, and what else is written, is left to pgx.
type array[T any] struct {
	pgtype.Codec

	element uint32 // its OID
	appends func([]byte, T) []byte
}

// PlanEncode implements pgtype.Codec.
func (a array[T]) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ours := value.([]T); ours && format == pgtype.BinaryFormatCode {
		return a
	}
	return a.Codec.PlanEncode(m, oid, format, value)
}

// Encode implements pgtype.EncodePlan.
func (a array[T]) Encode(value any, buf []byte) ([]byte, error) {
	list, _ := value.([]T) // PlanEncode has looked
	if list == nil {
		return nil, nil // null
	}
	dimensions, nulls := uint32(1), uint32(1) // that there may be nulls
	if len(list) == 0 {
		dimensions = 0
	}
	buf = binary.BigEndian.AppendUint32(buf, dimensions)
	buf = binary.BigEndian.AppendUint32(buf, nulls)
	buf = binary.BigEndian.AppendUint32(buf, a.element)
	if len(list) == 0 {
		return buf, nil
	}
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(list)))
	buf = binary.BigEndian.AppendUint32(buf, 1) // the first index
	for _, v := range list {
		buf = a.appends(buf, v)
	}
	return buf, nil
}

const nullElement = ^uint32(0)

func appendInt8(buf []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(buf, 8), uint64(v))
}

func appendText(buf []byte, v string) []byte {
	return append(binary.BigEndian.AppendUint32(buf, uint32(len(v))), v...)
}

func appendBytes(buf, v []byte) []byte {
	if v == nil {
		return binary.BigEndian.AppendUint32(buf, nullElement)
	}
	return append(binary.BigEndian.AppendUint32(buf, uint32(len(v))), v...)
}

func appendTime(buf []byte, v *time.Time) []byte {
	if v == nil {
		return binary.BigEndian.AppendUint32(buf, nullElement)
	}
	return appendInt8(buf, v.UnixMicro()-epoch)
}

// epoch is where PostgreSQL counts from, 2000-01-01, in microseconds of Unix.
const epoch = 946_684_800_000_000

// quickArrays lets a connection write the arrays of the writer quickly.
func quickArrays(conn *pgx.Conn) {
	types := conn.TypeMap()
	for name, codec := range map[string]func(pgtype.Codec) pgtype.Codec{
		"_int8":        func(c pgtype.Codec) pgtype.Codec { return array[int64]{c, pgtype.Int8OID, appendInt8} },
		"_text":        func(c pgtype.Codec) pgtype.Codec { return array[string]{c, pgtype.TextOID, appendText} },
		"_bytea":       func(c pgtype.Codec) pgtype.Codec { return array[[]byte]{c, pgtype.ByteaOID, appendBytes} },
		"_timestamptz": func(c pgtype.Codec) pgtype.Codec { return array[*time.Time]{c, pgtype.TimestamptzOID, appendTime} },
	} {
		if t, ok := types.TypeForName(name); ok {
			types.RegisterType(&pgtype.Type{Name: t.Name, OID: t.OID, Codec: codec(t.Codec)})
		}
	}
}
