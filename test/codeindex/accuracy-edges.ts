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
