import { expect, test } from "vitest";
import type { Declared, Member } from "../../../src/codeindex/facts.ts";
import { factsOf } from "./language-project.ts";

/** `owner.name kind first-last`, and the comment after a slash, of all symbols. */
async function outlineOf(path: string, source: string): Promise<string[]> {
	const { bindings } = await factsOf(path, source);
	const lines = (one: Declared | Member, owner: string): string[] => {
		const { name, symbol, at, startLine = at[0], endLine, doc, members = [] } = one;
		return [
			`${owner}${name} ${symbol} ${startLine}-${endLine}${doc === undefined ? "" : ` / ${doc}`}`,
			...members.flatMap((member) => lines(member, `${owner}${name}.`)),
		];
	};
	return bindings.flatMap((one) => (one.kind === "declared" ? lines(one, "") : []));
}

async function signatureOf(path: string, source: string, name: string): Promise<string> {
	const { bindings } = await factsOf(path, source);
	const found = bindings.find((one) => one.kind === "declared" && one.name === name);
	return found?.kind === "declared" ? found.signature : "";
}

test("Java: components of records, sealed types, and annotations of several lines", async () => {
	const source = `/** A point. */
public record Point(int x, int... y) implements Shape {
    public Point {
    }
    record Inner<T>(T value) {}
}
sealed interface Shape permits Point {
    /** Its size. */
    double area();
}
class Made {
    @SuppressWarnings({
        "unchecked"
    })
    void all() {
    }
}
`;
	expect(await outlineOf("A.java", source)).toEqual([
		"Point class 2-6 / A point.",
		"Point.x property 2-2",
		"Point.y property 2-2",
		"Point.Point method 3-4",
		"Point.Inner class 5-5",
		"Point.Inner.value property 5-5",
		"Shape interface 7-10",
		"Shape.area method 9-9 / Its size.",
		"Made class 11-17",
		"Made.all method 12-16",
	]);
});

test("C#: parameters of records, indexers, operators, finalizers and members between directives", async () => {
	const source = `namespace Acme;
[Serializable]
public record Person(string Name, int Age);
public class Box(int size)
{
    /// <summary>The item.</summary>
    public string this[int i] => "";
    public static Box operator +(Box a, Box b) => a;
    public static explicit operator string(Box b) => "";
    ~Box() { }
#if DEBUG
    public void Debug() { }
#else
    public void Release() { }
#endif
}
`;
	expect(await outlineOf("A.cs", source)).toEqual([
		"Person class 2-3",
		"Person.Name property 3-3",
		"Person.Age property 3-3",
		"Box class 4-16",
		"Box.this method 7-7 / The item.",
		"Box.operator + method 8-8",
		"Box.operator string method 9-9",
		"Box.Box method 10-10",
		"Box.Debug method 12-12",
		"Box.Release method 14-14",
	]);
});

test("Rust: attributes and the comments above them, impl blocks in modules and of types without a name", async () => {
	const source = `/// A config.
#[derive(Debug)]
#[serde(
    rename_all = "camelCase",
)]
pub struct Config<T> {
    /// Its name.
    #[serde(default)]
    pub name: T,
}
impl<T> Config<T> {
    /// Makes one.
    #[inline]
    pub fn new() -> Self {
    }
}
impl Shape for u8 { fn area(&self) {} }
impl Shape for [u8] { fn area(&self) {} }
impl dyn Shape { fn boxed(&self) {} }
pub struct Pair(pub i32, String);
pub mod inner {
    pub struct Deep { pub a: u8 }
    impl Deep { pub fn method(&self) {} }
}
cfg_rt! {
    pub fn spawn() {
    }
}
cfg_if! {
    if #[cfg(unix)] {
        pub fn unix_only() {}
    } else {
        pub struct Other;
    }
}
macro_rules! twice { ($x:expr) => { $x * 2 } }
`;
	expect(await outlineOf("src/a.rs", source)).toEqual([
		"Config class 2-10 / A config.",
		"Config.name property 8-9 / Its name.",
		"Config.new method 13-15 / Makes one.",
		"u8 class 17-17",
		"u8.area method 17-17",
		"[u8] class 18-18",
		"[u8].area method 18-18",
		"Shape class 19-19",
		"Shape.boxed method 19-19",
		"Pair class 20-20",
		"inner namespace 21-24",
		"inner.Deep class 22-22",
		"inner.Deep.a property 22-22",
		"inner.Deep.method method 23-23",
		"spawn function 26-27",
		"unix_only function 31-31",
		"Other class 33-33",
		"twice function 36-36",
	]);
	expect(await signatureOf("a.rs", source, "Pair")).toBe("pub struct Pair(pub i32, String)");
	expect(await signatureOf("a.rs", source, "twice")).toBe("macro_rules! twice");
});

test("PHP: promoted parameters, constants by define, attributes", async () => {
	const source = `<?php
#[Attribute]
final readonly class User
{
    /** Makes one. */
    public function __construct(
        public readonly string $name,
        string $plain = '',
    ) {}
}
define('LIMIT', 4);
if (!defined('OTHER')) { define('OTHER', 4); }
`;
	expect(await outlineOf("a.php", source)).toEqual([
		"User class 2-10",
		"User.__construct method 6-9 / Makes one.",
		"User.name property 7-7",
		"LIMIT variable 11-11",
		"OTHER variable 12-12",
	]);
});

test("Ruby: private methods, aliases, structs, and what blocks and conditions define", async () => {
	const source = `module Acme
  Point = Struct.new(:x, :y) do
    def dist = 1
  end
  class Thing < Base
    # The secret.
    private def secret = 1
    private_class_method def self.pc
    end
    protected attr_reader :prot
    alias nick name
    alias_method :old, :name
    define_method(:dyn) { 1 }
    if RUBY_VERSION
      def cond; end
    end
  end
  module Mixin
    included do
      def inc; end
    end
    refine Regexp do
      def fits?; end
    end unless Regexp.method_defined?(:fits?)
    begin
      require "cookie"
    rescue LoadError
      class Cookie; end
    end
  end
end
`;
	expect(await outlineOf("a.rb", source)).toEqual([
		"Acme namespace 1-31",
		"Acme.Point class 2-4",
		"Acme.Point.x property 2-2",
		"Acme.Point.y property 2-2",
		"Acme.Point.dist method 3-3",
		"Acme.Thing class 5-17",
		"Acme.Thing.secret method 7-7",
		"Acme.Thing.pc method 8-9",
		"Acme.Thing.prot property 10-10",
		"Acme.Thing.nick method 11-11",
		"Acme.Thing.old method 12-12",
		"Acme.Thing.dyn method 13-13",
		"Acme.Thing.cond method 15-15",
		"Acme.Mixin namespace 18-30",
		"Acme.Mixin.inc method 20-20",
		"Acme.Mixin.fits? method 23-23",
		"Acme.Mixin.Cookie class 28-28",
	]);
});

test("C: types without a name, directives of several lines, and a return type on its own line", async () => {
	const source = `/* A point. */
typedef struct {
    int x, y;
    int (*cb)(void *, int);
    union { int i; float f; };
    struct { int deep; } sub;
} Point;
typedef enum { RED } Color;
enum { FIRST };
#define MULTI(a) \\
    a
static int
add(int a)
{
    return a;
}
static int __init start(void) { return 0; }
`;
	expect(await outlineOf("a.c", source)).toEqual([
		"Point class 2-7 / A point.",
		"Point.x property 3-3",
		"Point.y property 3-3",
		"Point.cb property 4-4",
		"Point.i property 5-5",
		"Point.f property 5-5",
		"Point.sub property 6-6",
		"Point.sub.deep property 6-6",
		"Color enum 8-8",
		"Color.RED property 8-8",
		"FIRST variable 9-9",
		"MULTI function 10-11",
		"add function 12-16",
		"__init variable 17-17",
		"start function 17-17",
	]);
	expect(await signatureOf("a.c", source, "Point")).toBe("typedef struct Point");
});

test("C++: modules, templates, macros before the name of a class, members of nameless unions", async () => {
	const source = `export module acme;
import std;
/// A box.
template <typename T>
class Box {
    union { int i; };
    template <class U>
    void set(U&& u) { }
};
export template <typename T> T twice(T x) { return x; }
export class Shown { int x; };
class ACME_API Named final : public Base { void go(); };
`;
	expect(await outlineOf("a.cpp", source)).toEqual([
		"Box class 4-9 / A box.",
		"Box.i property 6-6",
		"Box.set method 7-8",
		"twice function 10-10",
		"Shown class 11-11",
		"Shown.x property 11-11",
		"Named class 12-12",
		"Named.go method 12-12",
	]);
	const guarded = `#ifndef A_H\n${"namespace a {\n".repeat(6)}template <class T> class Deep {};\n${"}\n".repeat(6)}#endif\n`;
	expect(await outlineOf("a.hpp", guarded)).toEqual(["Deep class 8-8"]);
	expect((await factsOf("a.cpp", source)).status).toBe("parsed");
	expect(await signatureOf("a.cpp", source, "Named")).toBe(
		"class ACME_API Named final : public Base",
	);
});

test("Python: decorators, overloads and setters, classes in two branches, comments of members", async () => {
	const source = `@wraps(
    1,
)
def first(a):
    """The first."""

@overload
def two(a: int) -> int: ...
@overload
def two(a: str) -> str: ...
def two(a):
    return a

if windows:
    class Arena:
        def one(self):
            """Does it. Well."""
else:
    class Arena:
        @property
        def size(self):
            return 1

        @size.setter
        def size(self, value):
            pass
`;
	expect(await outlineOf("a.py", source)).toEqual([
		"first function 1-5 / The first.",
		"two function 7-12",
		"Arena class 15-17",
		"Arena.one method 16-17 / Does it.",
		"Arena.size property 20-26",
	]);
});

test("Go: comments of methods and fields", async () => {
	const source = `package a

// T is a type.
type T struct {
	// Name of it.
	Name string
}

// Run runs.
func (t *T) Run() {
}
`;
	expect(await outlineOf("a.go", source)).toEqual([
		"T type 4-7 / T is a type.",
		"T.Name property 6-6 / Name of it.",
		"T.Run method 10-11 / Run runs.",
	]);
});

test("TypeScript: decorators before the name and before export, and an export on its own line", async () => {
	const source = `/** A part. */
@Component({
	selector: "x",
})
export class Part {
	/** Its name. */
	@Input({
		required: true,
	})
	name!: string;
}
export const
	late = 1;
`;
	expect(await outlineOf("a.ts", source)).toEqual([
		"Part class 2-11 / A part.",
		"Part.name property 7-10 / Its name.",
		"late variable 12-13",
	]);
});
