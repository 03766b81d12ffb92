/**
 * Compares usages with TypeScript 5.9's `findReferences` on real projects: `node scripts/accuracy.ts <folder>…`.
 *
 * `--symbols <n>` and `--members <n>` ask about so many of each (default 400, evenly spread; `all` for every one), `--list` prints
 * the differences. Installed packages are read from each folder's `node_modules`, and are not part of the project.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { pathKind } from "../src/core/project-path.ts";
import { type Comparison, compareWithTypeScript } from "../test/codeindex/accuracy-compare.ts";
import type { Surroundings } from "../test/codeindex/language-service.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		symbols: { type: "string", default: "400" },
		members: { type: "string", default: "400" },
		list: { type: "boolean", default: false },
	},
});
if (positionals.length === 0)
	throw new Error(
		"Usage: node scripts/accuracy.ts [--symbols <n>] [--members <n>] [--list] <folder>…",
	);

for (const folder of positionals) compareFolder(resolve(folder));

function compareFolder(root: string): void {
	const files = readProject(root);
	const asked = { symbols: 0, members: 0 };
	const all = countAll(files);
	const isChosen = (of: "symbols" | "members") => {
		const step = values[of] === "all" ? 1 : Math.max(1, all[of] / Number(values[of]));
		const index = asked[of]++;
		return Math.floor(index / step) !== Math.floor((index - 1) / step);
	};
	const found = compareWithTypeScript(files, { outside: around(root), isChosen });
	console.log(`${root}: ${Object.keys(files).length} files`);
	printTally("symbols", all.symbols, found);
	printTally("members", all.members, found.members);
	console.log(`  imports: ${found.imports}, of which ${found.wrongImports.length} lead elsewhere`);
	if (values.list) for (const one of found.wrongImports) console.log(`    ${one}`);
}

/** Counts by a comparison that asks about nothing. */
function countAll(files: Readonly<Record<string, string>>): Record<"symbols" | "members", number> {
	const counts = { symbols: 0, members: 0 };
	compareWithTypeScript(files, {
		isChosen: (of) => {
			counts[of]++;
			return false;
		},
	});
	return counts;
}

function printTally(name: string, all: number, tally: Comparison["members"]): void {
	const { compared, references, missing, extra, uncounted, disputed } = tally;
	const found = references - missing.length;
	const percent = (part: number, whole: number) =>
		whole === 0 ? "-" : `${((100 * part) / whole).toFixed(2)} %`;
	console.log(
		`  ${name}: ${compared} of ${all}, ${references} references, ${missing.length} missing (recall ${percent(found, references)}), ` +
			`${extra.length} extra (precision ${percent(found, found + extra.length)}), ${disputed.length} disputed, ${uncounted.length} neither found nor possible`,
	);
	if (!values.list) return;
	for (const [kind, places] of Object.entries({ missing, extra, uncounted, disputed })) {
		for (const place of places) console.log(`    ${kind} ${place}`);
	}
}

function readProject(root: string): Readonly<Record<string, string>> {
	const files: Record<string, string> = {};
	for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
		const path = join(entry.parentPath, entry.name)
			.slice(root.length + 1)
			.replaceAll("\\", "/");
		if (!entry.isFile() || /(?:^|\/)(?:node_modules|dist|\.[^/]+)\//.test(path)) continue;
		if (pathKind(path) !== "other") files[path] = readFileSync(join(root, path), "utf8");
	}
	return files;
}

/** TypeScript's library, and the packages that are installed in the folder. */
function around(root: string): Surroundings {
	const onDisk = (path: string) => {
		if (path.startsWith("/project/node_modules")) return root + path.slice("/project".length);
		return path.includes("/typescript-5/lib/") ? path : undefined;
	};
	return {
		read: (path) => {
			const file = onDisk(path);
			return file !== undefined && statSync(file, { throwIfNoEntry: false })?.isFile()
				? readFileSync(file, "utf8")
				: undefined;
		},
		isFolder: (path) => {
			const folder = onDisk(path);
			return (
				folder !== undefined &&
				(statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false)
			);
		},
	};
}
