package rocketmq

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"reflect"
	"testing"
)

// encoded is a record as a broker sends it.
func encoded(m record) []byte {
	be := binary.BigEndian
	b := be.AppendUint32(make([]byte, 4), magicRecord)
	b = be.AppendUint32(b, 0)
	b = be.AppendUint32(b, uint32(m.queue))
	b = be.AppendUint32(b, uint32(m.flag))
	b = be.AppendUint64(be.AppendUint64(b, uint64(m.offset)), uint64(m.physical))
	b = be.AppendUint32(b, uint32(m.sysFlag))
	host := make([]byte, 8)
	if m.sysFlag&flagBornV6 != 0 {
		host = make([]byte, 20)
	}
	b = append(be.AppendUint64(b, uint64(m.born)), host...)
	b = append(be.AppendUint64(b, uint64(m.stored)), make([]byte, 8)...)
	b = be.AppendUint32(b, uint32(m.reconsumed))
	b = be.AppendUint64(b, 0)
	b = append(be.AppendUint32(b, uint32(len(m.body))), m.body...)
	b = append(append(b, byte(len(m.topic))), m.topic...)
	p := m.properties.text()
	b = append(be.AppendUint16(b, uint16(len(p))), p...)
	be.PutUint32(b, uint32(len(b)))
	return b
}

func TestReadRecords(t *testing.T) {
	first := record{topic: "T", queue: 3, offset: 1 << 40, physical: 9, flag: 5, born: 10, stored: 11, reconsumed: 2, body: []byte("a"), properties: properties{"k": "v"}}
	second := record{topic: "T", sysFlag: flagBornV6, body: []byte{}, properties: properties{}}
	wire := append(encoded(first), encoded(second)...)
	list, err := readRecords(wire)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d, %v", len(list), err)
	}
	if !reflect.DeepEqual(list[0], first) {
		t.Errorf("%+v, not %+v", list[0], first)
	}
	for cut := 1; cut < len(wire); cut++ {
		if cut == len(encoded(first)) {
			continue
		}
		if _, err := readRecords(wire[:cut]); err == nil {
			t.Errorf("%d of %d bytes were read", cut, len(wire))
		}
	}
}

func FuzzReadRecords(f *testing.F) {
	f.Add(encoded(record{topic: "T", body: []byte("a"), properties: properties{"k": "v"}}))
	f.Fuzz(func(t *testing.T, wire []byte) {
		list, err := readRecords(wire)
		for i := range list {
			m := list[i].message()
			if err == nil && m.Attempt != 1 {
				t.Errorf("attempt %d", m.Attempt)
			}
		}
	})
}

func TestUnpacked(t *testing.T) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		m              record
		body, encoding string
	}{
		"plain":   {record{body: []byte("text")}, "text", ""},
		"zlib":    {record{body: packed.Bytes(), sysFlag: flagCompressed}, "text", ""},
		"broken":  {record{body: []byte("text"), sysFlag: flagCompressed}, "text", "deflate"},
		"LZ4":     {record{body: []byte("x"), sysFlag: flagCompressed | compressionLZ4}, "x", "lz4"},
		"Zstd":    {record{body: []byte("x"), sysFlag: flagCompressed | compressionZSTD}, "x", "zstd"},
		"a hint ": {record{body: []byte("text"), sysFlag: compressionZSTD}, "text", ""},
	} {
		body, encoding := tc.m.unpacked()
		if string(body) != tc.body || encoding != tc.encoding {
			t.Errorf("%s: %q, %q", name, body, encoding)
		}
	}
}
