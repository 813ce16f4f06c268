package symbols

import (
	"os"
	"testing"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/stretchr/testify/require"
)

// TestTheFlatTreeIsTheTree compares what C copies out with what the bindings tell of the same text, so that a new
// version of them whose layout differs cannot pass.
func TestTheFlatTreeIsTheTree(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("flatten_test.go")
	require.NoError(t, err)
	g := newGrammar(goTable())
	flat, err := parse(g, text)
	require.NoError(t, err)
	parser := sitter.NewParser()
	defer parser.Close()
	parser.SetLanguage(g.lang)
	parsed, err := parser.ParseCtx(t.Context(), nil, text)
	require.NoError(t, err)
	defer parsed.Close()
	at := int32(0)
	var compare func(n *sitter.Node)
	compare = func(n *sitter.Node) {
		own := at
		at++
		require.Equal(t, n.Type(), flat.kind(own))
		require.Equal(t, n.StartByte(), flat.nodes[own].start)
		require.Equal(t, n.EndByte(), flat.nodes[own].end)
		require.Equal(t, n.IsMissing(), flat.nodes[own].missing)
		child := flat.nodes[own].first
		for i := range int(n.ChildCount()) {
			require.Equal(t, at, child)
			if n.Child(i).IsNamed() {
				require.Equal(t, n.FieldNameForChild(i), flat.fields[flat.nodes[child].field])
			}
			compare(n.Child(i))
			child = flat.nodes[child].next
		}
		require.EqualValues(t, -1, child)
	}
	compare(parsed.RootNode())
	require.Len(t, flat.nodes, int(at))
}
