import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { GrammarFile } from "../../language.ts";

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
class MissingGrammar extends Error {
	override readonly name = "MissingGrammar";
}
