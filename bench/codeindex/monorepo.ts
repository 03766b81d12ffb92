/** A generated monorepo for benchmarks and tests: packages with barrels, classes, types, tests, real imports. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface MonorepoOptions {
	/** How many source files, roughly. */
	readonly files: number;
	/** Files of a package, its barrel and tests included. Default: 100. */
	readonly filesPerPackage?: number;
}

export interface Monorepo {
	readonly files: number;
	readonly bytes: number;
	/** A module that nearly every file imports, through the barrel of its package. */
	readonly hub: string;
	/** A function of the hub that nearly every file calls. */
	readonly hubSymbol: string;
	/** A file in the middle of the tree, to be edited. */
	readonly sample: string;
	/** A function of the sample that a few files call. */
	readonly sampleSymbol: string;
}

/** Writes the monorepo into an empty folder. The same options always give the same files. */
export function writeMonorepo(
	root: string,
	{ files, filesPerPackage = 100 }: MonorepoOptions,
): Monorepo {
	const random = seeded(files);
	let count = 0;
	let bytes = 0;
	const write = (path: string, text: string) => {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), text);
		if (!/\.[jt]sx?$/.test(path)) return;
		count++;
		bytes += Buffer.byteLength(text);
	};
	write("package.json", json({ name: "monorepo", private: true, workspaces: ["packages/*"] }));
	write("tsconfig.base.json", json({ compilerOptions: { strict: true, module: "nodenext" } }));
	const packages = Math.max(2, Math.round(files / filesPerPackage));
	for (let number = 0; number < packages; number++) {
		const folder = `packages/${packageName(number)}`;
		write(`${folder}/package.json`, packageJson(number));
		write(
			`${folder}/tsconfig.json`,
			json({
				extends: "../../tsconfig.base.json",
				compilerOptions: { outDir: "dist", rootDir: "src", paths: { "~/*": ["./src/*"] } },
			}),
		);
		const modules = Math.max(2, Math.round((filesPerPackage - 1) * 0.8));
		const tests = filesPerPackage - 1 - modules;
		write(`${folder}/src/index.ts`, barrel(number, modules));
		for (let index = 0; index < modules; index++) {
			write(`${folder}/src/${moduleName(index)}.ts`, moduleText(number, index, random));
		}
		for (let index = 0; index < tests; index++) {
			write(`${folder}/test/${moduleName(index)}.test.ts`, testText(number, index));
		}
	}
	return {
		files: count,
		bytes,
		hub: `packages/${packageName(0)}/src/${moduleName(0)}.ts`,
		hubSymbol: "handleCore0Part0",
		sample: `packages/${packageName(packages >> 1)}/src/${moduleName(3)}.ts`,
		sampleSymbol: `handle${stem(packages >> 1, 3)}`,
	};
}

function packageName(number: number): string {
	return number === 0 ? "core" : `feature-${number}`;
}

function moduleName(index: number): string {
	return index % 7 === 6 ? `parts/group-${index >> 4}/part-${index}` : `part-${index}`;
}

function packageJson(number: number): string {
	return json({
		name: `@mono/${packageName(number)}`,
		version: "1.0.0",
		type: "module",
		exports: { ".": "./dist/index.js" },
		dependencies: { "@mono/core": "*" },
	});
}

function barrel(number: number, modules: number): string {
	const lines = Array.from({ length: modules }, (_, index) => {
		const from = `"./${moduleName(index)}.js"`;
		if (index % 5 === 4)
			return `export { ${className(number, index)} as ${className(number, index)}Impl } from ${from};`;
		return `export * from ${from};`;
	});
	return `/** What the package offers. */\n${lines.join("\n")}\n`;
}

function stem(number: number, index: number): string {
	return number === 0 ? `Core0Part${index}` : `Feature${number}Part${index}`;
}

function className(number: number, index: number): string {
	return `${stem(number, index)}Service`;
}

/** About 5 KB with two or three names per KB, a little denser than real projects: imports, an interface, a class, functions that call the others. */
function moduleText(number: number, index: number, random: () => number): string {
	const own = stem(number, index);
	const others = [1, 2, 3, 4]
		.map((step) => index - step * (1 + Math.floor(random() * 3)))
		.filter((other, place, all) => other >= 0 && all.indexOf(other) === place);
	const up = moduleName(index).includes("/") ? "../../" : "./";
	const lines: string[] = ['import { readFile } from "node:fs/promises";'];
	const isHub = number === 0 && index === 0;
	if (number > 0)
		lines.push(
			'import { Core0Part0Service, handleCore0Part0, type Core0Part0Options } from "@mono/core";',
		);
	else if (!isHub)
		lines.push(
			`import { Core0Part0Service, handleCore0Part0, type Core0Part0Options } from "${up}${moduleName(0)}.js";`,
		);
	for (const [place, other] of others.entries()) {
		if (other === 0 && number === 0) continue;
		const name = stem(number, other);
		const from = place % 2 === 0 ? `${up}${moduleName(other)}.js` : `~/${moduleName(other)}`;
		if (place === 3) lines.push(`import * as other${other} from "${from}";`);
		else
			lines.push(
				`import { ${className(number, other)}, handle${name}, type ${name}Options } from "${from}";`,
			);
	}
	const options = isHub ? "unknown" : "Core0Part0Options";
	lines.push(
		"",
		`/** What ${own} can be told. The defaults are those of the team that wrote it first. */`,
		`export interface ${own}Options {`,
		"\treadonly retries: number;",
		"\treadonly name: string;",
		"\treadonly verbose?: boolean;",
		`\treadonly base?: ${options};`,
		"}",
		"",
		`const DEFAULT_${own.toUpperCase()}: ${own}Options = { retries: ${index % 9}, name: "${own}", verbose: false };`,
		"",
		`/** Keeps the state of ${own} between calls. */`,
		`export class ${className(number, index)}${isHub ? "" : " extends Core0Part0Service"} {`,
		isHub
			? "\tprotected readonly entries = new Map<string, number>();"
			: `\treadonly #own = new Map<string, ${own}Options>();`,
		`\t#last = ${index};`,
		"",
	);
	for (const method of ["load", "store", "refresh"]) {
		lines.push(
			`\t/** Makes it ${method} something, and says how that went. */`,
			`\tasync ${method}${own}(key: string, options: ${own}Options = DEFAULT_${own.toUpperCase()}): Promise<number> {`,
			`\t\tconst text = await readFile(key, "utf8");`,
			"\t\tlet total = 0;",
			"\t\tfor (const [place, line] of text.split(/\\r?\\n/).entries()) {",
			`\t\t\tif (line.trim() === "" || place < options.retries) continue;`,
			isHub
				? "\t\t\tthis.entries.set(line, place);"
				: `\t\t\tthis.#own.set(line, { ...options, name: line.slice(0, ${10 + (index % 20)}) });`,
			`\t\t\ttotal += line.length * ${1 + Math.floor(random() * 90)};`,
			"\t\t}",
			isHub
				? "\t\tthis.#last = total;"
				: `\t\tthis.#last = handleCore0Part0(total, this.#last) + total;`,
			...bodyLines(random),
			"\t\treturn this.#last;",
			"\t}",
			"",
		);
	}
	lines.push(
		"}",
		"",
		`/** The way in for those who need no state. Called for every ${own} that is found. */`,
	);
	lines.push(
		`export function handle${own}(first: number, second: number): number {`,
		"\tlet result = first;",
	);
	for (const [place, other] of others.entries()) {
		if (other === 0 && number === 0) continue;
		const name = stem(number, other);
		if (place === 3) lines.push(`\tresult += other${other}.handle${name}(result, second);`);
		else {
			lines.push(`\tresult += handle${name}(result, second);`);
			lines.push(`\tconst service${other} = new ${className(number, other)}();`);
			lines.push(`\tconst options${other}: ${name}Options = { retries: result, name: "${name}" };`);
			lines.push(`\tvoid service${other}.load${name}("${name}", options${other});`);
		}
	}
	if (!isHub) lines.push("\tresult = handleCore0Part0(result, second);");
	lines.push("\treturn result;", "}", "");
	for (let helper = 0; helper < 3; helper++) {
		const words = Array.from({ length: 6 }, () => WORDS[Math.floor(random() * WORDS.length)]);
		lines.push(
			`/** ${words.join(" ")}. */`,
			`export const ${words[0]}${own}${helper} = (value: ${own}Options): string =>`,
			`\t\`\${value.name} ${words.join(" ")} \${value.retries + ${helper}}\`.padEnd(${20 + helper});`,
			"",
		);
	}
	return lines.join("\n");
}

/** Typical function bodies: local work on local names. */
function bodyLines(random: () => number): string[] {
	const word = () => WORDS[Math.floor(random() * WORDS.length)] as string;
	return Array.from({ length: 6 }, () => {
		const local = `${word()}${Math.floor(random() * 100)}`;
		return [
			`\t\tconst ${local} = text.split("${word()}").filter((part) => part.length > ${Math.floor(random() * 50)});`,
			`\t\tif (${local}.length === 0) throw new Error(\`no ${word()} in \${key}\`);`,
		].join("\n");
	});
}

function testText(number: number, index: number): string {
	const own = stem(number, index);
	return [
		'import { expect, test } from "vitest";',
		`import { ${className(number, index)}, handle${own} } from "../src/${moduleName(index)}.ts";`,
		"",
		...Array.from({ length: 8 }, (_, place) =>
			[
				`test("${own} handles case ${place}", async () => {`,
				`\tconst service = new ${className(number, index)}();`,
				`\texpect(handle${own}(${place}, ${place + 1})).toBeGreaterThan(0);`,
				`\texpect(await service.load${own}("case-${place}")).toBe(${place});`,
				"});",
				"",
			].join("\n"),
		),
	].join("\n");
}

const WORDS =
	"account adapter archive balance batch bridge buffer cache channel client cluster command context cursor deliver digest driver event export filter fragment gateway handler header import index invoice journal kernel lease ledger manifest metric migrate network notify observe offset order packet parser payment planner policy process profile project provider query queue receipt record region relay render report request resolve retry route sample schedule schema segment session signal snapshot source stream summary target tenant token trace transfer update usage vendor version window worker".split(
		" ",
	);

/** Reproducible random numbers from 0 to 1 (mulberry32). */
function seeded(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

function json(value: object): string {
	return `${JSON.stringify(value, null, "\t")}\n`;
}
