package awssqs

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sivchari/kumo"
)

// front stands before kumo and adds what that lacks: it tells the message
// group of what it delivers, and it counts as visible what will be visible at
// the next receive.
type front struct {
	kumo  string
	sends sync.RWMutex // for writing while a message is sent

	mu     sync.Mutex
	groups map[string]string  // by message id
	hidden map[string]*hiding // by receipt
}

// hiding is one message that a receive has hidden.
type hiding struct {
	queue, message string
	until          time.Time
}

// emulator is one for all tests: its servers share what they store, and two that
// start at once race for it. It ends with the process.
var emulator = sync.OnceValue(func() string { return kumo.NewServer().URL })

// kumoURL starts a front of kumo.
func kumoURL(t *testing.T) string {
	t.Helper()
	f := &front{kumo: emulator(), groups: map[string]string{}, hidden: map[string]*hiding{}}
	before := httptest.NewServer(f)
	t.Cleanup(before.Close)
	return before.URL
}

// entry is what the front must know of a request, or of one entry of a batch.
type entry struct {
	ID                string `json:"Id"`
	QueueURL          string `json:"QueueUrl"`
	MessageGroupID    string `json:"MessageGroupId"`
	ReceiptHandle     string
	VisibilityTimeout *int
	Entries           []entry
}

// all are the entries of a batch, or a request that is none.
func (e entry) all() []entry {
	if e.Entries != nil {
		return e.Entries
	}
	return []entry{e}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target := r.Header.Get("X-Amz-Target")
	if strings.Contains(target, ".SendMessage") {
		f.sends.Lock() // nobody is told of a message before its group is known
		defer f.sends.Unlock()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	response, answer, err := f.forward(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if response.StatusCode == http.StatusOK {
		answer = f.amend(target, body, answer)
	}
	for name, values := range response.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer) // a client that has gone needs none
}

func (f *front) forward(r *http.Request, body []byte) (*http.Response, []byte, error) {
	ctx := r.Context()
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ReceiveMessage") {
		ctx = context.WithoutCancel(ctx) // kumo does it, whoever has gone, and the front must know
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, f.kumo+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header = r.Header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response, answer, err
}

func (f *front) amend(target string, body, answer []byte) []byte {
	var request entry
	if json.Unmarshal(body, &request) != nil {
		return answer
	}
	_, operation, _ := strings.Cut(target, ".")
	if operation == "ReceiveMessage" {
		f.sends.RLock()
		defer f.sends.RUnlock()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch operation {
	case "SendMessage", "SendMessageBatch":
		f.sent(request, answer)
	case "ReceiveMessage":
		return f.received(request, answer)
	case "ChangeMessageVisibility", "ChangeMessageVisibilityBatch":
		for _, e := range request.all() {
			if h := f.hidden[e.ReceiptHandle]; h != nil && e.VisibilityTimeout != nil {
				h.until = time.Now().Add(time.Duration(*e.VisibilityTimeout) * time.Second)
			}
		}
	case "DeleteMessage", "DeleteMessageBatch":
		for _, e := range request.all() {
			delete(f.hidden, e.ReceiptHandle)
		}
	case "GetQueueAttributes":
		return f.counted(request, answer)
	case "DeleteQueue":
		for receipt, h := range f.hidden {
			if h.queue == nameIn(request.QueueURL) {
				delete(f.hidden, receipt)
			}
		}
	}
	return answer
}

func (f *front) sent(request entry, answer []byte) {
	var made struct {
		MessageID  string `json:"MessageId"`
		Successful []struct {
			ID        string `json:"Id"`
			MessageID string `json:"MessageId"`
		}
	}
	if json.Unmarshal(answer, &made) != nil {
		return
	}
	f.groups[made.MessageID] = request.MessageGroupID
	for _, ok := range made.Successful {
		for _, e := range request.Entries {
			if e.ID == ok.ID {
				f.groups[ok.MessageID] = e.MessageGroupID
			}
		}
	}
}

func (f *front) received(request entry, answer []byte) []byte {
	var got struct{ Messages []map[string]any }
	if json.Unmarshal(answer, &got) != nil || len(got.Messages) == 0 {
		return answer
	}
	span := 30
	if request.VisibilityTimeout != nil {
		span = *request.VisibilityTimeout
	}
	for _, m := range got.Messages {
		id, _ := m["MessageId"].(string)
		receipt, _ := m["ReceiptHandle"].(string)
		a, _ := m["Attributes"].(map[string]any)
		if group := f.groups[id]; group != "" {
			a["MessageGroupId"], a["SequenceNumber"] = group, m["SequenceNumber"]
		}
		for old, h := range f.hidden {
			if h.message == id {
				delete(f.hidden, old)
			}
		}
		f.hidden[receipt] = &hiding{nameIn(request.QueueURL), id, time.Now().Add(time.Duration(span) * time.Second)}
	}
	return encoded(got, answer)
}

func (f *front) counted(request entry, answer []byte) []byte {
	var got struct{ Attributes map[string]string }
	if json.Unmarshal(answer, &got) != nil {
		return answer
	}
	for _, h := range f.hidden {
		if h.queue == nameIn(request.QueueURL) && time.Now().After(h.until) {
			add(got.Attributes, "ApproximateNumberOfMessages", 1)
			add(got.Attributes, "ApproximateNumberOfMessagesNotVisible", -1)
		}
	}
	return encoded(got, answer)
}

func add(a map[string]string, name string, n int) {
	had, err := strconv.Atoi(a[name])
	if err == nil {
		a[name] = strconv.Itoa(had + n)
	}
}

func encoded(v any, or []byte) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return or
	}
	return b
}

func nameIn(url string) string { return url[strings.LastIndexByte(url, '/')+1:] }
