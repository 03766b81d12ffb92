/** Copies the grammars of all languages into `dist/`: their packages are needed for development only. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { grammarPath } from "../src/codeindex/extract/tree-sitter/grammars.ts";
import { LANGUAGES } from "../src/codeindex/languages.ts";

const folder = fileURLToPath(new URL("../dist/grammars", import.meta.url));
mkdirSync(folder, { recursive: true });
for (const { grammar } of LANGUAGES) {
	if (grammar) copyFileSync(grammarPath(grammar), join(folder, grammar.file));
}
