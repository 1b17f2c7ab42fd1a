package rocketmq

import (
	"encoding/json"
	"time"
)

// beatEvery is how often brokers hear that this consumer is there. They forget
// it after two minutes.
const beatEvery = 30 * time.Second

// beat lets operators see the consumer. Popping does not depend on it.
func (s *session) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		s.tellBrokers(askHeartbeat)
		select {
		case <-tick.C:
		case <-s.done:
			s.tellBrokers(askUnregister)
			return
		}
	}
}

func (s *session) tellBrokers(what int) {
	body, err := json.Marshal(s.presence())
	if err != nil {
		return // it is made of text
	}
	for _, at := range s.source.sites {
		cmd := command{code: what, body: body}
		if what == askUnregister {
			cmd = command{code: what, fields: map[string]string{"clientID": s.broker.client, "consumerGroup": s.source.group}}
		}
		at.conn.ask(cmd, s.broker.conf.CallTimeout, func(*command, error) {}) // the connection's end is seen elsewhere
	}
}

// presence is what a heartbeat tells.
func (s *session) presence() any {
	type object = map[string]any
	return object{
		"clientID": s.broker.client,
		"consumerDataSet": []any{object{
			"groupName": s.source.group, "consumeType": "CONSUME_POP", "messageModel": "CLUSTERING",
			"consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "unitMode": false,
			"subscriptionDataSet": []any{object{
				"topic": s.source.topic, "subString": "*", "tagsSet": []string{}, "codeSet": []int{},
				"subVersion": 0, "expressionType": "TAG", "classFilterMode": false,
			}},
		}},
		"producerDataSet": []any{},
	}
}
