package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"hank/internal/secret"
)

// Message is one message of a conversation.
type Message struct {
	Role string // user or assistant
	Text string
}

// Request is what a model is asked.
type Request struct {
	System   string
	Messages []Message

	Temperature, TopP, FrequencyPenalty, PresencePenalty *float64 // nil: the provider's own
	MaxOutputTokens                                      int      // 0: the provider's own
	Seed                                                 *int
	Stop                                                 []string
	// Schema is the JSON Schema of the answer; nil: it is text. Only some endpoints keep
	// to it.
	Schema     json.RawMessage
	SchemaName string
}

// Answer is what a model has said, and what it has used in tokens. Input is without those
// that were read from a cache. All are 0 where the provider does not say what was used.
type Answer struct {
	Text                     string
	Input, CacheRead, Output int64
	// Cut: the answer is as long as the model may write, or was filtered.
	Cut string
}

// CallError is a request that has no answer.
type CallError struct {
	Message    string
	Retriable  bool
	RetryAfter time.Duration // that the provider has named; 0: none
	// Refused: no request to this endpoint can succeed, because the key, the address or the
	// model is wrong.
	Refused bool
}

func (e *CallError) Error() string { return e.Message }

// mostBody bounds what of a response is read, and mostMessage what of an error is told.
const (
	mostBody    = 8 << 20
	mostMessage = 500
)

// mostTokens bounds what of a count is believed: no request has more.
const mostTokens = 1_000_000_000

// counted is a count of tokens as far as it is believed.
func counted(n int) int64 { return int64(min(max(n, 0), mostTokens)) }

// Client asks the model of one endpoint. It may be used by several goroutines.
type Client struct {
	endpoint Endpoint
	http     *http.Client
}

// NewClient makes a client; nothing is connected before the first request.
func NewClient(e Endpoint) *Client {
	return &Client{e, &http.Client{Transport: http.DefaultTransport}}
}

// bounded is one request: it bounds the body of the response, and remembers what the
// library does not hand on.
type bounded struct {
	http   *http.Client
	header http.Header
	body   *io.LimitedReader
}

func (b *bounded) Do(r *http.Request) (*http.Response, error) {
	res, err := b.http.Do(r)
	if err != nil {
		return nil, err
	}
	b.header, b.body = res.Header, &io.LimitedReader{R: res.Body, N: mostBody}
	res.Body = struct {
		io.Reader
		io.Closer
	}{b.body, res.Body}
	return res, nil
}

// Ask makes one request. The error is that of the context, or a *CallError.
func (c *Client) Ask(ctx context.Context, r Request) (Answer, error) {
	once := &bounded{http: c.http}
	config := openai.DefaultConfig(c.endpoint.Key)
	config.BaseURL, config.HTTPClient = c.endpoint.Base, once
	res, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, c.request(r))
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	if err != nil {
		return Answer{}, c.failure(err, once)
	}
	if len(res.Choices) == 0 {
		return Answer{}, &CallError{Message: "the provider has sent no answer", Retriable: true}
	}
	a := Answer{Text: res.Choices[0].Message.Content, Input: counted(res.Usage.PromptTokens), Output: counted(res.Usage.CompletionTokens)}
	if d := res.Usage.PromptTokensDetails; d != nil {
		a.CacheRead = min(counted(d.CachedTokens), a.Input)
		a.Input -= a.CacheRead
	}
	if reason := res.Choices[0].FinishReason; reason == openai.FinishReasonLength || reason == openai.FinishReasonContentFilter {
		a.Cut = string(reason)
	}
	return a, nil
}

func (c *Client) request(r Request) openai.ChatCompletionRequest {
	q := openai.ChatCompletionRequest{
		Model: c.endpoint.Model, Temperature: number(r.Temperature), TopP: number(r.TopP), FrequencyPenalty: number(r.FrequencyPenalty),
		PresencePenalty: number(r.PresencePenalty), Seed: r.Seed, Stop: r.Stop,
	}
	if c.endpoint.Provider == "openai" { // whose newer models refuse the older name
		q.MaxCompletionTokens = r.MaxOutputTokens
	} else {
		//lint:ignore SA1019 the newer name is OpenAI's alone; other providers and local servers know this one
		q.MaxTokens = r.MaxOutputTokens
	}
	if r.System != "" {
		q.Messages = append(q.Messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	for _, m := range r.Messages {
		q.Messages = append(q.Messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Text})
	}
	if r.Schema != nil && c.endpoint.Schema {
		q.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: r.SchemaName, Schema: r.Schema}}
	}
	return q
}

// number is a number as the library takes it, which leaves out 0.
func number(f *float64) float32 {
	switch {
	case f == nil:
		return 0
	case *f == 0:
		return math.SmallestNonzeroFloat32
	}
	return float32(*f)
}

// failure is the error of a request.
func (c *Client) failure(err error, of *bounded) *CallError {
	e := &CallError{RetryAfter: retryAfter(of.header)}
	status, message := 0, ""
	var api *openai.APIError
	var request *openai.RequestError
	switch {
	case errors.As(err, &api):
		status, message = api.HTTPStatusCode, api.Message
	case errors.As(err, &request):
		status, message = request.HTTPStatusCode, said(request.Body)
		if status < 300 {
			status = 0
		}
	}
	switch {
	case status == 0 && of.body != nil && of.body.N <= 0: // another one would be paid, and no shorter
		e.Message = fmt.Sprintf("the answer of the provider has more than %d bytes", mostBody)
	case status == 0 && of.header != nil: // it has answered, in another form
		e.Message, e.Retriable = "the answer of the provider cannot be read: "+err.Error(), true
	case status == 0:
		e.Message, e.Retriable = "the provider cannot be reached: "+err.Error(), true
	default:
		e.Message = fmt.Sprintf("the provider answers %d %s", status, http.StatusText(status))
		if message = strings.TrimSpace(message); message != "" {
			e.Message += ": " + message
		}
		e.Retriable = status == 408 || status == 409 || status == 429 || status >= 500
		e.Refused = status == 401 || status == 403 || status == 404
	}
	if refusedBefore(err) { // nothing was sent
		e.Message, e.Retriable, e.Refused = "the request cannot be made: "+err.Error(), false, true
	}
	e.Message = c.beginning(e.Message)
	return e
}

// refusedBefore reports whether the library has refused a request before it was sent.
func refusedBefore(err error) bool {
	for _, own := range []error{openai.ErrChatCompletionInvalidModel, openai.ErrReasoningEffortUnsupported, openai.ErrReasoningSamplingUnsupported, openai.ErrReasoningModelLimitationsOther,
		openai.ErrReasoningModelLimitationsLogprobs, openai.ErrReasoningModelMaxTokensDeprecated} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// said is what an error response says in its JSON, or all of it.
func said(body []byte) string {
	var of struct {
		Error any `json:"error"`
	}
	if json.Unmarshal(body, &of) == nil {
		switch e := of.Error.(type) {
		case string:
			return e
		case map[string]any:
			if text, ok := e["message"].(string); ok {
				return text
			}
		}
	}
	return string(body)
}

// beginning is what of a message is told, without the key.
func (c *Client) beginning(text string) string {
	var key secret.Values
	key.Add([]string{"API_KEY=" + c.endpoint.Key})
	text, _ = secret.Beginning(text, mostMessage, key.Text)
	return strings.ToValidUTF8(text, "")
}

// longestWait bounds what of a provider's wait is believed.
const longestWait = time.Hour

func retryAfter(header http.Header) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "Retry-After"} {
		unit := time.Second
		if name == "Retry-After-Ms" {
			unit = time.Millisecond
		}
		if f, err := strconv.ParseFloat(header.Get(name), 64); err == nil && f > 0 && f <= longestWait.Seconds()*1000 {
			return min(time.Duration(f*float64(unit)), longestWait)
		}
	}
	return 0
}
