import { type Dirent, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeError } from "../../core/errno.ts";
import { type IgnoreRules, parseIgnoreRules } from "./gitignore.ts";

/** What a walk finds in one folder. Paths are relative to the root of the walk, with forward slashes. */
export interface WalkedFolder {
	readonly path: string;
	readonly files: readonly string[];
	readonly links: readonly string[];
	/** Why the folder could not be read; it then holds nothing. */
	readonly problem?: string;
}

/**
 * Visits the folders below `root` where there is no git, as git would: what a `.gitignore` on the way ignores
 * is left out, and so are `node_modules` and `.git`. Links are named and not followed, so the walk ends.
 */
export function* walkFolders(root: string): Generator<WalkedFolder> {
	const open: Place[] = [{ names: [], rules: [] }];
	for (let place = open.pop(); place !== undefined; place = open.pop()) {
		const { names } = place;
		const path = names.join("/");
		let entries: Dirent[];
		try {
			entries = readdirSync(join(root, path), { withFileTypes: true });
		} catch (error) {
			yield { path, files: [], links: [], problem: describeError(error) };
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
			if (isIgnored(rules, [...names, name], isFolder)) continue;
			if (isFolder) folders.push(name);
			else if (entry.isSymbolicLink()) links.push(path === "" ? name : `${path}/${name}`);
			else if (entry.isFile()) files.push(path === "" ? name : `${path}/${name}`);
		}
		if (names.length < maxDepth) {
			for (const name of folders.reverse()) open.push({ names: [...names, name], rules });
		}
		yield { path, files, links };
	}
}

interface Place {
	readonly names: readonly string[];
	/** From the root inwards, each with the depth of its folder. */
	readonly rules: readonly { readonly depth: number; readonly rules: IgnoreRules }[];
}

/** No tree is deeper; a file system that shows a folder inside itself is. */
const maxDepth = 100;
const maxIgnoreBytes = 1024 * 1024;

function rulesFor(place: Place, entries: readonly Dirent[], folder: string): Place["rules"] {
	const found = entries.some((entry) => entry.name === ".gitignore" && entry.isFile());
	if (!found) return place.rules;
	try {
		const text = readFileSync(join(folder, ".gitignore"), "utf8").slice(0, maxIgnoreBytes);
		return [...place.rules, { depth: place.names.length, rules: parseIgnoreRules(text) }];
	} catch {
		// Git goes on without a `.gitignore` that it cannot read; so do we, and index rather more.
		return place.rules;
	}
}

/** The innermost `.gitignore` that says something about the path decides. */
function isIgnored(rules: Place["rules"], names: readonly string[], isFolder: boolean): boolean {
	for (let at = rules.length - 1; at >= 0; at--) {
		const { depth, rules: inner } = rules[at] as Place["rules"][number];
		const decided = inner.decide(depth === 0 ? names : names.slice(depth), isFolder);
		if (decided !== undefined) return decided;
	}
	return false;
}
