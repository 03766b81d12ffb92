import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** A grammar's file, and the development package that provides it. */
export interface GrammarFile {
	readonly package: string;
	readonly file: string;
}

const grammar = (name: string, file = name): GrammarFile => ({
	package: `tree-sitter-${name}`,
	file: `tree-sitter-${file}.wasm`,
});

export const GRAMMARS = {
	python: grammar("python"),
	go: grammar("go"),
	rust: grammar("rust"),
	java: grammar("java"),
	csharp: grammar("c-sharp", "c_sharp"),
	php: grammar("php"),
	ruby: grammar("ruby"),
	c: grammar("c"),
	cpp: grammar("cpp"),
};

/** The only module that knows where grammars are: beside `dist/` in the package, in `node_modules` in a clone. */
export function grammarPath({ package: from, file }: GrammarFile): string {
	const packed = fileURLToPath(new URL(`../../../grammars/${file}`, import.meta.url));
	if (existsSync(packed)) return packed;
	try {
		return createRequire(import.meta.url).resolve(`${from}/${file}`);
	} catch {
		throw new MissingGrammar(
			`the grammar ${file} is neither at ${packed} nor in ${from}: install the package again, or run npm ci in a clone`,
		);
	}
}

/** The program is incomplete; the source file is not at fault. */
export class MissingGrammar extends Error {
	override readonly name = "MissingGrammar";
}
