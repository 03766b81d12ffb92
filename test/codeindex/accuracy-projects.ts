import type { ProjectFiles } from "./memory-project.ts";

/** A project that shows some rules, with the packages that a package manager would link. */
export interface SampleProject {
	readonly files: ProjectFiles;
	readonly links?: Readonly<Record<string, string>>;
	/** Mistakes that TypeScript must find in it, where the rule is about one. */
	readonly mistakes?: number;
	/** References about which TypeScript's type checker contradicts its own search, at most. */
	readonly disputed?: number;
	/** Right references to members that TypeScript does not find. */
	readonly beyond?: readonly string[];
}

/** Small projects that together cover every way in which names reach other files. */
export const PROJECTS: Readonly<Record<string, SampleProject>> = {
	"names through barrels, aliases and namespaces": {
		files: {
			"shapes.ts": [
				"export function area(side: number): number { return side * side; }",
				"export const UNIT = 1;",
				"export let counter = 0;",
				"export default class Square { constructor(readonly side = UNIT) {} }",
				"export type Side = number;",
				"export { UNIT as unit };",
				"counter++; counter = UNIT;",
				"const internal = area(UNIT);",
				"export { internal as shown };",
			].join("\n"),
			"barrel.ts": [
				"export * from './shapes';",
				"export { default } from './shapes';",
				"export { default as Square, area as surface } from './shapes.js';",
				"export * as shapes from './shapes';",
				"export type { Side as Edge } from './shapes.ts';",
			].join("\n"),
			"outer.ts": "export * from './barrel';\nexport { default } from './barrel';\n",
			"user.ts": [
				"import Main, { area, surface as s, Square, shapes, type Edge, unit, shown } from './outer';",
				"import * as all from './outer';",
				"import Again from './shapes';",
				"import type { Side } from './barrel';",
				"const one: Edge = area(unit);",
				"const two: Side = s(one) + shown;",
				"const three = new Square(); const four = new Main(); const five = new Again();",
				"const six: Square = new all.Square(); const seven: all.Edge = all.area(2);",
				"const eight = shapes.area(3) + all.shapes.UNIT + all.unit; const nine = new shapes.default();",
				"export { one, area, all, shapes as forms }; export default Square;",
				"export const table = { area, s, [unit]: two, three, four, five, six, seven, eight, nine };",
			].join("\n"),
			"last.ts": [
				"import Deep, { area as last, forms, all, table, one } from './user';",
				"last(forms.area(1)); all.area(all.shapes.UNIT); new Deep(table.area(one));",
			].join("\n"),
		},
		// TypeScript does not look behind a namespace that was imported and passed on.
		disputed: 3,
	},
	"own names stand before those of a star, and the first star before the second": {
		files: {
			"a.ts": "export const both = 1; export const own = 1; export const a = 1;",
			"b.ts": "export const both = 2; export const b = 2;",
			"barrel.ts": "export * from './a'; export * from './b'; export const own = 3;",
			"user.ts": "import { both, own, a, b } from './barrel'; both + own + a + b;",
		},
		mistakes: 1,
		// TypeScript goes by the name alone where one hides another.
		disputed: 4,
	},
	"barrels that include each other": {
		files: {
			"a.ts": "export * from './b'; export const inA = 1;",
			"b.ts":
				"export * from './c'; export * from './a'; export const inB = inA; import { inA } from './a';",
			"c.ts": "export * from './a'; export const inC = 1;",
			"user.ts":
				"import { inA, inB, inC } from './c'; import * as a from './a'; inA + inB + inC + a.inC;",
		},
	},
	"an import that is exported afterwards": {
		files: {
			"origin.ts":
				"export const thing = 1; export default function run() {} export type Kind = 'a';",
			"middle.ts": [
				"import run, { thing, type Kind } from './origin';",
				"import * as origin from './origin';",
				"export { thing, run as start, origin, type Kind }; export default thing;",
			].join("\n"),
			"user.ts": [
				"import value, { thing, start, origin, type Kind } from './middle';",
				"start(); origin.default(); const k: Kind = 'a'; const o: origin.Kind = k; thing + value + origin.thing; o;",
			].join("\n"),
		},
		// As above: a namespace that was passed on.
		disputed: 3,
	},
	"classes, interfaces, JSX and types": {
		files: {
			"base.ts": [
				"export class Base<T = string> { static create(): Base { return new Base(); } value?: T; }",
				"export interface Shown { show(): string }",
				"export interface Shown { hide?(): void }",
				"export enum Color { Red, Green = Red }",
				"export abstract class Middle extends Base implements Shown { abstract show(): string; }",
				"export const enum Level { Low }",
				"export type Pair<A, B> = { left: A; right: B };",
				"export function isBase(value: unknown): value is Base { return value instanceof Base; }",
				"export declare const declared: Color;",
			].join("\n"),
			"view.tsx": [
				"import { Base, type Shown, Color, Middle, Level, type Pair, isBase, declared } from './base';",
				"import * as base from './base';",
				"export class View extends Middle implements Shown, base.Shown { show() { return ''; } render() { return <div />; } }",
				"export class Other extends base.Base<number> { kind: typeof Base = Base; made = Base.create(); }",
				"export interface More extends Shown, Pair<Base, Other> { c: Color.Red; d: keyof Shown; l: Level }",
				"export function Box(props: { children?: unknown }) { return <View />; }",
				"export const tree = <Box><View></View></Box>;",
				"export const parts = { Box }; export const member = <parts.Box></parts.Box>;",
				"export type Made = ReturnOf<typeof isBase>; type ReturnOf<F extends (x: Base) => unknown> = F;",
				"function generic<T extends Base>(x: T): Pair<T, Shown> { return x as unknown as Pair<T, Shown>; }",
				"const color = Color.Green; const level = Level.Low; const c: base.Color = base.Color.Red; generic;",
				"export default (x: Base) => x satisfies Base; declared; color; level; c;",
			].join("\n"),
			"app.tsx": [
				"import make, { View, Box, tree, type More, type Made } from './view';",
				"import * as view from './view';",
				"export const app = <view.Box><Box>{tree}<View /></Box></view.Box>;",
				"let more: More | undefined; let made: Made; more; make(new View());",
			].join("\n"),
		},
	},
	"names that hide others": {
		files: {
			"names.ts":
				"export const name = 1; export function run(x: number) { return x; } export type T = number; export class C {}",
			"user.ts": [
				"import { name, run, type T, C } from './names';",
				"function inner(name: string) { const run = () => name; return run(); }",
				"{ const name = 2; let T = name; T; }",
				"for (const name of [1]) { run(name); }",
				"try { run(name); } catch (name) { name; }",
				"function generic<T, C>(x: T, y: C): T { let z: C = y; z; return x; }",
				"const object = { name: 1, run() { return name; }, T: 2 }; object.name; object.run();",
				"class Local { name = name; run() { return this.name; } C = C; }",
				"label: for (;;) { break label; }",
				"const { name: renamed, run: run2 = run } = object; renamed; run2;",
				"var later = hoisted(); function hoisted(): T { return name; } if (later) { var run3: unknown = run; }",
				"const f = function name(): unknown { return name; }; const g = class C { x = C }; f; g;",
				"type Mapped = { [name in 'a']: T }; type Inferred<X> = X extends (infer T)[] ? T : never;",
				"enum E { name, other = name } let q: Mapped | Inferred<C[]> | undefined; q; E; inner; generic; Local;",
				"switch (later) { case name: { const name = 5; name; } } export { name as default };",
			].join("\n"),
		},
	},
	"modules without a name": {
		files: {
			"lib.ts": [
				"export function load(): number { return 1; }",
				"export interface Options { deep: boolean }",
				"export default class Loader {}",
				"export const value = 1;",
			].join("\n"),
			"user.ts": [
				"export async function go() {",
				"  const lib = await import('./lib'); lib.load(); new lib.default();",
				"  const { load, value: v } = await import('./lib'); load(); v;",
				"  (await import('./lib')).load();",
				"  import('./lib').then((m) => m.load());",
				"  import('./lib').then(({ load }) => load());",
				"}",
				"export type O = import('./lib').Options;",
				"export type L = typeof import('./lib');",
				"export let x: import('./lib').default; export let y: typeof import('./lib').load;",
				"export let z: import('./lib').Options['deep'];",
			].join("\n"),
		},
	},
	CommonJS: {
		files: {
			"lib.js": [
				"function first() { return 1; }",
				"const second = () => first();",
				"class Third {}",
				"module.exports = { first, second, renamed: Third };",
			].join("\n"),
			"named.js":
				"exports.one = function (/** @type {number} */ x) {}; exports.two = 2; module.exports.three = exports.two;\n",
			"whole.cjs": "class Whole { run() {} }\nmodule.exports = Whole;\n",
			"user.js": [
				"const lib = require('./lib');",
				"const { first, renamed: Third } = require('./lib');",
				"const { one, two } = require('./named');",
				"const Whole = require('./whole.cjs');",
				"lib.second(); first(); new Third(); one(two); new Whole().run(); require('./named').three;",
				"const named = require('./named'); named.one(named.two);",
			].join("\n"),
		},
		// To TypeScript a property of `module.exports` is not the function behind it; nor does it follow `require`d names.
		disputed: 10,
	},
	"copies of namespaces": {
		files: {
			"lib.ts": "export function fn() {}\nexport function other() {}\nexport class Made {}\n",
			"inner.ts": "export * as lib from './lib';\n",
			"user.ts": [
				"import * as lib from './lib';",
				"import * as inner from './inner';",
				"const copy = lib; copy.fn(); const again = copy; again.fn(); new again.Made();",
				"export const deep = inner.lib; deep.fn(); inner.lib.other();",
				"export const api = { lib, named: lib, more: { lib } };",
				"api.lib.fn(); api.named.other(); api.more.lib.fn();",
				"let taken: () => void; let fn: () => void; ({ fn: taken, fn } = lib); taken(); fn();",
				"export { copy }; export default api; const alias = lib.fn; alias();",
				"function inside() { const local = lib; local.fn(); }",
			].join("\n"),
			"far.ts": [
				"import api, { copy, deep, api as same } from './user';",
				"import * as user from './user';",
				"copy.fn(); deep.other(); api.lib.fn(); same.named.other(); user.copy.fn(); user.api.more.lib.fn();",
				"let x: typeof copy.Made; let y: typeof deep; export { x, y };",
			].join("\n"),
		},
	},
	"export assignment and import equals": {
		files: {
			"tsconfig.json":
				'{ "compilerOptions": { "module": "commonjs", "moduleResolution": "node10", "esModuleInterop": true } }',
			"tool.ts":
				"class Tool { run() {} }\nnamespace Tool { export const version = 1; }\nexport = Tool;\n",
			"space.ts":
				"export namespace Outer { export namespace Inner { export const deep = 1; } export type X = number; }\n",
			"user.ts": [
				"import Tool = require('./tool');",
				"import * as star from './space';",
				"import { Outer } from './space';",
				"import Short = Outer.Inner;",
				"new Tool().run(); Tool.version; Short.deep; Outer.Inner.deep; star.Outer.Inner.deep;",
				"let x: Outer.X; export { Tool, x };",
			].join("\n"),
			"other.ts": "import Tool from './tool'; new Tool(); export default Tool.version;",
		},
	},
	"merged declarations and overloads": {
		files: {
			"merged.ts": [
				"export function over(x: string): string;",
				"export function over(x: number): number;",
				"export function over(x: unknown): unknown { return x; }",
				"export class Both {} export namespace Both { export const inside = 1; export function f() { return inside; } }",
				"export interface Both { more?: string }",
				"export const Twin = { a: 1 }; export type Twin = { a: number };",
				"export enum Open { A } export enum Open { B = 1 }",
				"over.extra = 1;",
			].join("\n"),
			"user.ts": [
				"import { over, Both, Twin, Open } from './merged';",
				"over('a'); over(1); new Both().more; Both.inside; Both.f(); over.extra;",
				"const twin: Twin = Twin; twin.a; Open.A + Open.B;",
				"declare module './merged' { interface Both { added?: number } }",
			].join("\n"),
		},
	},
	"extensions, folders and declaration files": {
		files: {
			"one.ts": "export const one = 1;",
			"two.tsx": "export const two = 2;",
			"three.mts": "export const three = 3;",
			"four.cts": "export const four = 4;",
			"five/index.ts": "export const five = 5;",
			"six.d.ts": "export declare const six: number;",
			"six.js": "export const six = 6;",
			"seven.ts": "export const seven = 'ts';",
			"seven/index.ts": "export const seven = 'folder';",
			"eight.jsx": "export const eight = 8;",
			"user.ts": [
				"import { one } from './one.js'; import { two } from './two.js'; import { three } from './three.mjs';",
				"import { four } from './four.cjs'; import { five } from './five'; import { five as f } from './five/index.js';",
				"import { six } from './six'; import { seven } from './seven'; import { eight } from './eight.jsx';",
				"import { seven as folder } from './seven/index'; import { one as same } from './one.ts'; import './one';",
				"one; two; three; four; five; f; six; seven; eight; folder; same;",
			].join("\n"),
			"sub/up.ts":
				"import { one } from '../one'; import { five } from '../five/'; import * as here from '.'; one; five; here.x;",
			"sub/index.ts": "import { one } from '..'; export const x = one;",
			"index.ts": "export * from './one';",
		},
	},
	"properties of all that CommonJS exports": {
		files: {
			"parts.js":
				"exports = module.exports = create;\nfunction create() {}\nfunction part() {}\nexports.part = part;\nexports.made = 1;\n",
			"user.js": [
				"const create = require('./parts'); create(); create.part(); create.made;",
				"const { part } = require('./parts'); part();",
			].join("\n"),
		},
		disputed: 3,
	},
	"objects, classes and functions that CommonJS exports as values": {
		files: {
			"request.js": [
				"module.exports = {",
				"	get header() { return this.url; },",
				"	set header(/** @type {string} */ value) { this.url = value; },",
				"	url: '/',",
				"	list() { return [1].map(() => this.header + this.get('x')); },",
				"	get(/** @type {string} */ name) { return name; },",
				"	other() { return function () { return this.url; }; },",
				"};",
			].join("\n"),
			"app.js":
				"module.exports = class App {\n\tstatic get default() { return App; }\n\trun() { return new App(); }\n};\n",
			"create.js":
				"module.exports = function create(/** @type {number} */ n) { create; return n; };\n",
			"named.js": "exports.helper = function helper() { return helper; };\nexports.count = 1;\n",
			"user.js": [
				"const helper = require('./named').helper;",
				"const count = require('./named').count;",
				"const App = require('./app');",
				"const create = require('./create');",
				"const request = require('./request');",
				"helper(); count; new App(); create(1); request.get(request.header); request.list();",
			].join("\n"),
		},
		// In the inner function, `this` has no type. TypeScript does not follow the names of `require('./named').helper`.
		mistakes: 1,
		disputed: 4,
	},
	"CommonJS under a condition": {
		// Conditions on `define` and `window`, which no library declares.
		mistakes: 3,
		disputed: 6,
		files: {
			"block.js":
				"function block() {}\nif (typeof module === 'object') {\n\tmodule.exports = block;\n}",
			"bare.js":
				"function bare() {}\nif (typeof define === 'function') define(bare);\nelse if (typeof module === 'object' && module.exports) module.exports = bare;\nelse window.bare = bare;",
			"names.js":
				"function one() {}\nconst two = 2;\nif (typeof exports !== 'undefined') {\n\texports.one = one;\n\texports.second = two;\n}",
			"object.js":
				"function one() {}\nclass Two {}\ntry {\n\tmodule.exports = { one, Two };\n} catch {}",
			"logical.js":
				"function logical() {}\ntypeof module === 'object' && (module.exports = logical);",
			"hidden.js":
				"const api = 1;\nif (typeof module === 'object') {\n\tconst api = 2;\n\tmodule.exports = api;\n}\napi;",
			"wrapped.js":
				"(function (root, factory) {\n\tif (typeof module === 'object' && module.exports) module.exports = factory();\n\telse root.wrapped = factory();\n})({ wrapped: {} }, function () {\n\treturn { run() {} };\n});",
			"user.js": [
				"const block = require('./block'); block();",
				"const bare = require('./bare'); bare();",
				"const { one, second } = require('./names'); one(); second;",
				"const object = require('./object'); object.one(); new object.Two();",
				"const logical = require('./logical'); logical();",
				"const hidden = require('./hidden'); hidden;",
				"const wrapped = require('./wrapped'); wrapped.run();",
			].join("\n"),
			"user.mjs":
				"import block from './block.js'; import { one } from './names.js'; block(); one();",
		},
	},
	"declaration files beside JavaScript": {
		// TypeScript does not see the members of an object that becomes a prototype.
		beyond: [
			"index.d.ts:2:50 (Reader.parse of Reader.js)",
			"test/index.js:2:36 (Reader.parse of Reader.js)",
			"Reader.js:2:22 (Reader.parse of index.d.ts)",
		],
		// TypeScript's search leaves out names that `require` of a declaration file brings in.
		disputed: 12,
		files: {
			"index.js": [
				"var Reader = require('./Reader');",
				"var isReadable = require('./Reader-readable');",
				"module.exports = { Reader, isReadable };",
			].join("\n"),
			"index.d.ts": [
				"export function isReadable(text: string): boolean;",
				"export class Reader { constructor(text: string); parse(): string; }",
				"export type Made = Reader;",
			].join("\n"),
			"Reader.js": [
				"function Reader() { this.text = ''; }",
				"Reader.prototype = { parse() { return this.text; } };",
				"if (typeof module === 'object') {",
				"	module.exports = Reader;",
				"}",
			].join("\n"),
			"Reader-readable.js": [
				"function isReadable() { return true; }",
				"if (typeof module === 'object') module.exports = isReadable;",
			].join("\n"),
			"page.mjs": "export class Page { print() { return this.title(); } title() { return ''; } }",
			"page.d.mts": "export class Page { print(): string; title(): string; }",
			"test/index.js": [
				"var { Reader, isReadable } = require('../index');",
				"isReadable('a') && new Reader('a').parse();",
			].join("\n"),
			"test/whole.js": "var api = require('../index.js'); new api.Reader('a'); api.isReadable('');",
			"test/Reader.js": "var Reader = require('../Reader.js'); new Reader();",
			"test/page.mjs": "import { Page } from '../page.mjs'; new Page().print();",
			"barrel.mjs": "export * from './page.mjs'; export { Page as Sheet } from './page.mjs';",
			"test/barrel.mjs":
				"import { Page, Sheet } from '../barrel.mjs'; new Page(); new Sheet().title();",
		},
	},
	"members that JavaScript assigns": {
		// TypeScript reports parameters without types and, since it checks JavaScript here, functions with a prototype.
		mistakes: 7,
		disputed: 6,
		files: {
			"layer.js": [
				"module.exports = Layer;",
				"function Layer(path) {",
				"	this.path = path;",
				"	this.count = 0;",
				"}",
				"Layer.prototype.match = function match(path) { return this.test(path) && this.path === path; };",
				"Layer.prototype.test = function (path) { this.count = this.count + 1; return path; };",
				"Layer.create = function (path) { return new Layer(path); };",
				"Layer.LIMIT = 3;",
			].join("\n"),
			"store.js": [
				"class Store { constructor() { this.size = 0; } }",
				"Store.prototype.add = function (item) { this.size = item; return this.add; };",
				"Store.shared = new Store();",
				"exports.Store = Store;",
				"const tools = {};",
				"tools.hammer = function () { return tools.saw; };",
				"tools.saw = 1;",
				"exports.tools = tools;",
			].join("\n"),
			"user.js": [
				"const Layer = require('./layer');",
				"const { Store, tools } = require('./store');",
				"const layer = new Layer('a');",
				"layer.match('b'); layer.test('c'); layer.path; layer.count;",
				"Layer.create('d'); Layer.LIMIT;",
				"const store = new Store(); store.add(1); store.size; Store.shared;",
				"tools.hammer(); tools.saw;",
			].join("\n"),
			"view.ts":
				"export function View() { return View.title; }\nView.title = 'a';\nView.render = () => View.title;\n",
			"main.ts": "import { View } from './view'; View(); View.title; View.render();",
		},
	},
	"paths of tsconfig, per folder, with comments": {
		files: {
			"tsconfig.json":
				'{ // comment\n "compilerOptions": { "baseUrl": ".", "paths": { "@lib/*": ["lib/*"], "@one": ["lib/one.ts"], }, } }',
			"lib/one.ts": "export const one = 1;",
			"lib/deep/two.ts": "export const two = 2;",
			"app/main.ts":
				"import { one } from '@one'; import { two } from '@lib/deep/two'; import { one as o } from 'lib/one'; one + two + o;",
			"other/tsconfig.json": '{ "extends": "./base.json", "compilerOptions": { "strict": true } }',
			"other/base.json": '{ "compilerOptions": { "paths": { "@lib/*": ["./own/*"] } } }',
			"other/own/one.ts": "export const one = 'own';",
			"other/main.ts": "import { one } from '@lib/one'; one;",
		},
	},
	"packages of a workspace, exports and imports": {
		files: {
			"package.json": '{ "name": "root", "private": true, "workspaces": ["packages/*"] }',
			"packages/core/package.json":
				'{ "name": "@w/core", "type": "module", "exports": { ".": "./src/index.ts", "./deep/*": "./src/deep/*.ts", "./data": { "types": "./src/data.ts", "default": "./dist/data.js" } }, "imports": { "#inner": "./src/inner.ts", "#deep/*": "./src/deep/*.ts" } }',
			"packages/core/src/index.ts":
				"export { inner } from '#inner'; export * from '#deep/one'; export { data } from '@w/core/data';",
			"packages/core/src/inner.ts": "export const inner = 1;",
			"packages/core/src/deep/one.ts": "export const one = 1; export default class One {}",
			"packages/core/src/data.ts": "export const data = [1];",
			"packages/plain/package.json":
				'{ "name": "plain", "main": "src/main.ts", "types": "src/main.ts" }',
			"packages/plain/src/main.ts": "export class Plain {}",
			"packages/app/package.json":
				'{ "name": "@w/app", "dependencies": { "@w/core": "*", "plain": "*" } }',
			"packages/app/src/app.ts": [
				"import { inner, one } from '@w/core'; import One from '@w/core/deep/one'; import { data } from '@w/core/data';",
				"import { Plain } from 'plain';",
				"inner; one; new One(); data.length; new Plain();",
			].join("\n"),
		},
		links: { "@w/core": "packages/core", plain: "packages/plain", "@w/app": "packages/app" },
	},
	"members of classes, objects, interfaces and enums": {
		files: {
			"store.ts": [
				"export interface Reader { read(key: string): string; readonly size: number }",
				"export class Base { close() { return this.count; } protected count = 0; static shared = new Base(); }",
				"export class Store extends Base implements Reader {",
				"  #secret = 1; items: string[] = []; log = new Log();",
				"  constructor(private readonly reader: Reader, public name = 'x') { super(); }",
				"  read(key: string) { this.log.warn(key); this.count++; return this.reader.read(key) + this.name + this.#secret; }",
				"  get size() { return this.items.length; }",
				"  static open(reader: Reader): Store { return new Store(reader); }",
				"  async later(): Promise<Store> { this.close(); return this; }",
				"}",
				"export class Log { warn(text: string) { return this.level + text; } level: Level = Level.Low; child(): Log { return this; } }",
				"export enum Level { Low, High }",
				"export const tools = { hammer: 1, saw(x: number) { return x; }, nested: { deep: 1 } };",
				"export function open(): Store { return Store.open(tools as unknown as Reader); }",
				"export type Options = { verbose: boolean; log?: Log };",
			].join("\n"),
			"user.ts": [
				"import { Store, type Reader, tools, Level, open, Base, Log, type Options } from './store';",
				"import * as all from './store';",
				"const store = Store.open({ read: (k) => k, size: 0 });",
				"store.read('a'); store.log.warn('b'); store.name; store.size; store.close();",
				"function use(reader: Reader, options: Options) { reader.read('x'); options.verbose; options.log?.warn('y'); return reader.size; }",
				"tools.hammer + tools.saw(1) + tools.nested.deep; Level.High; Base.shared.close();",
				"open().log.child().warn('z'); new Store(store).read('q'); all.tools.hammer; all.Level.Low; new all.Log().warn('w');",
				"async function f() { const later = await store.later(); later.close(); (await open().later()).read('k'); }",
				"const { hammer, nested: { deep } } = tools; hammer; deep;",
				"class Sub extends Store { override read(key: string) { return super.read(key) + this.log.level; } }",
				"new Sub(store).read('s'); new Sub(store).close(); f; use(store, { verbose: true, log: new Log() });",
				"for (const s of [store]) { s.close(); } [store].map((x) => x.read('m'));",
				"const { read, size } = store; read; size; let maybe: Store | undefined; maybe?.close(); maybe!.close();",
				"const typed: Reader = store; typed.read('t'); (store as Reader).read('u'); store['read']('v');",
			].join("\n"),
		},
		// To TypeScript a destructured variable is the property as well.
		disputed: 25,
	},
};
