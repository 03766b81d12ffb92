/** A small project in one language, with what an index must say about it. */
export interface Sample {
	readonly files: Readonly<Record<string, string>>;
	/** `owner.name kind line-endLine` of all symbols of one file, in order. */
	readonly outline: { readonly path: string; readonly symbols: readonly string[] };
	/** Files to which each file's imports lead. */
	readonly imports: Readonly<Record<string, readonly string[]>>;
	/** Places of a symbol that is declared at the place, without it. */
	readonly usages: Readonly<Record<string, readonly string[]>>;
	/** A text that replaces a file, and the places of the first symbol in `usages` after it. */
	readonly edit: {
		readonly path: string;
		readonly text: string;
		readonly places: readonly string[];
	};
	/** A source with a syntax error, and a name that is declared before it. */
	readonly broken: { readonly path: string; readonly text: string; readonly keeps: string };
}

export const SAMPLES: Readonly<Record<string, Sample>> = {
	typescript: {
		files: {
			"a.ts": "export function greet(name: string) {\n\treturn name;\n}\n",
			"b.ts": 'import { greet } from "./a.ts";\n\ngreet("b");\n',
		},
		outline: { path: "a.ts", symbols: ["greet function 1-3"] },
		imports: { "b.ts": ["a.ts"] },
		usages: { "a.ts:1:17": ["b.ts:1:10", "b.ts:3:1"] },
		edit: { path: "b.ts", text: 'import { greet } from "./a.ts";\n', places: ["b.ts:1:10"] },
		broken: { path: "c.ts", text: "export const first = 1;\nreturn 1;\n", keeps: "first" },
	},
	python: {
		files: {
			"app/__init__.py": "from .models import User\n",
			"app/models.py":
				'"""Models."""\n\nLIMIT = 3\n\n\nclass User:\n    """A user. With a name."""\n\n    def __init__(self, name: str) -> None:\n        self.name = name\n\n    def greet(self) -> str:\n        return self.name\n',
			"main.py":
				"from app import User\nimport app.models\n\nuser = User('x')\nuser.greet()\nprint(app.models.LIMIT)\n",
		},
		outline: {
			path: "app/models.py",
			symbols: [
				"LIMIT variable 3-3",
				"User class 6-13",
				"User.__init__ method 9-10",
				"User.name property 10-10",
				"User.greet method 12-13",
			],
		},
		imports: {
			"app/__init__.py": ["app/models.py"],
			"main.py": ["app/__init__.py", "app/models.py"],
		},
		usages: {
			"app/models.py:6:7": ["app/__init__.py:1:21", "main.py:1:17", "main.py:4:8"],
			"app/models.py:3:1": ["main.py:6:18"],
			"app/models.py:12:9": ["main.py:5:6"],
			"app/models.py:10:14": ["app/models.py:13:21"],
		},
		edit: {
			path: "main.py",
			text: "import app\n\napp.User\n",
			places: ["app/__init__.py:1:21", "main.py:3:5"],
		},
		broken: { path: "c.py", text: "def first():\n    pass\n\ndef (:\n", keeps: "first" },
	},
	go: {
		files: {
			"go.mod": "module example.com/app\n",
			"store/store.go":
				"package store\n\n// Store keeps items. Not for long.\ntype Store struct {\n\titems []string\n\tlimit int\n}\n\nfunc New() *Store {\n\treturn &Store{limit: max}\n}\n",
			"store/add.go":
				"package store\n\nconst max = 3\n\nfunc (s *Store) Add(item string) {\n\ts.items = append(s.items, item)\n}\n",
			"main.go":
				'package main\n\nimport "example.com/app/store"\n\nfunc main() {\n\ts := store.New()\n\ts.Add("x")\n}\n',
		},
		outline: {
			path: "store/store.go",
			symbols: [
				"Store type 4-7",
				"Store.items property 5-5",
				"Store.limit property 6-6",
				"New function 9-11",
			],
		},
		imports: { "main.go": ["store/add.go", "store/store.go"] },
		usages: {
			"store/store.go:9:6": ["main.go:6:13"],
			"store/store.go:4:6": ["store/add.go:5:10", "store/store.go:10:10", "store/store.go:9:13"],
			"store/add.go:3:7": ["store/store.go:10:23"],
			"store/add.go:5:17": ["main.go:7:4"],
			"store/store.go:5:2": ["store/add.go:6:21", "store/add.go:6:4"],
		},
		edit: {
			path: "store/add.go",
			text: "package store\n\nvar shared = New()\n\nconst max = 3\n",
			places: ["main.go:6:13", "store/add.go:3:14"],
		},
		broken: { path: "c.go", text: "package main\n\nfunc first() {}\n\nfunc ( {\n", keeps: "first" },
	},
	rust: {
		files: {
			"src/lib.rs": "mod shapes;\npub use crate::shapes::Circle;\n",
			"src/shapes.rs":
				"/// A circle.\npub struct Circle {\n    pub radius: f64,\n}\n\nimpl Circle {\n    pub fn area(&self) -> f64 {\n        self.radius\n    }\n}\n\npub enum Kind {\n    Small,\n}\n",
			"src/main.rs":
				"use super::shapes;\nfn main() {\n    let c = Circle { radius: 1.0 };\n    c.area();\n}\n",
		},
		outline: {
			path: "src/shapes.rs",
			symbols: [
				"Circle class 2-4",
				"Circle.radius property 3-3",
				"Circle.area method 7-9",
				"Kind enum 12-14",
				"Kind.Small property 13-13",
			],
		},
		imports: { "src/lib.rs": ["src/shapes.rs"] },
		usages: {
			"src/shapes.rs:2:12": ["src/lib.rs:2:24", "src/main.rs:3:13", "src/shapes.rs:6:6"],
			"src/shapes.rs:7:12": ["src/main.rs:4:7"],
		},
		edit: {
			path: "src/main.rs",
			text: "fn main() {}\n",
			places: ["src/lib.rs:2:24", "src/shapes.rs:6:6"],
		},
		broken: { path: "c.rs", text: "fn first() {}\n\nfn (( {\n", keeps: "first" },
	},
	java: {
		files: {
			"src/main/java/com/acme/Shape.java":
				"package com.acme;\n\n/** A shape. */\npublic interface Shape {\n    double area();\n}\n",
			"src/main/java/com/acme/app/Main.java":
				"package com.acme.app;\n\nimport com.acme.Shape;\nimport java.util.List;\n\npublic class Main {\n    private int count;\n\n    public Main(Shape shape) {\n        shape.area();\n    }\n}\n",
		},
		outline: {
			path: "src/main/java/com/acme/app/Main.java",
			symbols: ["Main class 6-12", "Main.count property 7-7", "Main.Main method 9-11"],
		},
		imports: { "src/main/java/com/acme/app/Main.java": ["src/main/java/com/acme/Shape.java"] },
		usages: {
			"src/main/java/com/acme/Shape.java:4:18": [
				"src/main/java/com/acme/app/Main.java:3:17",
				"src/main/java/com/acme/app/Main.java:9:17",
			],
			"src/main/java/com/acme/Shape.java:5:12": ["src/main/java/com/acme/app/Main.java:10:15"],
		},
		edit: {
			path: "src/main/java/com/acme/app/Main.java",
			text: "package com.acme.app;\n\nclass Main {}\n",
			places: [],
		},
		broken: { path: "C.java", text: "class First {}\n\nclass {{\n", keeps: "First" },
	},
	"c#": {
		files: {
			"Shape.cs":
				"using System;\n\nnamespace Acme\n{\n    /// <summary>A shape.</summary>\n    public class Shape\n    {\n        private int sides;\n        public int Sides { get; set; }\n        public double Area() { return 0; }\n    }\n}\n",
			"Program.cs":
				"namespace Acme;\n\nclass Program {\n    static void Main() {\n        new Shape().Area();\n    }\n}\n",
		},
		outline: {
			path: "Shape.cs",
			symbols: [
				"Shape class 6-11",
				"Shape.sides property 8-8",
				"Shape.Sides property 9-9",
				"Shape.Area method 10-10",
			],
		},
		imports: {},
		usages: { "Shape.cs:6:18": ["Program.cs:5:13"], "Shape.cs:10:23": ["Program.cs:5:21"] },
		edit: { path: "Program.cs", text: "class Program {}\n", places: [] },
		broken: { path: "C.cs", text: "class First {}\n\nclass {{ ( \n", keeps: "First" },
	},
	php: {
		files: {
			"composer.json": '{ "autoload": { "psr-4": { "Acme\\\\": "src/" } } }',
			"src/Models/User.php":
				"<?php\n\nnamespace Acme\\Models;\n\n/** A user. */\nclass User\n{\n    const LIMIT = 3;\n    private $name;\n\n    public function greet(): string\n    {\n        return $this->name;\n    }\n}\n",
			"src/index.php":
				"<?php\n\nuse Acme\\Models\\User;\n\nrequire __DIR__ . '/helpers.php';\n\n$user = new User();\n$user->greet();\n",
			"src/helpers.php": "<?php\n\nfunction help() {}\n",
		},
		outline: {
			path: "src/Models/User.php",
			symbols: [
				"User class 6-15",
				"User.LIMIT property 8-8",
				"User.name property 9-9",
				"User.greet method 11-14",
			],
		},
		imports: { "src/index.php": ["src/Models/User.php", "src/helpers.php"] },
		usages: {
			"src/Models/User.php:6:7": ["src/index.php:3:17", "src/index.php:7:13"],
			"src/Models/User.php:11:21": ["src/index.php:8:8"],
		},
		edit: { path: "src/index.php", text: "<?php\nhelp();\n", places: [] },
		broken: { path: "c.php", text: "<?php\nfunction first() {}\n\nfunction ((\n", keeps: "first" },
	},
	ruby: {
		files: {
			"lib/shapes.rb": "require_relative 'shapes/circle'\n",
			"lib/shapes/circle.rb":
				"module Shapes\n  # A circle.\n  class Circle\n    LIMIT = 3\n    attr_reader :radius\n\n    def area(scale)\n      radius * scale\n    end\n  end\nend\n",
			"test/circle_test.rb": "require 'shapes'\n\nShapes::Circle.new.area(2)\n",
		},
		outline: {
			path: "lib/shapes/circle.rb",
			symbols: [
				"Shapes namespace 1-11",
				"Shapes.Circle class 3-10",
				"Shapes.Circle.LIMIT property 4-4",
				"Shapes.Circle.radius property 5-5",
				"Shapes.Circle.area method 7-9",
			],
		},
		imports: {
			"lib/shapes.rb": ["lib/shapes/circle.rb"],
			"test/circle_test.rb": ["lib/shapes.rb"],
		},
		usages: {
			"lib/shapes/circle.rb:7:9": ["test/circle_test.rb:3:20"],
			"lib/shapes/circle.rb:3:9": ["test/circle_test.rb:3:9"],
		},
		edit: { path: "test/circle_test.rb", text: "require 'shapes'\n", places: [] },
		broken: { path: "c.rb", text: "def first\nend\n\ndef ((\n", keeps: "first" },
	},
	c: {
		files: {
			"src/list.h":
				"#ifndef LIST_H\n#define LIST_H\n\n/* A list. */\ntypedef struct list {\n  int size;\n} list_t;\n\nint list_add(list_t *list, int value);\n#endif\n",
			"src/list.c":
				'#include "list.h"\n#include <stdio.h>\n\nint list_add(list_t *list, int value) {\n  list->size++;\n  return value;\n}\n',
			"src/main.c":
				'#include "list.h"\n\nint main(void) {\n  list_t list;\n  return list_add(&list, 3);\n}\n',
		},
		outline: {
			path: "src/list.h",
			symbols: [
				"LIST_H variable 2-2",
				"list class 5-7",
				"list.size property 6-6",
				"list_t type 7-7",
				"list_add function 9-9",
			],
		},
		imports: { "src/list.c": ["src/list.h"], "src/main.c": ["src/list.h"] },
		usages: {
			"src/list.h:9:5": ["src/list.c:4:5", "src/main.c:5:10"],
			"src/list.h:6:7": ["src/list.c:5:9"],
		},
		edit: {
			path: "src/main.c",
			text: "int main(void) { return 0; }\n",
			places: ["src/list.c:4:5"],
		},
		broken: { path: "c.c", text: "int first(void) { return 1; }\n\nint (( {\n", keeps: "first" },
	},
	"c++": {
		files: {
			"include/acme/shape.hpp":
				"#pragma once\n\nnamespace acme {\n\n/// A shape.\nclass Shape {\n public:\n  virtual double area() const;\n  int sides = 0;\n};\n\n}  // namespace acme\n",
			"src/shape.cpp":
				"#include <acme/shape.hpp>\n\nnamespace acme {\ndouble Shape::area() const { return sides; }\n}\n",
			"src/main.cpp":
				'#include "acme/shape.hpp"\n\nint main() {\n  acme::Shape shape;\n  shape.area();\n}\n',
		},
		outline: {
			path: "include/acme/shape.hpp",
			symbols: ["Shape class 6-10", "Shape.area method 8-8", "Shape.sides property 9-9"],
		},
		imports: {
			"src/shape.cpp": ["include/acme/shape.hpp"],
			"src/main.cpp": ["include/acme/shape.hpp"],
		},
		usages: {
			"include/acme/shape.hpp:6:7": ["src/main.cpp:4:9", "src/shape.cpp:4:8"],
			"include/acme/shape.hpp:8:18": ["src/main.cpp:5:9", "src/shape.cpp:4:15"],
		},
		edit: { path: "src/main.cpp", text: "int main() {}\n", places: ["src/shape.cpp:4:8"] },
		broken: { path: "c.cpp", text: "int first() { return 1; }\n\nclass {{ ((\n", keeps: "first" },
	},
};
