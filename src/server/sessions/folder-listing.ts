import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { compareText } from "../../core/compare-text.ts";
import { notFound } from "../safe-text.ts";

/** Maximum entries that a search looks at, folders included. */
const MAX_ENTRIES = 50_000;
/** Maximum folders in one answer. */
const MAX_FOLDERS = 500;
/** Folders of programs, not of people. Hidden ones are skipped too. */
const SKIPPED: ReadonlySet<string> = new Set(["node_modules", "__pycache__"]);

/** Files of a project whose path contains the query, the best first: `limit` at most. Follows no links. */
export async function findFiles(root: string, query: string, limit: number) {
	const wanted = query.toLowerCase();
	const found: { path: string; rank: number }[] = [];
	const queue = [""];
	let seen = 0;
	for (const folder of queue) {
		if (seen >= MAX_ENTRIES) break;
		const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
		for (const entry of entries) {
			if (++seen > MAX_ENTRIES) break;
			if (entry.name.startsWith(".") || SKIPPED.has(entry.name)) continue;
			const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
			if (entry.isDirectory()) queue.push(path);
			const rank = entry.isFile() ? rankOf(path.toLowerCase(), wanted) : NO_MATCH;
			if (rank < NO_MATCH) found.push({ path, rank });
		}
	}
	const best = found.sort(
		(a, b) => a.rank - b.rank || a.path.length - b.path.length || compareText(a.path, b.path),
	);
	const files = best.slice(0, limit).map(({ path }) => path);
	return { files, truncated: found.length > limit || seen > MAX_ENTRIES };
}

const NO_MATCH = 4;

/** The start of the name, any part of the name, any part of the path, the letters in order. */
export function rankOf(path: string, query: string): number {
	const name = path.slice(path.lastIndexOf("/") + 1);
	if (name.startsWith(query)) return 0;
	if (name.includes(query)) return 1;
	if (path.includes(query)) return 2;
	let at = -1;
	for (const letter of query) {
		at = path.indexOf(letter, at + 1);
		if (at === -1) return NO_MATCH;
	}
	return 3;
}

/** The folders in a folder of the server's machine. `~` is the home of the server's user. */
export async function listFolders(path = "~") {
	const folder = resolveHome(path);
	const failed = () => notFound(`path: there is no readable folder "${path}" on the server`);
	if (folder === undefined) throw failed();
	const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => {
		throw failed();
	});
	const folders = entries
		.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."))
		.map(({ name }) => name)
		.sort(compareText);
	const parent = dirname(folder);
	return {
		folder,
		...(parent !== folder && { parent }),
		folders: folders.slice(0, MAX_FOLDERS),
		truncated: folders.length > MAX_FOLDERS,
	};
}

/** Undefined if the path is neither absolute nor in the home folder. */
function resolveHome(path: string): string | undefined {
	const [, rest] = /^~(?:[/\\](.*))?$/s.exec(path) ?? [];
	if (path === "~" || rest !== undefined) return join(homedir(), rest ?? "");
	return isAbsolute(path) ? resolve(path) : undefined;
}
