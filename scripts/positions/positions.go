// Writes the places of all uses of package-level objects, methods and fields, as go/types finds them.
// Usage: go run positions.go <folder> <module path>. It needs the standard library only.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf16"
)

type Symbol struct {
	Name string   `json:"name"`
	Kind string   `json:"kind"`
	Refs []string `json:"refs"`
}

var (
	fset    = token.NewFileSet()
	root    string
	module  string
	loaded  = map[string]*types.Package{}
	symbols = map[string]*Symbol{}
	checked = map[string]bool{}
	std     = importer.ForCompiler(fset, "source", nil)
)

func place(pos token.Pos) (string, bool) {
	p := fset.Position(pos)
	rel, err := filepath.Rel(root, p.Filename)
	if err != nil || strings.HasPrefix(rel, "..") {
		return "", false
	}
	return fmt.Sprintf("%s:%d:%d", filepath.ToSlash(rel), p.Line, column(p)), true
}

var lines = map[string][]string{}

// Columns count UTF-16 code units.
func column(p token.Position) int {
	all, ok := lines[p.Filename]
	if !ok {
		text, _ := os.ReadFile(p.Filename)
		all = strings.Split(string(text), "\n")
		lines[p.Filename] = all
	}
	if p.Line > len(all) || p.Column-1 > len(all[p.Line-1]) {
		return p.Column
	}
	return len(utf16.Encode([]rune(all[p.Line-1][:p.Column-1]))) + 1
}

// with: the package that an external test tests, checked together with its internal tests.
type imp struct {
	path string
	with *types.Package
}

func (i imp) Import(path string) (*types.Package, error) {
	if i.with != nil && path == i.path {
		return i.with, nil
	}
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if dir, ok := dirOf(path); ok {
		if pkg, ok := loaded[path]; ok {
			return pkg, nil
		}
		return check(path, dir, false)
	}
	return std.Import(path)
}

func dirOf(path string) (string, bool) {
	if module == "std" {
		for _, d := range []string{filepath.Join(root, path), filepath.Join(root, "vendor", path)} {
			if s, err := os.Stat(d); err == nil && s.IsDir() {
				return d, true
			}
		}
		return "", false
	}
	if path == module {
		return root, true
	}
	if strings.HasPrefix(path, module+"/") {
		return filepath.Join(root, path[len(module)+1:]), true
	}
	return "", false
}

func parse(dir string, names []string) []*ast.File {
	var files []*ast.File
	for _, n := range names {
		f, err := parser.ParseFile(fset, filepath.Join(dir, n), nil, 0)
		if f != nil {
			files = append(files, f)
		}
		_ = err
	}
	return files
}

func check(path, dir string, tests bool) (*types.Package, error) {
	bp, err := build.Default.ImportDir(dir, 0)
	if bp == nil || (err != nil && len(bp.GoFiles)+len(bp.TestGoFiles)+len(bp.XTestGoFiles) == 0) {
		return nil, err
	}
	names := append(append([]string{}, bp.GoFiles...), bp.CgoFiles...)
	run := func(p string, files []*ast.File, with *types.Package) *types.Package {
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Implicits: map[ast.Node]types.Object{}}
		conf := types.Config{Importer: imp{path, with}, Error: func(error) {}, FakeImportC: true, Sizes: types.SizesFor("gc", "amd64")}
		pkg, _ := conf.Check(p, fset, files, info)
		for _, f := range files {
			if pl, ok := place(f.Pos()); ok {
				checked[pl[:strings.Index(pl, ":")]] = true
			}
		}
		for id, obj := range info.Defs {
			note(id, obj, true)
		}
		for id, obj := range info.Uses {
			note(id, obj, false)
		}
		return pkg
	}
	if !tests {
		pkg := run(path, parse(dir, names), nil)
		loaded[path] = pkg
		return pkg, nil
	}
	var with *types.Package
	if len(bp.TestGoFiles) > 0 {
		with = run(path, parse(dir, append(names, bp.TestGoFiles...)), nil)
	}
	if len(bp.XTestGoFiles) > 0 {
		run(path+"_test", parse(dir, bp.XTestGoFiles), with)
	}
	return nil, nil
}

func origin(obj types.Object) types.Object {
	switch o := obj.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return obj
}

func note(id *ast.Ident, obj types.Object, isDef bool) {
	if obj == nil || obj.Pkg() == nil || obj.Name() == "_" {
		return
	}
	kind := ""
	switch o := obj.(type) {
	case *types.PkgName, *types.Label:
		return
	case *types.Func:
		if sig, ok := o.Type().(*types.Signature); ok && sig.Recv() != nil {
			kind = "member:method"
		} else {
			kind = "function"
		}
	case *types.Var:
		if o.IsField() {
			kind = "member:property"
		} else if o.Parent() == o.Pkg().Scope() {
			kind = "variable"
		}
	case *types.TypeName:
		if o.Parent() == o.Pkg().Scope() {
			kind = "type"
		}
	case *types.Const:
		if o.Parent() == o.Pkg().Scope() {
			kind = "variable"
		}
	}
	if kind == "" {
		return
	}
	at, ok := place(obj.Pos())
	if !ok {
		return
	}
	s := symbols[at+" "+kindClass(kind)]
	if s == nil {
		s = &Symbol{Name: obj.Name(), Kind: kind}
		symbols[at+" "+kindClass(kind)] = s
	}
	if use, ok := place(id.Pos()); ok && use != at {
		s.Refs = append(s.Refs, use)
	}
}

func kindClass(k string) string {
	if strings.HasPrefix(k, "member") {
		return "member"
	}
	return "top"
}

func main() {
	root, _ = filepath.Abs(os.Args[1])
	module = os.Args[2]
	var dirs []string
	filepath.Walk(root, func(p string, i os.FileInfo, err error) error {
		if err == nil && i.IsDir() {
			n := i.Name()
			if n == "testdata" || (p != root && (strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_"))) || (module == "std" && (p == filepath.Join(root, "cmd"))) {
				return filepath.SkipDir
			}
			dirs = append(dirs, p)
		}
		return nil
	})
	for _, d := range dirs {
		rel, _ := filepath.Rel(root, d)
		path := module
		if module == "std" {
			path = filepath.ToSlash(rel)
		} else if rel != "." {
			path = module + "/" + filepath.ToSlash(rel)
		}
		if loaded[path] == nil {
			check(path, d, false)
		}
		check(path, d, true)
	}
	for _, s := range symbols {
		seen := map[string]bool{}
		var refs []string
		for _, r := range s.Refs {
			if !seen[r] {
				seen[r] = true
				refs = append(refs, r)
			}
		}
		sort.Strings(refs)
		s.Refs = refs
	}
	var files []string
	for f := range checked {
		files = append(files, f)
	}
	sort.Strings(files)
	json.NewEncoder(os.Stdout).Encode(map[string]any{"symbols": symbols, "files": files})
}
