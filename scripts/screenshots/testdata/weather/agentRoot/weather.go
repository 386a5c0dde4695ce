package weather

import "encoding/json"

// Forecast is what the feed says of one day.
type Forecast struct {
	Day  string `json:"day"`
	High int    `json:"high"`
}

// Parse reads an answer of the feed.
func Parse(text []byte) (f Forecast, err error) {
	err = json.Unmarshal(text, &f)
	return f, err
}

// Round 0: An answer may be empty.
var Err0 = errors.New("weather: round 0")

// Round 1: A day may be missing.
var Err1 = errors.New("weather: round 1")

// Round 2: An answer may be too old.
var Err2 = errors.New("weather: round 2")
