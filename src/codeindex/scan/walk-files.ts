import { isUtf8 } from "node:buffer";
import { type Dirent, readdirSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "../../core/errno.ts";
import { below } from "../../core/project-path.ts";
import { readPartSync } from "../../core/regular-file.ts";
import { counted } from "../../text/figures.ts";
import { pathKind } from "../languages.ts";
import { type Effort, type IgnoreRules, parseIgnoreRules } from "./gitignore.ts";
import { BAD_NAME, type ScanTrouble } from "./scanned-tree.ts";

export interface WalkedFolder {
	readonly path: string;
	readonly files: readonly string[];
	readonly links: readonly string[];
	readonly trouble: readonly ScanTrouble[];
}

/**
 * Lists files like git, without `node_modules` and `.git`. Does not follow links, so the walk ends. When
 * no `effort` is left, stops applying patterns: too many files are better than too few.
 */
export function* walkFolders(
	root: string,
	effort: Effort = { left: MAX_EFFORT },
	outer: readonly OuterRules[] = [],
): Generator<WalkedFolder> {
	const above = outer.flatMap(({ path, names }) => rulesIn(path, { path, depth: 0, above: names }));
	const open: Place[] = [{ names: [], rules: above }];
	const costly = new Set<PlacedRules>();
	for (let place = open.pop(); place !== undefined; place = open.pop()) {
		const { names } = place;
		const path = names.join("/");
		const inRoot = (name: string) => below(path, name);
		const trouble: ScanTrouble[] = [];
		let entries: Dirent[];
		try {
			entries = entriesOf(join(root, path), (name) => {
				trouble.push({ kind: "bad-name", path: inRoot(name), message: BAD_NAME });
			});
		} catch (error) {
			trouble.push({ kind: "unreadable", path, message: describeError(error) });
			yield { path, files: [], links: [], trouble };
			continue;
		}
		const rules = rulesFor(place, entries, join(root, path));
		const files: string[] = [];
		const links: string[] = [];
		const folders: string[] = [];
		for (const entry of entries) {
			const { name } = entry;
			if (name === "node_modules" || name === ".git") continue;
			const isFolder = entry.isDirectory();
			if (isIgnored(rules, { names: [...names, name], isFolder, effort })) continue;
			if (isFolder) folders.push(name);
			else if (entry.isSymbolicLink()) links.push(inRoot(name));
			else if (entry.isFile()) files.push(inRoot(name));
		}
		if (rules.length > place.rules.length) trouble.push(...notRead(rules.at(-1)));
		for (const one of effort.left > 0 ? [] : rules) {
			if (one.rules.patterns === 0 || costly.has(one)) continue;
			costly.add(one);
			const message = `its ${counted(one.rules.patterns, "pattern")} cost too much to match: it is not applied any more`;
			trouble.push({ kind: "rules", path: one.path, message });
		}
		if (names.length < MAX_DEPTH) {
			for (const name of folders.reverse()) open.push({ names: [...names, name], rules });
		} else {
			for (const name of folders) {
				const message = `it lies more than ${MAX_DEPTH} folders deep`;
				trouble.push({ kind: "unreadable", path: inRoot(name), message });
			}
		}
		yield { path, files, links, trouble };
	}
}

export interface OuterRules {
	readonly path: string;
	readonly names: readonly string[];
}

interface Place {
	readonly names: readonly string[];
	readonly rules: readonly PlacedRules[];
}

interface PlacedRules {
	readonly path: string;
	readonly depth: number;
	readonly above: readonly string[];
	readonly rules: IgnoreRules;
	readonly isCut: boolean;
}

/** Maximum folder depth, for file systems that show a folder inside itself. */
const MAX_DEPTH = 100;
const MAX_IGNORE_BYTES = 1024 * 1024;
/** Enough for thousands of real patterns and files. Hostile ones take about a second. */
const MAX_EFFORT = 20_000_000;

/** Drops and reports names that are not UTF-8: decoded lossily, they open nothing or another file. */
function entriesOf(folder: string, onBadName: (name: string) => void): Dirent[] {
	const entries = readdirSync(folder, { withFileTypes: true });
	if (!entries.some(({ name }) => name.includes("\uFFFD"))) return entries;
	const names = new Set<string>();
	for (const entry of readdirSync(folder, { encoding: "buffer", withFileTypes: true })) {
		const name = entry.name.toString();
		if (isUtf8(entry.name)) names.add(name);
		else if (entry.isDirectory() || pathKind(name) !== "other") onBadName(name);
	}
	return entries.filter(({ name }, at) => {
		const isTwice = entries.findIndex((other) => other.name === name) < at;
		return names.has(name) && !isTwice;
	});
}

function rulesFor(place: Place, entries: readonly Dirent[], folder: string): Place["rules"] {
	const found = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
	if (!found) return place.rules;
	const path = [...place.names, ".gitignore"].join("/");
	const given = { path, depth: place.names.length, above: [] };
	return [...place.rules, ...rulesIn(join(folder, ".gitignore"), given)];
}

function rulesIn(file: string, given: Pick<PlacedRules, "path" | "depth" | "above">) {
	try {
		const text = readPartSync(file, 0, 4 * MAX_IGNORE_BYTES).toString();
		const isCut = text.length > MAX_IGNORE_BYTES;
		// Drops a partial last line: it would be a different pattern.
		const end = isCut ? text.lastIndexOf("\n", MAX_IGNORE_BYTES) : text.length;
		return [{ ...given, rules: parseIgnoreRules(text.slice(0, Math.max(0, end))), isCut }];
	} catch {
		// Like git, ignores an unreadable `.gitignore`.
		return [];
	}
}

function notRead(placed: PlacedRules | undefined): ScanTrouble[] {
	if (!placed || (placed.rules.longLines === 0 && !placed.isCut)) return [];
	const { path, rules, isCut } = placed;
	const long = `${counted(rules.longLines, "line")} of it too long to be applied`;
	const message = isCut ? `only its first ${MAX_IGNORE_BYTES} characters are applied` : long;
	return [{ kind: "rules", path, message }];
}

/** The innermost `.gitignore` with a matching rule decides. */
function isIgnored(
	rules: Place["rules"],
	{ names, isFolder, effort }: { names: readonly string[]; isFolder: boolean; effort: Effort },
): boolean {
	for (let at = rules.length - 1; at >= 0; at--) {
		const { depth, above, rules: inner } = rules[at] as PlacedRules;
		const inFolder =
			depth > 0 ? names.slice(depth) : above.length > 0 ? [...above, ...names] : names;
		const decided = inner.decide(inFolder, isFolder, effort);
		if (decided !== undefined) return decided;
	}
	return false;
}
