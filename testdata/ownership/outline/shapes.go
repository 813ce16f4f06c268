// Package shapes draws.
package shapes

import (
	"fmt"
	str "strings"
)

const (
	// Limit bounds the number of sides.
	Limit   = 12
	Min, Of = 3, 4
)

var names = map[int]string{
	3: "triangle",
}

// Shape is drawn.
type Shape interface {
	Draw(w Writer) error
}

// Polygon has sides.
type Polygon[T any] struct {
	sides []T
	label string
}

// Draw draws it.
//
//go:noinline
func (p *Polygon[T]) Draw(w Writer) error {
	p.label = str.ToUpper(p.label)
	return write(w, fmt.Sprint(
		p.label,
		len(p.sides),
	))
}

func write(w Writer, parts ...string) (err error) {
	_, err = w.WriteString(str.Join(parts, " "))
	return err
}

func init() { names[4] = "square" }

func init() { names[5] = "pentagon" }
