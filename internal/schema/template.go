package schema

import (
	"bytes"
	"io/fs"
	"strings"
	"text/template"
	"time"
)

// templates is a file system of SQL whose names are filled in as it is read.
type templates struct {
	files  fs.FS
	values map[string]string
}

func (t templates) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.files, name) }

func (t templates) Open(name string) (fs.File, error) {
	if !strings.HasSuffix(name, ".sql") {
		return t.files.Open(name)
	}
	text, err := t.render(name)
	if err != nil {
		return nil, err
	}
	return &rendered{Reader: bytes.NewReader(text), name: name}, nil
}

func (t templates) render(name string) ([]byte, error) {
	source, err := fs.ReadFile(t.files, name)
	if err != nil {
		return nil, err
	}
	tmpl, err := template.New(name).Option("missingkey=error").Parse(string(source))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, t.values); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// rendered is a file of text in memory, and its own description.
type rendered struct {
	*bytes.Reader
	name string
}

func (r *rendered) Stat() (fs.FileInfo, error) { return r, nil }
func (r *rendered) Close() error               { return nil }
func (r *rendered) Name() string               { return r.name }
func (r *rendered) Mode() fs.FileMode          { return 0o444 }
func (r *rendered) ModTime() time.Time         { return time.Time{} }
func (r *rendered) IsDir() bool                { return false }
func (r *rendered) Sys() any                   { return nil }
