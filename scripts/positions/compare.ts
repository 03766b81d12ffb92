/**
 * Compares usages of names and members in Python with pyright's references on real projects:
 * `node scripts/positions/compare.ts <pyright's langserver.index.js> <folder>…`.
 *
 * `--names <n>` and `--members <n>` ask about so many of each (default 60, evenly spread), `--list` prints the differences.
 * Names for which pyright's list is empty are counted and left out.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { languageOf } from "../../src/codeindex/languages.ts";
import { type DeclaredUsages, usagesOfAll } from "../../test/codeindex/languages/declarations.ts";
import { everyNth } from "../every-nth.ts";
import { askPyright } from "./pyright.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		names: { type: "string", default: "60" },
		members: { type: "string", default: "60" },
		list: { type: "boolean", default: false },
	},
});
const [server, ...folders] = positionals;
if (!server || folders.length === 0) {
	throw new Error(
		"Usage: node scripts/positions/compare.ts [--names <n>] [--members <n>] [--list] <langserver.index.js> <folder>…",
	);
}
for (const folder of folders) await compareFolder(server, resolve(folder));

async function compareFolder(langserver: string, root: string): Promise<void> {
	const files = readProject(root);
	console.log(`${root}: ${Object.keys(files).length} files`);
	const ours = await usagesOfAll(files);
	for (const kind of ["names", "members"] as const) {
		const all = ours.filter(({ isMember }) => isMember === (kind === "members"));
		const chosen = everyNth(all, Number(values[kind]));
		const places = chosen.map(({ place }) => place);
		const theirs = await askPyright(langserver, root, places);
		report(kind, all.length, chosen, theirs);
	}
}

function report(
	of: string,
	all: number,
	chosen: readonly DeclaredUsages[],
	theirs: Readonly<Record<string, readonly string[]>>,
): void {
	const sums = { references: 0, missing: 0, extra: 0, found: 0, empty: 0, uncounted: 0 };
	const differences: string[] = [];
	for (const { place, name, usages, possible } of chosen) {
		const expected = new Set(theirs[place]);
		if (expected.size === 0) {
			sums.empty++;
			continue;
		}
		const found = new Set(usages);
		const missing = [...expected].filter((one) => !found.has(one));
		const extra = usages.filter((one) => !expected.has(one));
		sums.references += expected.size;
		sums.missing += missing.length;
		sums.extra += extra.length;
		sums.found += expected.size - missing.length;
		for (const [file, some] of Map.groupBy(missing, (one) => one.split(":", 1)[0] ?? "")) {
			sums.uncounted += Math.max(0, some.length - (possible.get(file) ?? 0));
		}
		for (const one of missing) differences.push(`missing ${one} (${name} at ${place})`);
		for (const one of extra) differences.push(`extra ${one} (${name} at ${place})`);
	}
	const percent = (part: number, whole: number) =>
		whole === 0 ? "-" : `${((100 * part) / whole).toFixed(2)} %`;
	const { references, missing, extra, found, empty, uncounted } = sums;
	console.log(
		`  ${of}: ${chosen.length} of ${all} (${empty} without a list), ${references} references, ${missing} missing (recall ${percent(found, references)}), ` +
			`${extra} extra (precision ${percent(found, found + extra)}), ${uncounted} neither found nor possible`,
	);
	if (values.list) for (const one of differences) console.log(`    ${one}`);
}

function readProject(root: string): Readonly<Record<string, string>> {
	const files: Record<string, string> = {};
	for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
		const path = join(entry.parentPath, entry.name)
			.slice(root.length + 1)
			.replaceAll("\\", "/");
		if (!entry.isFile() || languageOf(path)?.name !== "python") continue;
		files[path] = readFileSync(join(root, path), "utf8");
	}
	return files;
}
