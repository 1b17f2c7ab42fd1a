package rocketmq

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha1" // the protocol's, for signatures
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// What a request asks for.
const (
	askSend          = 10
	askPull          = 11
	askOffset        = 14
	askCreateTopic   = 17
	askBrokerConfig  = 26
	askBrokerRuntime = 28
	askMaxOffset     = 30
	askMinOffset     = 31
	askHeartbeat     = 34
	askUnregister    = 35
	askRoute         = 105
	askCreateGroup   = 200
	askConnections   = 203
	askTopic         = 351
	askGroup         = 352
	askPop           = 200050
	askAck           = 200051
	askInvisible     = 200053
)

const (
	// protocolVersion is that of a client of RocketMQ 5.1, as brokers number
	// them.
	protocolVersion = 453

	flagAnswer = 1
	flagOneWay = 2

	// maxFrame is more than a broker sends: 32 messages of 4 MiB.
	maxFrame = 160 << 20
)

// command is a request or an answer.
type command struct {
	code   int
	fields map[string]string
	body   []byte

	opaque int32 // which request it is, or answers
	flag   int
	remark string
}

// header is the part of a frame that is JSON.
type header struct {
	Code       int               `json:"code"`
	Flag       int               `json:"flag"`
	Language   string            `json:"language"`
	Opaque     int32             `json:"opaque"`
	Version    int               `json:"version"`
	Remark     string            `json:"remark,omitempty"`
	Fields     map[string]string `json:"extFields,omitempty"`
	Serialized string            `json:"serializeTypeCurrentRPC"`
}

func (c *command) encode() ([]byte, error) {
	head, err := json.Marshal(header{
		Code: c.code, Flag: c.flag, Language: "GO", Opaque: c.opaque, Version: protocolVersion,
		Remark: c.remark, Fields: c.fields, Serialized: "JSON",
	})
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 8+len(head)+len(c.body))
	out = binary.BigEndian.AppendUint32(out, uint32(4+len(head)+len(c.body)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head))) // the upper byte says JSON
	out = append(out, head...)
	return append(out, c.body...), nil
}

func readCommand(r *bufio.Reader) (*command, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	total, head := binary.BigEndian.Uint32(size[:4]), binary.BigEndian.Uint32(size[4:])
	kind, head := head>>24, head&0xffffff
	if total > maxFrame || total < 4+head || kind != 0 {
		return nil, fmt.Errorf("this is no answer of RocketMQ: %d bytes, %d of header, kind %d", total, head, kind)
	}
	frame := make([]byte, total-4)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	var h header
	if err := json.Unmarshal(frame[:head], &h); err != nil {
		return nil, fmt.Errorf("the header of an answer cannot be read: %w", err)
	}
	return &command{
		code: h.Code, flag: h.Flag, opaque: h.Opaque, remark: h.Remark, fields: h.Fields, body: frame[head:],
	}, nil
}

// sign adds what proves who asks: the hash covers every field and the body.
func (c *command) sign(key, secret string) {
	if key == "" {
		return
	}
	c.fields = maps.Clone(c.fields)
	if c.fields == nil {
		c.fields = map[string]string{}
	}
	c.fields["AccessKey"] = key
	hash := hmac.New(sha1.New, []byte(secret))
	for _, name := range slices.Sorted(maps.Keys(c.fields)) {
		_, _ = io.Copy(hash, strings.NewReader(c.fields[name])) // a hash has no errors
	}
	hash.Write(c.body)
	c.fields["Signature"] = base64.StdEncoding.EncodeToString(hash.Sum(nil))
}
