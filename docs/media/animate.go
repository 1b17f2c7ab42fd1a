package main

import (
	"bytes"
	"image"
	"image/gif"
	"io"
	"time"
)

// animate writes frames as a GIF that begins again after the last has stood
// for a while. Of each frame only what has changed is stored.
func animate(w io.Writer, frames []frame, last time.Duration) error {
	out := &gif.GIF{}
	var shown *image.Paletted
	for i, f := range frames {
		r := changed(shown, f.image)
		if r.Empty() && i < len(frames)-1 {
			continue
		}
		if r.Empty() {
			r = image.Rect(0, 0, 1, 1)
		}
		if len(out.Image) > 0 {
			out.Delay[len(out.Delay)-1] = hundredths(f.at) - stands(out.Delay[:len(out.Delay)-1])
		}
		out.Image = append(out.Image, crop(f.image, r))
		out.Delay = append(out.Delay, hundredths(last))
		out.Disposal = append(out.Disposal, gif.DisposalNone)
		shown = f.image
	}
	return gif.EncodeAll(w, out)
}

func hundredths(d time.Duration) int { return int(d / (10 * time.Millisecond)) }

func stands(delays []int) (sum int) {
	for _, d := range delays {
		sum += d
	}
	return sum
}

// changed is the smallest rectangle that holds all that differs.
func changed(before, after *image.Paletted) image.Rectangle {
	if before == nil {
		return after.Bounds()
	}
	var r image.Rectangle
	width := after.Bounds().Dx()
	for y := range after.Bounds().Dy() {
		a, b := before.Pix[y*before.Stride:][:width], after.Pix[y*after.Stride:][:width]
		if bytes.Equal(a, b) {
			continue
		}
		left, right := 0, width
		for a[left] == b[left] {
			left++
		}
		for a[right-1] == b[right-1] {
			right--
		}
		r = r.Union(image.Rect(left, y, right, y+1))
	}
	return r
}

// crop copies a part, since the encoder would keep the whole for its bounds.
func crop(m *image.Paletted, r image.Rectangle) *image.Paletted {
	out := image.NewPaletted(r, m.Palette)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		copy(out.Pix[(y-r.Min.Y)*out.Stride:], m.Pix[m.PixOffset(r.Min.X, y):][:r.Dx()])
	}
	return out
}
