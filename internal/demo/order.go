package demo

import (
	"encoding/json"
	"fmt"
)

// order is what the messages carry.
type order struct {
	ID        string  `json:"id"`
	Amount    float64 `json:"amount"`
	Currency  string  `json:"currency"`
	Warehouse string  `json:"warehouse"`
	Test      bool    `json:"test,omitempty"`
}

// What makes an order fail.
const (
	unknownCurrency = "SEK"   // a bug: there is no rate for it, until the fix
	busyWarehouse   = "north" // its stock is locked, so that the first two attempts fail
)

// idOf is the id of the n-th order, counted from 1.
func idOf(n int) string { return fmt.Sprintf("order-%03d", n) }

// bodyOf is what the shop sends for the n-th order. It depends on n alone, so
// that a shop that starts again sends the same.
func bodyOf(n int) []byte {
	o := order{ID: idOf(n), Amount: 5 + float64(n*37%200) + 0.9, Currency: "EUR", Warehouse: "south"}
	switch n % 20 {
	case 4, 11:
		o.Warehouse = busyWarehouse
	case 7:
		o.Currency = unknownCurrency
	case 16:
		o.Test = n%40 == 16
	case 18:
		return malformed(o, n%40 == 18)
	}
	body, _ := json.Marshal(o) // strings and a number always marshal
	return body
}

// malformed is an order of a release of the shop that sends amounts as text,
// and some orders cut off besides.
func malformed(o order, cut bool) []byte {
	body := fmt.Appendf(nil, `{"id":%q,"amount":"%.2f","currency":%q,"warehouse":%q}`, o.ID, o.Amount, o.Currency, o.Warehouse)
	if cut {
		return body[:len(body)/2]
	}
	return body
}

// textOrder is an order as the mended decoder takes it: the amount may be
// text.
type textOrder struct {
	order
	Amount json.Number `json:"amount"`
}
