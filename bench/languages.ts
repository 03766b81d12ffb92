/** Processor time of parsing, a file of about 6 KB, by language: reading, syntax tree, facts, words and packing. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadLanguages, parseFile } from "../src/codeindex/parsing/parse-file.ts";
import { goFile, pythonFile, rustFile } from "./codeindex/language-files.ts";
import { type Line, median, report, sized, tempFolder } from "./support.ts";

const FILES = sized(300, 5);
const ROUNDS = sized(7, 2);
const root = tempFolder();

const lines: Line[] = [];
for (const [language, make, target] of [
	["Python", pythonFile, 4],
	["Go", goFile, 4],
	["Rust, by name", rustFile, undefined],
] as const) {
	const files = Array.from({ length: FILES }, (_, index) => make(index));
	for (const { path, text } of files) {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), text);
	}
	const paths = files.map(({ path }) => path);
	await loadLanguages(paths);
	const bytes = files.reduce((sum, { text }) => sum + text.length, 0) / FILES;
	// The first round compiles; a first indexing of many files is mostly the rest.
	const rounds = Array.from({ length: ROUNDS + 1 }, () => processorMs(paths) / FILES).slice(1);
	lines.push({
		case: `${language}: processor time of a file`,
		unit: "ms a file",
		value: median(rounds),
		digits: 2,
		...(target !== undefined && { target }),
		from: { files: FILES, rounds: ROUNDS, bytes: Math.round(bytes) },
	});
}
report(lines);

function processorMs(paths: readonly string[]): number {
	const before = process.cpuUsage();
	for (const path of paths) parseFile(root, path);
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}
