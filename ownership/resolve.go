package ownership

import (
	"path"
	"slices"
	"strings"

	"patchd/ownership/symbols"
)

// scope says from where a language sees a definition at the top of a file.
type scope uint8

const (
	// scopeProgram: anywhere, or by an include that is not followed.
	scopeProgram scope = iota
	// scopeFile: in its file, and where an import names it.
	scopeFile
	// scopePackage: in its directory, and where an import names it.
	scopePackage
)

func scopeOf(l symbols.Language) scope {
	switch l {
	case "python", "javascript", "typescript", "tsx", "svelte":
		return scopeFile
	case "go", "java", "kotlin", "scala", "groovy":
		return scopePackage
	}
	return scopeProgram
}

// family groups languages whose files refer to each other.
func family(l symbols.Language) symbols.Language {
	switch l {
	case "javascript", "typescript", "tsx", "svelte":
		return "javascript"
	case "c", "cpp":
		return "c"
	case "java", "kotlin", "scala", "groovy":
		return "java"
	}
	return l
}

// implicitThis reports whether a method may be called by its bare name within its class.
func implicitThis(l symbols.Language) bool {
	switch family(l) {
	case "java", "c", "csharp", "swift", "ruby":
		return true
	}
	return false
}

func dir(p string) string { return path.Dir(p) }

// stem is a path without its extension.
func stem(p string) string { return strings.TrimSuffix(p, path.Ext(p)) }

// refers reports whether a new use of the other side means the base symbol, judged by name, file, class and imports.
func (c *comparison) refers(u newUse, b ref, one, other *side) bool {
	from := one.base(b)
	defining := one.changes[b.file].base
	using := other.changes[u.file].result
	if defining.outline == nil || family(defining.outline.Language) != family(using.outline.Language) || u.Kind&symbols.UseLabel != 0 {
		return false
	}
	if isMember(from, defining) {
		return c.refersToMember(u, b, one, other)
	}
	if from.Parent >= 0 { // a function in a function
		return u.file == b.file && u.Kind&symbols.UseMember == 0 && enclosing(using, u, container(from))
	}
	if u.Kind&symbols.UseMember != 0 && !nearby(using.outline.Language, u.qualifier) {
		return u.qualifier != "" && seesQualified(using, u.qualifier, from, defining)
	}
	if using.shadows(u, from.Name, u.file == b.file) {
		return false
	}
	return u.file == b.file || sees(using, from, defining)
}

// isMember reports whether a symbol belongs to a class or a type.
func isMember(s *symbols.Symbol, v *view) bool {
	if s.Parent >= 0 {
		return kindGroup(v.symbol(s.Parent).Kind) == 2
	}
	return s.Kind == symbols.KindMethod && container(s) != ""
}

// nearby reports whether what stands before a name leads to the module itself or to the one around it.
func nearby(l symbols.Language, qualifier string) bool {
	return l == "rust" && (qualifier == "super" || qualifier == "self" || qualifier == "crate")
}

// classAround gives the name of the class or type in which a use stands, or "".
func (v *view) classAround(u newUse) string {
	for s := int(u.Symbol); s >= 0; s = v.symbol(s).Parent {
		if sym := v.symbol(s); isMember(sym, v) {
			return lastPart(strings.TrimSuffix(container(sym), "."))
		} else if kindGroup(sym.Kind) == 2 {
			return sym.Name
		}
	}
	return ""
}

// enclosing reports whether a use stands in a symbol whose path begins with a container.
func enclosing(v *view, u newUse, prefix string) bool {
	return u.Symbol >= 0 && strings.HasPrefix(v.symbol(int(u.Symbol)).Path+".", prefix)
}

// refersToMember judges a use of a method or the like. The type of what stands before the dot is not known, so the
// file must name the class, or be in it, and no other class that is seen may define the name.
func (c *comparison) refersToMember(u newUse, b ref, one, other *side) bool {
	from, defining := one.base(b), one.changes[b.file].base
	using := other.changes[u.file].result
	class := strings.TrimSuffix(container(from), ".")
	inside := using.classAround(u) == lastPart(class)
	if u.Kind&symbols.UseMember == 0 {
		return (inside && implicitThis(using.outline.Language) || using.nestedIn(u, class, from.Name)) && !using.local(u, from.Name)
	}
	switch u.qualifier {
	case "self", "this", "super", "cls", "Self", "static", "parent":
		return inside
	}
	owner := lastPart(class)
	if u.qualifier == owner {
		return true
	}
	home := u.file == b.file || scopeOf(using.outline.Language) == scopePackage && dir(using.version.Path) == dir(defining.version.Path)
	return (home || slices.Contains(using.outline.Names, owner)) && !c.definedElsewhere(b, one)
}

// nestedIn reports whether a bare name in an inner class means a member of a class around it, where a language looks
// there: no class in between may have a member of that name.
func (v *view) nestedIn(u newUse, class, name string) bool {
	switch family(v.outline.Language) {
	case "java", "c", "csharp":
	default:
		return false
	}
	for s := int(u.Symbol); s >= 0; s = v.symbol(s).Parent {
		if kindGroup(v.symbol(s).Kind) != 2 {
			continue
		}
		if v.symbol(s).Path == class {
			return true
		}
		if slices.ContainsFunc(v.outline.Symbols, func(m symbols.Symbol) bool { return m.Parent == s && m.Name == name }) {
			return false
		}
	}
	return false
}

func lastPart(p string) string { return p[strings.LastIndexByte(p, '.')+1:] }

// definedElsewhere reports whether another symbol that is no counterpart has the same name and is a member too.
func (c *comparison) definedElsewhere(b ref, one *side) bool {
	name := one.base(b).Name
	for f, p := range c.pairs {
		if p.base == nil || p.base.outline == nil {
			continue
		}
		for i := range p.base.outline.Symbols {
			s := &p.base.outline.Symbols[i]
			if s.Name == name && (f != b.file || i != b.symbol) && s.Path != one.base(b).Path && isMember(s, p.base) {
				return true
			}
		}
	}
	return false
}

// local reports whether the function around a use defines the name itself, as a parameter or a variable.
func (v *view) local(u newUse, name string) bool {
	for _, x := range v.outline.Uses {
		if x.Symbol == u.Symbol && x.Symbol >= 0 && x.Kind&symbols.UseWrite != 0 && x.Kind&(symbols.UseMember|symbols.UseName|symbols.UseCall) == 0 && v.outline.Names[x.Name] == name {
			return true
		}
	}
	return false
}

// shadows reports whether the file means something of its own by a bare name.
func (v *view) shadows(u newUse, name string, home bool) bool {
	if v.local(u, name) {
		return true
	}
	if home {
		return false
	}
	for i := range v.outline.Symbols {
		if s := &v.outline.Symbols[i]; s.Name == name && s.Parent < 0 && s.Kind != symbols.KindImport && container(s) == "" {
			return true
		}
	}
	return false
}

// sees reports whether a bare name in one file can mean a definition at the top of another.
func sees(using *view, from *symbols.Symbol, defining *view) bool {
	lang := using.outline.Language
	switch scopeOf(lang) {
	case scopeProgram:
		return true
	case scopePackage:
		if dir(using.version.Path) == dir(defining.version.Path) {
			return true
		}
	case scopeFile:
	}
	return slices.ContainsFunc(using.outline.Imports, func(im symbols.Import) bool {
		return im.Name == from.Name && (im.Item == from.Name || im.Item == "default" || im.Item == "") && leadsTo(im.Module, using.version.Path, defining)
	})
}

// seesQualified reports whether q.name in one file can mean a definition at the top of another: q is an import of
// that file, or its name where files are modules.
func seesQualified(using *view, q string, from *symbols.Symbol, defining *view) bool {
	for _, im := range using.outline.Imports {
		if im.Name == q && leadsTo(im.Module+suffixItem(im, using.outline.Language), using.version.Path, defining) {
			return true
		}
	}
	if scopeOf(using.outline.Language) != scopeProgram {
		return false
	}
	return q == path.Base(stem(defining.version.Path)) || q == lastPart(strings.TrimSuffix(container(from), "."))
}

// suffixItem makes "from a import b" mean the module a.b where b is used as a module.
func suffixItem(im symbols.Import, l symbols.Language) string {
	if l != "python" || im.Item == "" {
		return ""
	}
	if strings.HasSuffix(im.Module, ".") {
		return im.Item
	}
	return "." + im.Item
}

// leadsTo reports whether an import's module can be the file.
func leadsTo(module, from string, to *view) bool {
	target := stem(to.version.Path)
	switch family(to.outline.Language) {
	case "javascript":
		if strings.HasPrefix(module, ".") {
			joined := path.Join(dir(from), module)
			return joined == to.version.Path || joined == target || path.Join(joined, "index") == target || stem(joined) == target
		}
		module = strings.TrimLeft(module, "@~#/")
		return strings.Contains(module, "/") && endsWithPath(target, module)
	case "go":
		d := dir(to.version.Path)
		return d != "." && endsWithPath(module, d)
	case "python":
		module = strings.ReplaceAll(strings.TrimLeft(module, "."), ".", "/")
		if module == "" {
			return dir(from) == dir(to.version.Path)
		}
		target = strings.TrimSuffix(target, "/__init__")
		return endsWithPath(target, module) || endsWithPath(dir(target), module)
	}
	module = strings.NewReplacer(".", "/", "::", "/", "\\", "/").Replace(module)
	return endsWithPath(target, module) || endsWithPath(dir(target), module)
}

func endsWithPath(p, tail string) bool { return p == tail || strings.HasSuffix(p, "/"+tail) }
