package rocketmq

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// What the plain client asks for.
const (
	askSend        = 10
	askTopicMade   = 17
	askRoute       = 105
	askGroupMade   = 200
	askGroupGone   = 207
	askTopicGone   = 215
	askTopicUnsaid = 216 // in the name server
)

type fields = map[string]string

// plain is a client of nothing but the protocol, for what producers and
// operators do. It shares no code with the driver.
type plain struct {
	mu     sync.Mutex
	conn   net.Conn
	opaque int
}

func connect(addr string) (*plain, error) {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &plain{conn: c}, nil
}

func (p *plain) close() { p.conn.Close() }

// ask sends a request and waits for its answer.
func (p *plain) ask(code int, f fields, body []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opaque++
	head, err := json.Marshal(map[string]any{
		"code": code, "flag": 0, "language": "GO", "opaque": p.opaque, "version": 453, "extFields": f, "serializeTypeCurrentRPC": "JSON",
	})
	if err != nil {
		return nil, err
	}
	var frame bytes.Buffer
	sizes := []uint32{uint32(4 + len(head) + len(body)), uint32(len(head))}
	if err := binary.Write(&frame, binary.BigEndian, sizes); err != nil {
		return nil, err
	}
	frame.Write(head)
	frame.Write(body)
	if err := p.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := frame.WriteTo(p.conn); err != nil {
		return nil, err
	}
	return p.answer()
}

// answer reads until the answer to the last request is there: a broker asks
// things too.
func (p *plain) answer() ([]byte, error) {
	for {
		var sizes [2]uint32
		if err := binary.Read(p.conn, binary.BigEndian, &sizes); err != nil {
			return nil, err
		}
		frame := make([]byte, sizes[0]-4)
		if _, err := io.ReadFull(p.conn, frame); err != nil {
			return nil, err
		}
		var head struct {
			Code, Flag, Opaque int
			Remark             string
		}
		if err := json.Unmarshal(frame[:sizes[1]], &head); err != nil {
			return nil, err
		}
		if head.Opaque != p.opaque || head.Flag&1 == 0 {
			continue
		}
		if head.Code != 0 {
			return nil, fmt.Errorf("answer %d: %s", head.Code, head.Remark)
		}
		return frame[sizes[1]:], nil
	}
}

func (p *plain) makeTopic(topic string, queues int) error {
	n := fmt.Sprint(queues)
	_, err := p.ask(askTopicMade, fields{
		"topic": topic, "defaultTopic": "TBW102", "readQueueNums": n, "writeQueueNums": n, "perm": "6",
		"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false",
	}, nil)
	return err
}

func (p *plain) makeGroup(group string) error {
	_, err := p.ask(askGroupMade, nil, fmt.Appendf(nil, `{"groupName":%q}`, group))
	return err
}

// send publishes as a producer's client does.
func (p *plain) send(topic string, properties map[string]string, born int64, body []byte) error {
	var text strings.Builder
	for name, value := range properties {
		text.WriteString(name + "\x01" + value + "\x02")
	}
	_, err := p.ask(askSend, fields{
		"producerGroup": "plain", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "1", "queueId": "-1",
		"sysFlag": "0", "bornTimestamp": fmt.Sprint(born), "flag": "0", "properties": text.String(), "reconsumeTimes": "0",
		"unitMode": "false", "batch": "false",
	}, body)
	return err
}
