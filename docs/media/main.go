// Media makes the moving picture of the README: it runs `holdfast demo` on a
// terminal of its own, looks at that terminal some times a second, and paints
// what stands there. It is a module of its own, so that nobody who uses
// Holdfast downloads what only this needs.
//
//	make recording
package main

import (
	"flag"
	"fmt"
	"image"
	"image/png"
	"log"
	"os"
	"time"
)

func main() {
	log.SetFlags(0)
	var (
		columns = flag.Int("columns", 84, "width of the terminal")
		rows    = flag.Int("rows", 33, "height of the terminal")
		every   = flag.Duration("every", 200*time.Millisecond, "time between two frames")
		last    = flag.Duration("last", 8*time.Second, "how long the last frame stands")
		still   = flag.Duration("still", 0, "write the frame of this moment as a PNG, and no GIF")
		size    = flag.Float64("size", 15, "of the letters, in pixels")
	)
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "media [flags] HOLDFAST OUTPUT")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), *columns, *rows, *every, *last, *still, *size); err != nil {
		log.Fatal("media: ", err)
	}
}

func run(program, output string, columns, rows int, every, last, still time.Duration, size float64) error {
	brush, err := newBrush(size)
	if err != nil {
		return err
	}
	frames, err := record(program, columns, rows, every, brush)
	if err != nil {
		return err
	}
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	if still > 0 {
		err = png.Encode(f, at(frames, still))
	} else {
		err = animate(f, frames, last)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// frame is the terminal from a moment on.
type frame struct {
	image *image.Paletted
	at    time.Duration
}

// at is what the terminal shows at a moment.
func at(frames []frame, moment time.Duration) image.Image {
	shown := frames[0]
	for _, f := range frames {
		if f.at <= moment {
			shown = f
		}
	}
	return shown.image
}
