package outbox

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// newID makes a UUID of version 7: its first 48 bits are the time in
// milliseconds, so that ids which are made one after the other lie side by side
// in an index. Nothing depends on their order.
func newID(at time.Time) string {
	var u [16]byte
	_, _ = rand.Read(u[6:]) // never fails: see crypto/rand
	binary.BigEndian.PutUint16(u[0:], uint16(at.UnixMilli()>>32))
	binary.BigEndian.PutUint32(u[2:], uint32(at.UnixMilli()))
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return formatID(u)
}

func formatID(u [16]byte) string {
	var text [36]byte
	hex.Encode(text[0:8], u[0:4])
	hex.Encode(text[9:13], u[4:6])
	hex.Encode(text[14:18], u[6:8])
	hex.Encode(text[19:23], u[8:10])
	hex.Encode(text[24:36], u[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return string(text[:])
}

// laneOf puts all rows of one ordering key into one lane, and spreads those
// without a key by their id. Rows that are there already rely on it: it must
// never change. It is FNV-1a of 32 bits.
func laneOf(orderingKey, id string) int {
	text := orderingKey
	if text == "" {
		text = id
	}
	hash := uint32(2166136261)
	for i := range len(text) {
		hash = (hash ^ uint32(text[i])) * 16777619
	}
	return int(hash % store.Lanes)
}
