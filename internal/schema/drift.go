package schema

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/store"
)

// Object is a column, an index or another thing that the migrations make, as a
// store describes it.
type Object struct {
	// Name has no schema and no prefix: "column outbox.id", "index outbox_due".
	Name string

	// Is says what matters of it, in words that are compared as they are:
	// "uuid not null".
	Is string
}

// Parse reads objects from text, one in each line: the name, a colon, and what
// it is. Empty lines mean nothing.
func Parse(text string) []Object {
	var objects []Object
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, is, _ := strings.Cut(lines.Text(), ": ")
		if name != "" {
			objects = append(objects, Object{name, is})
		}
	}
	return objects
}

// Format writes what Parse reads, in the order of the names.
func Format(objects []Object) string {
	var lines []string
	for _, o := range objects {
		lines = append(lines, o.Name+": "+o.Is+"\n")
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Verify proves that the migrations were all made and that what is there is
// what they make. The error of what is not is [store.ErrSchema] and names each
// difference and what to type; other errors are the database's own.
//
// want is what the migrations make. have describes what is there; it leaves out
// what somebody has added without harm, since each object that want does not
// have is a difference.
func (s Set) Verify(
	ctx context.Context, db *sql.DB, want []Object, have func(context.Context) ([]Object, error),
) error {
	if err := s.verifyVersion(ctx, db); err != nil {
		return err
	}
	there, err := have(ctx)
	if err != nil {
		return err
	}
	differences := Differences(want, there)
	if len(differences) == 0 {
		return nil
	}
	return fmt.Errorf("%w: in the tables beside %s, %s: undo by hand what was changed there; "+
		"holdfast migrate --print shows how each was made", store.ErrSchema, s.Versions, strings.Join(differences, "; "))
}

func (s Set) verifyVersion(ctx context.Context, db *sql.DB) error {
	have, err := s.version(ctx, db)
	if err != nil {
		return err
	}
	want, err := s.latest()
	if err != nil {
		return err
	}
	switch {
	case have == want:
		return nil
	case have <= 0:
		return fmt.Errorf("%w: the tables are not there (%s says so): make them with holdfast migrate, "+
			"or look whether the schema and prefix are the right ones", store.ErrSchema, s.Versions)
	case have < want:
		return fmt.Errorf("%w: the tables are of version %d (%s) and this program needs %d: run holdfast migrate",
			store.ErrSchema, have, s.Versions, want)
	}
	return fmt.Errorf("%w: the tables are of version %d (%s) and this program knows %d: "+
		"somebody has migrated with a newer one; use that", store.ErrSchema, have, s.Versions, want)
}

// Differences names each way in which there differs from want.
func Differences(want, there []Object) []string {
	is := make(map[string]string)
	for _, o := range there {
		is[o.Name] = o.Is
	}
	var differences []string
	for _, o := range want {
		found, ok := is[o.Name]
		delete(is, o.Name)
		switch {
		case !ok:
			differences = append(differences, fmt.Sprintf("%s is missing (%s)", o.Name, o.Is))
		case found != o.Is:
			differences = append(differences, fmt.Sprintf("%s is %q and should be %q", o.Name, found, o.Is))
		}
	}
	for name, found := range is {
		differences = append(differences, fmt.Sprintf("%s is not ours (%s)", name, found))
	}
	slices.Sort(differences)
	return differences
}
