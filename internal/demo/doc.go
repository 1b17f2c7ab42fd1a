// Package demo is the main job of Holdfast as a story of a few seconds: a shop
// sends orders, a service charges them, and some of them fail in each of the
// ways that messages fail. It is played on a real broker by the library that
// users get; nothing of it is pretended but the shop and its dependencies.
//
// The service is what a good service is: it is idempotent, since it keeps a
// ledger of its effects on disk and writes to it before a message is
// acknowledged. So the demo can say at the end what became of every order, and
// it can be killed at any moment and be started again.
package demo
