import type { SampleProject } from "./accuracy-projects.ts";

/** Constructs at the edge of what can be followed without a type checker. */
export const EDGE_PROJECTS: Readonly<Record<string, SampleProject>> = {
	"functions that return an import": {
		files: {
			"parts.ts":
				"export function first() {}\nexport function second() {}\nexport class Third {}\n",
			"load.ts": [
				"export const load = () => import('./parts');",
				"export async function loadLater() {",
				"	return await import('./parts');",
				"}",
				"export const api = { load: () => import('./parts') };",
				"async function own() {",
				"	const { first } = await load();",
				"	first();",
				"	(await loadLater()).second();",
				"	const inner = () => import('./parts');",
				"	(await inner()).second();",
				"}",
				"own();",
			].join("\n"),
			"user.ts": [
				"import { load, loadLater } from './load';",
				"import * as loaders from './load';",
				"export async function use() {",
				"	const { first, second: other } = await load();",
				"	const parts = await loadLater();",
				"	first(); other(); parts.second(); new parts.Third();",
				"	(await loaders.load()).first();",
				"}",
			].join("\n"),
		},
	},
	"namespaces spread into objects": {
		// TypeScript searches only files that import the symbol's own file.
		disputed: 3,
		files: {
			"ops.ts": "export function add() {}\nexport function sub() {}\n",
			"more.ts": "export function mul() {}\nexport function sub() {}\n",
			"api.ts": [
				"import * as ops from './ops';",
				"import * as more from './more';",
				"export const all = { ...ops, ...more, extra: 1 };",
				"export const math = { ...ops };",
				"all.add();",
				"all.mul();",
			].join("\n"),
			"user.ts":
				"import { all, math } from './api';\nall.add(); all.mul(); math.sub(); all.extra;\n",
		},
	},
	"keys of objects by declared parameter types": {
		files: {
			"options.ts":
				"export interface Options { depth: number; name?: string; inner?: { deep: number } }\n",
			"open.ts": [
				"import type { Options } from './options';",
				"export function open(path: string, options: Options = { depth: 1 }) { return options.depth + path.length; }",
				"export class Reader { constructor(options: Options) { options.name; } }",
				"export const make = (options: Options) => options.depth;",
				"open('x', { depth: 2, name: 'y' });",
				"new Reader({ depth: 3 });",
				"make({ depth: 4 });",
				"function local() { const inner = (options: Options) => options.name; inner({ depth: 5 }); }",
				"local();",
			].join("\n"),
		},
	},
	"keys of objects by parameter types of other files": {
		files: {
			"options.ts":
				"export interface Options { depth: number; name?: string; inner?: { deep: number } }\n",
			"open.ts": [
				"import type { Options } from './options';",
				"export function open(path: string, options: Options) { return options.depth + path.length; }",
				"export class Reader { constructor(options: Options) { options.name; } read(options?: Options) { return options; } }",
				"export class Fast extends Reader {}",
				"export class Own extends Reader { constructor(own: { depth: number }) { super({ depth: own.depth }); } }",
				"export type Opener = (options: Options) => void;",
				"export interface Host { open(options: Options): void; close: (options: Options) => void }",
				"export const tools = { open(options: Options) { return options; }, inner: { close: (options: Options) => options } };",
				"export function either(options: Options): void;",
				"export function either(options: { depth: string }): void;",
				"export function either(options: unknown) { return options; }",
			].join("\n"),
			"user.ts": [
				"import { either, Fast, type Host, open, type Opener, Own, Reader, tools } from './open';",
				"import * as all from './open';",
				"open('x', { depth: 2, name: 'y', inner: { deep: 1 } });",
				"all.open('x', { depth: 2 });",
				"new Reader({ depth: 3 }).read({ depth: 4 });",
				"new Fast({ depth: 5 });",
				"new Own({ depth: 6 });",
				"tools.open({ depth: 7 }); tools.inner.close({ depth: 8 });",
				"either({ depth: 'x' });",
				"export const use = (host: Host, opener: Opener) => { host.open({ depth: 9 }); host.close({ depth: 10 }); opener({ depth: 11 }); };",
			].join("\n"),
		},
	},
	"members of unions, of type parameters, and of classes that replace statics": {
		files: {
			"shapes.ts": [
				"export interface Circle { kind: 'circle'; radius: number; label: string }",
				"export interface Square { kind: 'square'; side: number; label: string }",
				"export type Shape = Circle | Square;",
				"export type Same<T extends Circle> = T;",
				"export type Other = Same<{ kind: 'circle'; radius: number; label: string; more: 1 }>;",
				"export class Base { static unit = 1; grow() {} }",
				"export class Derived extends Base { static unit = 2; override grow() {} }",
			].join("\n"),
			"user.ts": [
				"import { Base, Derived, type Other, type Shape } from './shapes';",
				"export function area(shape: Shape, other: Other) {",
				"	if (shape.kind === 'square') return shape.side + shape.label.length;",
				"	return shape.radius + other.radius;",
				"}",
				"/** See {@link Derived#grow}, {@link Base#unit} and {@link Base.unit}. */",
				"export const units = Base.unit + Derived.unit;",
				"new Derived().grow(); new Base().grow();",
			].join("\n"),
		},
	},
	"augmented modules": {
		files: {
			"package.json": '{ "name": "app" }',
			"agent.ts": "export interface Messages { text: string }\nexport class Agent { run() {} }\n",
			"index.ts": "export * from './agent';\n",
			"custom.ts": [
				"import type { Messages } from './agent';",
				"declare module './agent' {",
				"	interface Messages { custom: number }",
				"}",
				"export const messages: Messages = { text: '', custom: 1 };",
			].join("\n"),
			"through.ts":
				"declare module './index' {\n\tinterface Extra { more: number }\n}\nexport {};\n",
		},
	},
	"exports of functions that run at once": {
		// TypeScript reports `!` before a function without a result.
		mistakes: 1,
		disputed: 4,
		files: {
			"tsconfig.json": '{ "compilerOptions": { "allowJs": true } }',
			"plain.js": [
				"(function () {",
				"	function plain() { return plain; }",
				"	function other() { plain(); }",
				"	other();",
				"	module.exports = plain;",
				"})();",
			].join("\n"),
			"named.js":
				"!function () {\n\tvar one = 1;\n\tfunction two() { return one; }\n\texports.one = one;\n\texports.two = two;\n}();\n",
			"user.js":
				"const plain = require('./plain');\nconst { one, two } = require('./named');\nplain(); two(); one;\n",
		},
	},
};
