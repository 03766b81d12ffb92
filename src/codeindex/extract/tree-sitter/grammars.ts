import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** A grammar's file, and the development package that provides it. */
export interface GrammarFile {
	readonly package: string;
	readonly file: string;
}

export const GRAMMARS = {
	python: { package: "tree-sitter-python", file: "tree-sitter-python.wasm" },
	go: { package: "tree-sitter-go", file: "tree-sitter-go.wasm" },
	rust: { package: "tree-sitter-rust", file: "tree-sitter-rust.wasm" },
	java: { package: "tree-sitter-java", file: "tree-sitter-java.wasm" },
	csharp: { package: "tree-sitter-c-sharp", file: "tree-sitter-c_sharp.wasm" },
	php: { package: "tree-sitter-php", file: "tree-sitter-php.wasm" },
	ruby: { package: "tree-sitter-ruby", file: "tree-sitter-ruby.wasm" },
	c: { package: "tree-sitter-c", file: "tree-sitter-c.wasm" },
	cpp: { package: "tree-sitter-cpp", file: "tree-sitter-cpp.wasm" },
} as const satisfies Record<string, GrammarFile>;

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
