package rocketmq

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
)

// The parts of a record's system flag that matter here.
const (
	flagCompressed    = 1
	flagManyTags      = 1 << 1
	flagBornV6        = 1 << 4
	flagStoredV6      = 1 << 5
	flagCompression   = 7 << 8
	compressionLZ4    = 1 << 8
	compressionZSTD   = 2 << 8
	flagsOfTheContent = flagCompressed | flagManyTags | flagCompression
)

const (
	magicRecord   = 0xdaa320a7
	magicRecordV2 = 0xdaa320ab // with a longer topic

	// maxUnpacked bounds what a compressed body may grow to.
	maxUnpacked = 64 << 20
)

// record is a message as a broker stores it.
type record struct {
	topic      string
	queue      int
	offset     int64
	physical   int64 // in the broker's log: no other message there has the same
	flag       int
	sysFlag    int
	born       int64 // Unix ms
	stored     int64 // Unix ms
	reconsumed int
	body       []byte // as stored, maybe compressed
	properties properties
}

var errRecord = errors.New("rocketmq: a message of the broker cannot be read")

// readRecords reads messages that follow each other.
func readRecords(b []byte) (list []record, err error) {
	for len(b) > 0 {
		r := &recordReader{rest: b}
		size := int(r.uint32())
		if size < 4 || size > len(b) {
			return nil, errRecord
		}
		r.rest = b[4:size]
		m := r.record()
		if r.bad {
			return nil, errRecord
		}
		list, b = append(list, m), b[size:]
	}
	return list, nil
}

// recordReader remembers that something was missing, so that its caller reads
// as a list of fields.
type recordReader struct {
	rest []byte
	bad  bool
}

func (r *recordReader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad = true
		r.rest = nil
		return make([]byte, max(min(n, 8), 0))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *recordReader) uint32() uint32 { return binary.BigEndian.Uint32(r.bytes(4)) }
func (r *recordReader) int64() int64   { return int64(binary.BigEndian.Uint64(r.bytes(8))) }
func (r *recordReader) host(v6 bool) {
	if v6 {
		r.bytes(20)
		return
	}
	r.bytes(8)
}

func (r *recordReader) record() (m record) {
	magic := r.uint32()
	r.uint32() // the body's checksum
	m.queue = int(r.uint32())
	m.flag = int(int32(r.uint32()))
	m.offset, m.physical = r.int64(), r.int64()
	m.sysFlag = int(r.uint32())
	m.born = r.int64()
	r.host(m.sysFlag&flagBornV6 != 0)
	m.stored = r.int64()
	r.host(m.sysFlag&flagStoredV6 != 0)
	m.reconsumed = int(int32(r.uint32()))
	r.int64() // of a transaction
	m.body = r.bytes(int(int32(r.uint32())))
	topic := 0
	switch magic {
	case magicRecord:
		topic = int(r.bytes(1)[0])
	case magicRecordV2:
		topic = int(binary.BigEndian.Uint16(r.bytes(2)))
	default:
		r.bad = true
	}
	m.topic = string(r.bytes(topic))
	m.properties = readProperties(string(r.bytes(int(binary.BigEndian.Uint16(r.bytes(2))))))
	return m
}

// unpacked is the body as its producer had it. What Go's library cannot unpack
// stays as it is, and encoding says what it is.
func (m *record) unpacked() (body []byte, encoding string) {
	if m.sysFlag&flagCompressed == 0 {
		return m.body, ""
	}
	switch m.sysFlag & flagCompression {
	case compressionLZ4:
		return m.body, "lz4"
	case compressionZSTD:
		return m.body, "zstd"
	}
	z, err := zlib.NewReader(bytes.NewReader(m.body))
	if err != nil {
		return m.body, "deflate"
	}
	body, err = io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err != nil || len(body) > maxUnpacked {
		return m.body, "deflate"
	}
	return body, ""
}
