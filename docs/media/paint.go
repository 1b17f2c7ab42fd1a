package main

import (
	"image"
	"image/color"
	"image/draw"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/gomonobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

const margin = 14

var (
	paper = color.RGBA{0x17, 0x1a, 0x21, 0xff}
	ink   = color.RGBA{0xd8, 0xdc, 0xe3, 0xff}
	faint = color.RGBA{0x84, 0x8b, 0x98, 0xff}

	// inks are what the colours of the demo look like.
	inks = map[ansi.BasicColor]color.RGBA{
		ansi.Red: {0xe5, 0x6b, 0x6f, 0xff}, ansi.Green: {0x7f, 0xc2, 0x7f, 0xff},
		ansi.Yellow: {0xe5, 0xc0, 0x7b, 0xff}, ansi.Cyan: {0x61, 0xb9, 0xc9, 0xff},
	}
)

// brush paints a terminal's cells.
type brush struct {
	face, bold    font.Face
	width, height int
	ascent        int
	palette       color.Palette
}

func newBrush(size float64) (*brush, error) {
	face, err := faceOf(gomono.TTF, size)
	if err != nil {
		return nil, err
	}
	bold, err := faceOf(gomonobold.TTF, size)
	if err != nil {
		return nil, err
	}
	advance, _ := face.GlyphAdvance('0')
	m := face.Metrics()
	return &brush{
		face: face, bold: bold, width: advance.Ceil(), height: (m.Ascent + m.Descent).Ceil() + 2,
		ascent: m.Ascent.Ceil() + 1, palette: palette(),
	}, nil
}

func faceOf(ttf []byte, size float64) (font.Face, error) {
	parsed, err := opentype.Parse(ttf)
	if err != nil {
		return nil, err
	}
	return opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
}

// palette is the paper, and each ink in the steps that the edges of letters
// need. Few colours keep the file small.
func palette() color.Palette {
	const steps = 6
	p := color.Palette{paper}
	for _, c := range append([]color.RGBA{ink, faint}, inks[ansi.Red], inks[ansi.Green], inks[ansi.Yellow], inks[ansi.Cyan]) {
		for i := 1; i <= steps; i++ {
			p = append(p, mix(paper, c, i, steps))
		}
	}
	return p
}

func mix(from, to color.RGBA, part, of int) color.RGBA {
	blend := func(a, b uint8) uint8 { return uint8((int(a)*(of-part) + int(b)*part) / of) }
	return color.RGBA{blend(from.R, to.R), blend(from.G, to.G), blend(from.B, to.B), 0xff}
}

// screen is what the brush needs of a terminal.
type screen interface {
	Width() int
	Height() int
	CellAt(x, y int) *uv.Cell
}

func (b *brush) paint(s screen) *image.Paletted {
	full := image.NewRGBA(image.Rect(0, 0, s.Width()*b.width+2*margin, s.Height()*b.height+2*margin))
	draw.Draw(full, full.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	for y := range s.Height() {
		for x := range s.Width() {
			if c := s.CellAt(x, y); c != nil && strings.TrimSpace(c.Content) != "" {
				b.cell(full, margin+x*b.width, margin+y*b.height, c)
			}
		}
	}
	out := image.NewPaletted(full.Bounds(), b.palette)
	draw.Draw(out, out.Bounds(), full, image.Point{}, draw.Src)
	return out
}

func (b *brush) cell(to *image.RGBA, x, y int, c *uv.Cell) {
	colour := inkOf(c.Style)
	if blocks := map[string]int{"█": b.width, "▌": b.width / 2}; blocks[c.Content] > 0 {
		// A letter of the font would leave gaps between the rows' cells.
		r := image.Rect(x, y+2, x+blocks[c.Content], y+b.height-2)
		draw.Draw(to, r, image.NewUniform(colour), image.Point{}, draw.Src)
		return
	}
	face := b.face
	if c.Style.Attrs&uv.AttrBold != 0 {
		face = b.bold
	}
	d := font.Drawer{Dst: to, Src: image.NewUniform(colour), Face: face, Dot: fixed.P(x, y+b.ascent)}
	d.DrawString(c.Content)
}

func inkOf(s uv.Style) color.RGBA {
	if s.Attrs&uv.AttrFaint != 0 {
		return faint
	}
	if basic, ok := s.Fg.(ansi.BasicColor); ok {
		if c, ok := inks[basic]; ok {
			return c
		}
	}
	return ink
}
