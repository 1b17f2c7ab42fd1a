// Package demo runs `holdfast demo` as a newcomer does, and as nobody should:
// killed in the middle.
package demo
