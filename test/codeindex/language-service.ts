import { posix } from "node:path";
import ts from "typescript-5";
import type { ProjectFiles } from "./memory-project.ts";

/** What TypeScript itself says about a project that only exists in memory. */
export interface Oracle {
	/** All references to what stands at a place, as `path:line:column`; the place itself is among them. */
	references(path: string, line: number, column: number): ReadonlySet<string>;
	/**
	 * Whether the name at the second place means what is declared at the first, as the type checker sees it. The search
	 * for references goes by imports before it asks the checker, and errs where a namespace is passed on or a name of
	 * `export *` is hidden.
	 */
	means(declaration: string, place: string): boolean;
	/**
	 * Where the thing that is declared at a place is declared by the other file of a pair, `a.d.ts` and `a.js`: what both
	 * export by one name. To TypeScript the two have nothing to do with each other.
	 */
	counterparts(declaration: string): readonly string[];
	/** Whether the place is the name of `{ name }`, which is a property and a variable at once. */
	isShorthand(place: string): boolean;
	isThis(place: string): boolean;
	/** The file of the project that a specifier leads to. */
	resolve(from: string, specifier: string): string | undefined;
	/** Mistakes that TypeScript finds, to see that a project means what it should. */
	mistakes(): readonly string[];
}

/** Compiler options of files that no `tsconfig.json` speaks of. */
const DEFAULTS: ts.CompilerOptions = {
	target: ts.ScriptTarget.ES2022,
	module: ts.ModuleKind.ESNext,
	moduleResolution: ts.ModuleResolutionKind.Bundler,
	jsx: ts.JsxEmit.Preserve,
	allowJs: true,
	checkJs: true,
	allowImportingTsExtensions: true,
	noEmit: true,
	strict: true,
	noLib: true,
	types: [],
};

/** Files outside of the project: TypeScript's own library, and installed packages. */
export interface Surroundings {
	/** The text of a file, by its path below `/project` or that of the library. */
	read(path: string): string | undefined;
	isFolder(path: string): boolean;
}

/**
 * Packages of a workspace are linked into `node_modules` of the root, as package managers do. Without surroundings, the
 * library is a small one.
 */
export function askTypeScript(
	files: ProjectFiles,
	links: Readonly<Record<string, string>> = {},
	outside?: Surroundings,
): Oracle {
	const all = new Map(Object.entries(files).map(([path, text]) => [`${ROOT}/${path}`, text]));
	if (!outside) all.set(LIB_PATH, LIB);
	const linked = Object.entries(links).map(([name, folder]) => {
		return [`${ROOT}/node_modules/${name}`, `${ROOT}/${folder}`] as const;
	});
	const real = (path: string): string => {
		const link = linked.find(([from]) => path === from || path.startsWith(`${from}/`));
		return link ? link[1] + path.slice(link[0].length) : path;
	};
	const folders = new Set<string>();
	for (const path of [...all.keys(), ...linked.map(([from]) => `${from}/x`)]) {
		for (let folder = posix.dirname(path); folder !== "/"; folder = posix.dirname(folder)) {
			folders.add(folder);
		}
	}
	const read = (path: string) => all.get(real(path)) ?? outside?.read(path);
	const host = {
		fileExists: (path: string) => read(path) !== undefined,
		readFile: read,
		directoryExists: (path: string) =>
			folders.has(real(path.replace(/\/$/, ""))) || outside?.isFolder(path) === true,
		realpath: real,
		getCurrentDirectory: () => ROOT,
		useCaseSensitiveFileNames: () => true,
	};
	const optionsOf = optionsByFolder(all);
	const sources = [...all.keys()].filter((path) => /\.[cm]?[jt]sx?$/.test(path));

	const resolveModule = (specifier: string, from: string, mode?: ts.ResolutionMode) =>
		ts.resolveModuleName(specifier, from, optionsOf(from), host, undefined, undefined, mode)
			.resolvedModule;
	const service = ts.createLanguageService({
		...host,
		getCompilationSettings: () => ({
			...DEFAULTS,
			...(outside && { noLib: false, skipLibCheck: true, types: ["node"] }),
			...rootSettings(optionsOf(`${ROOT}/x.ts`)),
		}),
		getScriptFileNames: () => sources,
		getScriptVersion: () => "1",
		getScriptSnapshot: (path) => {
			const text = read(path);
			return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
		},
		getDefaultLibFileName: (options) => (outside ? ts.getDefaultLibFilePath(options) : LIB_PATH),
		resolveModuleNameLiterals: (literals, from, _redirect, options, file) =>
			literals.map((literal) => ({
				resolvedModule: resolveModule(
					literal.text,
					from,
					ts.getModeForUsageLocation(file, literal, options),
				),
			})),
	});

	const program = service.getProgram() as ts.Program;
	const fileAt = (path: string) => program.getSourceFile(`${ROOT}/${path}`) as ts.SourceFile;
	const nodeAt = (place: string): ts.Node => {
		const [path = "", line, column] = place.split(":");
		const file = fileAt(path);
		const position = file.getPositionOfLineAndCharacter(Number(line) - 1, Number(column) - 1);
		const find = (node: ts.Node): ts.Node =>
			ts.forEachChild(node, (child) =>
				child.getStart(file) <= position && position < child.end ? find(child) : undefined,
			) ?? node;
		return find(file);
	};
	const placeOf = (node: ts.Node) => {
		const file = node.getSourceFile();
		const at = file.getLineAndCharacterOfPosition(node.getStart(file));
		return `${file.fileName.slice(ROOT.length + 1)}:${at.line + 1}:${at.character + 1}`;
	};
	const same = sameExports(program, sources, placeOf);
	return {
		references(path, line, column) {
			const position = fileAt(path).getPositionOfLineAndCharacter(line - 1, column - 1);
			const found = service.findReferences(`${ROOT}/${path}`, position) ?? [];
			return new Set(
				found.flatMap(({ references }) =>
					references.flatMap(({ fileName, textSpan }) => {
						if (!all.has(fileName)) return [];
						const file = program.getSourceFile(fileName) as ts.SourceFile;
						const at = file.getLineAndCharacterOfPosition(textSpan.start);
						return `${fileName.slice(ROOT.length + 1)}:${at.line + 1}:${at.character + 1}`;
					}),
				),
			);
		},
		means(declaration, place) {
			// A member of `Box<string>` is a symbol of its own; the declaration is the same.
			const declared = symbolsAt(program, nodeAt(declaration));
			const nodes = new Set(declared.flatMap(({ declarations = [] }) => declarations));
			return symbolsAt(program, nodeAt(place)).some(
				(symbol) =>
					declared.includes(symbol) || symbol.declarations?.some((node) => nodes.has(node)),
			);
		},
		counterparts: (declaration) =>
			same
				.filter((places) => places.includes(declaration))
				.flatMap((places) => places.filter((place) => place !== declaration)),
		isShorthand: (place) => ts.isShorthandPropertyAssignment(nodeAt(place).parent),
		isThis: (place) => nodeAt(place).kind === ts.SyntaxKind.ThisKeyword,
		resolve(from, specifier) {
			const resolved = resolveModule(specifier, `${ROOT}/${from}`)?.resolvedFileName;
			return resolved && all.has(resolved) ? resolved.slice(ROOT.length + 1) : undefined;
		},
		mistakes: () =>
			sources.flatMap((path) =>
				[...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)].map(
					({ messageText }) => `${path}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`,
				),
			),
	};
}

const ROOT = "/project";
const LIB_PATH = "/lib/lib.d.ts";

/** Just enough of a library for promises, arrays and JSX; the real one would take most of the time. */
const LIB = `
interface Array<T> { length: number; [n: number]: T; map<U>(f: (value: T) => U): U[]; push(value: T): number; }
interface ReadonlyArray<T> { length: number; readonly [n: number]: T; map<U>(f: (value: T) => U): U[]; }
interface Boolean {} interface CallableFunction {} interface Function {} interface IArguments {}
interface NewableFunction {} interface Number {} interface Object {} interface RegExp {}
interface String { length: number; toUpperCase(): string; }
interface PromiseLike<T> { then<U>(f: (value: T) => U | PromiseLike<U>): PromiseLike<U>; }
interface Promise<T> { then<U>(f: (value: T) => U | PromiseLike<U>): Promise<U>; }
interface PromiseConstructor { new <T>(run: (done: (value: T) => void) => void): Promise<T>; resolve<T>(value: T): Promise<T>; }
declare var Promise: PromiseConstructor;
interface Symbol {} interface SymbolConstructor { readonly iterator: unique symbol; } declare var Symbol: SymbolConstructor;
interface IteratorYieldResult<T> { done?: false; value: T; } interface IteratorReturnResult<T> { done: true; value: T; }
type IteratorResult<T, R = any> = IteratorYieldResult<T> | IteratorReturnResult<R>;
interface Iterator<T, R = any, N = any> { next(...values: [] | [N]): IteratorResult<T, R>; }
interface Iterable<T, R = any, N = any> { [Symbol.iterator](): Iterator<T, R, N>; }
interface IterableIterator<T, R = any, N = any> extends Iterator<T, R, N> { [Symbol.iterator](): IterableIterator<T, R, N>; }
interface Array<T> { [Symbol.iterator](): IterableIterator<T>; }
interface ImportMeta {} interface ImportCallOptions {} interface ImportAttributes {}
interface TemplateStringsArray extends ReadonlyArray<string> {}
type Partial<T> = { [P in keyof T]?: T[P] };
type Awaited<T> = T extends PromiseLike<infer U> ? U : T;
type Record<K extends string, T> = { [P in K]: T };
declare namespace JSX {
	interface Element {} interface ElementClass { render(): unknown; }
	interface IntrinsicElements { div: any; span: any; }
}
declare var console: { log(...values: unknown[]): void };
declare var module: { exports: any }; declare var exports: any;
declare function require(name: string): any;
`;

function optionsByFolder(all: ReadonlyMap<string, string>): (path: string) => ts.CompilerOptions {
	const configs = new Map<string, ts.CompilerOptions>();
	const parseHost: ts.ParseConfigHost = {
		useCaseSensitiveFileNames: true,
		readDirectory: () => [],
		fileExists: (path) => all.has(path),
		readFile: (path) => all.get(path),
	};
	for (const path of all.keys()) {
		if (!path.endsWith("/tsconfig.json")) continue;
		const { config } = ts.readConfigFile(path, (name) => all.get(name));
		const folder = posix.dirname(path);
		const { options } = ts.parseJsonConfigFileContent(config, parseHost, folder, {}, path);
		configs.set(folder, { ...DEFAULTS, ...options });
	}
	return (path) => {
		for (let folder = posix.dirname(path); folder !== "/"; folder = posix.dirname(folder)) {
			const options = configs.get(folder);
			if (options) return options;
		}
		return DEFAULTS;
	};
}

function symbolsAt(program: ts.Program, node: ts.Node): ts.Symbol[] {
	const checker = program.getTypeChecker();
	// A place at which nothing is written leads to the whole file.
	if (ts.isSourceFile(node)) return [];
	const { parent } = node;
	const direct = ts.isShorthandPropertyAssignment(parent)
		? checker.getShorthandAssignmentValueSymbol(parent)
		: ts.isExportSpecifier(parent)
			? checker.getExportSpecifierLocalTargetSymbol(parent)
			: checker.getSymbolAtLocation(node);
	if (!direct) return [];
	const isAlias = (direct.flags & ts.SymbolFlags.Alias) !== 0;
	const symbol = checker.getExportSymbolOfSymbol(
		isAlias ? checker.getAliasedSymbol(direct) : direct,
	);
	const exported = exportedByCommonJs(checker, symbol);
	// `({ name } = value)` reads a property and writes a variable.
	const property =
		ts.isIdentifier(node) && isAssigned(parent)
			? checker.getPropertySymbolOfDestructuringAssignment(node)
			: undefined;
	return [symbol, ...(exported ? [exported] : []), ...(property ? [property] : [])];
}

/** Whether a shorthand property is part of a pattern that is assigned to. */
function isAssigned(node: ts.Node): boolean {
	if (!ts.isShorthandPropertyAssignment(node)) return false;
	const { parent: literal } = node;
	const { parent } = literal;
	return ts.isBinaryExpression(parent) && parent.left === literal;
}

/** The places that declare one thing, for every name that both files of a pair export. */
function sameExports(
	program: ts.Program,
	paths: readonly string[],
	placeOf: (node: ts.Node) => string,
): readonly (readonly string[])[] {
	const checker = program.getTypeChecker();
	const exportsOf = (path: string) => {
		// The checker knows no symbol of a CommonJS file, the file does.
		const module = (program.getSourceFile(path) as { symbol?: ts.Symbol } | undefined)?.symbol;
		const all = module ? checker.getExportsOfModule(module) : [];
		const whole = module?.exports?.get(ts.InternalSymbolName.ExportEquals);
		const named = all.map((symbol) => [symbol.name, symbol] as const);
		return new Map(whole ? [...named, ["default", whole] as const] : named);
	};
	const behind = (symbol: ts.Symbol): ts.Symbol => {
		const isAlias = (symbol.flags & ts.SymbolFlags.Alias) !== 0;
		const next = isAlias ? checker.getAliasedSymbol(symbol) : exportedByCommonJs(checker, symbol);
		return next && next !== symbol ? behind(next) : symbol;
	};
	const placesOf = (one: ts.Symbol, other: ts.Symbol): string[][] => {
		const nodes = [...(one.declarations ?? []), ...(other.declarations ?? [])];
		const names = nodes.flatMap((node) => ts.getNameOfDeclaration(node) ?? []);
		const inside = (["members", "exports"] as const).flatMap((side) =>
			[...(one[side] ?? [])].flatMap(([name, member]) => {
				const same = other[side]?.get(name);
				return same ? placesOf(member, same) : [];
			}),
		);
		return [names.map(placeOf), ...inside];
	};
	return paths.flatMap((path) => {
		const plain = path.replace(/\.d\.([cm]?)ts$/, ".$1js");
		if (plain === path || !paths.includes(plain)) return [];
		const implemented = exportsOf(plain);
		return [...exportsOf(path)].flatMap(([name, symbol]) => {
			const other = implemented.get(name);
			return other ? placesOf(behind(symbol), behind(other)) : [];
		});
	});
}

/** What stands behind a property of `module.exports = { a, b: c }`: to TypeScript it is something of its own. */
function exportedByCommonJs(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol | undefined {
	const property = symbol.valueDeclaration;
	const assigned = property?.parent?.parent;
	if (!assigned || !ts.isBinaryExpression(assigned)) return undefined;
	if (assigned.left.getText() !== "module.exports") return undefined;
	if (ts.isShorthandPropertyAssignment(property)) {
		return checker.getShorthandAssignmentValueSymbol(property);
	}
	return ts.isPropertyAssignment(property)
		? checker.getSymbolAtLocation(property.initializer)
		: undefined;
}

/** What the one program needs from the configuration of the root. */
function rootSettings(options: ts.CompilerOptions): ts.CompilerOptions {
	const { module, moduleResolution, esModuleInterop } = options;
	return {
		...(module !== undefined && { module }),
		...(moduleResolution !== undefined && { moduleResolution }),
		...(esModuleInterop !== undefined && { esModuleInterop }),
	};
}
