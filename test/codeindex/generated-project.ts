import { posix } from "node:path";
import type { ProjectFiles } from "./memory-project.ts";

/** How large a generated project is. */
export interface ProjectSize {
	readonly files: number;
	/** Statements of each file, about. */
	readonly statements: number;
}

/** A project that compiles, with names that travel between its files in every way; the same for the same seed. */
export function generateProject(seed: number, { files, statements }: ProjectSize): ProjectFiles {
	const random = randomFrom(seed);
	const modules: Module[] = [];
	for (let index = 0; index < files; index++) {
		const module = new Module(pathOf(index, random), random);
		for (let count = 0; count < statements; count++) module.addStatement(modules);
		module.finish();
		modules.push(module);
	}
	return Object.fromEntries(modules.map(({ path, lines }) => [path, lines.join("\n")]));
}

type Kind = "function" | "class" | "constant" | "interface" | "alias" | "enum" | "namespace";

/** A name that can be used: what it is, and for a namespace what is in it. */
interface Usable {
	readonly kind: Kind;
	readonly inner?: ReadonlyMap<string, Usable>;
}

type Random = <T>(choices: readonly T[]) => T;

class Module {
	readonly path: string;
	readonly lines: string[] = [];
	readonly exports = new Map<string, Usable>();
	readonly #locals = new Map<string, Usable>();
	/** Exports that an own one of the same name may hide. */
	readonly #fromStars = new Set<string>();
	readonly #pick: Random;
	#count = 0;

	constructor(path: string, pick: Random) {
		this.path = path;
		this.#pick = pick;
	}

	addStatement(others: readonly Module[]): void {
		const sources = others.filter(({ exports }) => exports.size > 0);
		const fromOthers = ["import", "import", "namespace", "re-export", "star", "dynamic"] as const;
		const own = ["declare", "declare", "use", "use", "use", "hide", "list"] as const;
		const what = this.#pick(sources.length > 0 ? [...fromOthers, ...own] : own);
		if (what === "declare") this.#declare();
		else if (what === "use") this.#use();
		else if (what === "hide") this.#hide();
		else if (what === "list") this.#list();
		else this.#take(what, this.#pick(sources));
	}

	/** Makes sure that it is a module. */
	finish(): void {
		if (this.exports.size === 0) this.lines.push("export {};");
	}

	#declare(): void {
		const kind = this.#pick([
			"function",
			"class",
			"constant",
			"interface",
			"alias",
			"enum",
		] as const);
		const name = this.#newName();
		if (name === undefined) return;
		const body: Record<typeof kind, string> = {
			function: `function ${name}(...all: unknown[]): any { return all; }`,
			class: `class ${name} { own = 1; }`,
			constant: `const ${name} = 1;`,
			interface: `interface ${name} { own?: number }`,
			alias: `type ${name} = number;`,
			enum: `enum ${name} { A, B }`,
		};
		const usable = { kind };
		this.#locals.set(name, usable);
		const isDefault =
			(kind === "function" || kind === "class") &&
			!this.exports.has("default") &&
			this.#pick([true, false, false]);
		const isExported = isDefault || this.#pick([true, true, false]);
		if (isExported) this.exports.set(isDefault ? "default" : name, usable);
		this.lines.push(`${isExported ? "export " : ""}${isDefault ? "default " : ""}${body[kind]}`);
	}

	#take(how: "import" | "namespace" | "re-export" | "star" | "dynamic", source: Module): void {
		const from = this.#specifier(source);
		const [name, usable] = this.#pick([...source.exports]);
		if (how === "star") {
			this.lines.push(`export * from "${from}";`);
			for (const [other, what] of source.exports) {
				if (other === "default" || this.exports.has(other)) continue;
				this.exports.set(other, what);
				this.#fromStars.add(other);
			}
			return;
		}
		if (how === "dynamic") {
			const isType = isOnlyType(usable);
			const path = [name, ...this.#wayInto(usable)].join(".");
			this.lines.push(
				isType
					? `let t${this.#count++}: import("${from}").${name} | undefined;`
					: `import("${from}").then((m) => m.${path});`,
			);
			return;
		}
		const local = this.#newName();
		if (local === undefined) return;
		if (how === "namespace") {
			const isReExport = this.#pick([true, false]);
			const all = { kind: "namespace", inner: new Map(source.exports) } as const;
			(isReExport ? this.exports : this.#locals).set(local, all);
			this.lines.push(`${isReExport ? "export" : "import"} * as ${local} from "${from}";`);
		} else if (how === "re-export") {
			this.exports.set(local, usable);
			this.lines.push(`export { ${name} as ${local} } from "${from}";`);
		} else {
			this.#locals.set(local, usable);
			const isPlain = name !== "default" && !this.#locals.has(name) && !this.exports.has(name);
			if (name === "default" && this.#pick([true, false])) {
				this.lines.push(`import ${local} from "${from}";`);
			} else if (isPlain && this.#pick([true, false])) {
				this.#locals.delete(local);
				this.#locals.set(name, usable);
				this.lines.push(`import { ${name} } from "${from}";`);
			} else this.lines.push(`import { ${name} as ${local} } from "${from}";`);
		}
	}

	/** Exports a name that is there already under a new one. */
	#list(): void {
		const own = [...this.#locals];
		const name = this.#newName();
		if (own.length === 0 || name === undefined) return;
		const [local, usable] = this.#pick(own);
		this.exports.set(name, usable);
		this.lines.push(`export { ${local} as ${name} };`);
	}

	/** A name that is hidden by one of its own inside a function. */
	#hide(): void {
		const own = [...this.#locals.keys()];
		if (own.length === 0) return;
		const name = this.#pick(own);
		const id = this.#count++;
		this.lines.push(
			this.#pick([
				`function h${id}(${name}: unknown) { return ${name}; }`,
				`function h${id}<${name}>(x: ${name}): ${name} { return x; }`,
				`{ const ${name} = 1; ${name}; }`,
				`const h${id} = { ${name}: 1, other: { ${name}: 2 } }; h${id}.${name};`,
				`for (const ${name} of [1]) { ${name}; }`,
				`class h${id} { ${name} = 1; m() { return this.${name}; } }`,
			]),
		);
	}

	#use(): void {
		const own = [...this.#locals];
		if (own.length === 0) return;
		const [name, usable] = this.#pick(own);
		const way = this.#wayInto(usable, true);
		const path = [name, ...way].join(".");
		const kind = way.reduce((at: Usable, step) => at.inner?.get(step) ?? at, usable).kind;
		const id = this.#count++;
		const isComponent = this.path.endsWith("x");
		const uses: Record<Kind, readonly string[]> = {
			function: [
				`${path}();`,
				`const u${id} = [${path}];`,
				`let u${id}: typeof ${path};`,
				...(isComponent ? [`const u${id} = <${path}></${path}>;`] : []),
			],
			class: [
				`new ${path}();`,
				`class U${id} extends ${path} {}`,
				`let u${id}: ${path} | undefined;`,
				`class U${id} implements ${path} { own = 1; }`,
			],
			constant: [`${path} + 1;`, `const u${id} = { ${name}, a: ${path} };`, `\`\${${path}}\`;`],
			interface: [`let u${id}: ${path} | undefined;`, `interface U${id} extends ${path} {}`],
			alias: [`let u${id}: ${path};`, `function u${id}(x: ${path}[]): ${path}[] { return x; }`],
			enum: [`${path}.A;`, `let u${id}: ${path}.B;`, `let u${id}: ${path};`],
			namespace: [`${path};`],
		};
		this.lines.push(this.#pick(uses[kind]));
	}

	/** Names that lead through namespaces to something that is none. */
	#wayInto(usable: Usable, withTypes = false): string[] {
		const inner = [...(usable.inner ?? [])].filter(([, one]) => withTypes || !isOnlyType(one));
		if (inner.length === 0) return [];
		const [name, next] = this.#pick(inner);
		return [name, ...this.#wayInto(next, withTypes)];
	}

	/** From a small set, so that files share names. */
	#newName(): string | undefined {
		const free = NAMES.filter(
			(name) => !this.#locals.has(name) && (!this.exports.has(name) || this.#fromStars.has(name)),
		);
		const name = free.length > 0 ? this.#pick(free) : undefined;
		if (name !== undefined) this.#fromStars.delete(name);
		return name;
	}

	#specifier(source: Module): string {
		const relative = posix.relative(posix.dirname(this.path), source.path);
		const path = relative.startsWith(".") ? relative : `./${relative}`;
		const { dir, name, ext } = posix.parse(path);
		const js = `${dir}/${name}${ext.replace("ts", "js").replace("x", "")}`;
		if (ext === ".mts") return this.#pick([js, path]);
		if (name === "index" && this.#pick([true, false])) return dir;
		return this.#pick([js, path, `${dir}/${name}`]);
	}
}

function isOnlyType({ kind }: Usable): boolean {
	return kind === "interface" || kind === "alias";
}

const NAMES = Array.from({ length: 24 }, (_, index) => `N${index}`);

function pathOf(index: number, pick: Random): string {
	const folder = pick(["", "lib/", "lib/deep/", "app/"]);
	const extension = pick([".ts", ".ts", ".tsx", ".mts"]);
	return pick([`${folder}m${index}${extension}`, `${folder}m${index}/index.ts`]);
}

/** Picks by a small generator of random numbers (mulberry32). */
function randomFrom(seed: number): Random {
	let state = seed;
	const next = () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
	};
	return (choices) => choices[Math.floor(next() * choices.length)] as (typeof choices)[number];
}
