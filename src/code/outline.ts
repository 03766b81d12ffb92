import { existsSync, statSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import type { Coverage, QueryOf } from "../codeindex/index.ts";
import { chunks } from "../core/chunks.ts";
import { expandHome } from "../core/places.ts";
import { bytesOf, clip, clipMiddle } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";

/** Sections of an answer. Items that exceed the budget are dropped and counted. */
export type Outline = readonly Section[];

export interface Section {
	readonly head: readonly string[];
	/** Best first. An item may have several lines and is never split. */
	readonly items: readonly string[];
}

export function remark(...head: string[]): Section {
	return { head, items: [] };
}

export function section<Item>(
	name: string,
	list: readonly Item[],
	line: (item: Item) => string,
	total = list.length,
): Section[] {
	if (list.length === 0) return [];
	return [{ head: [`${name} (${grouped(total)}):`], items: list.map(line) }];
}

export interface RenderedAnswer {
	/** Fullest first; see {@link fitText}. */
	readonly forms: readonly (() => Outline)[];
	readonly lastLine: string;
}

export function wholeAnswer({ forms: [first], lastLine }: RenderedAnswer): string {
	return `${first ? wholeText(first()) : ""}\n${lastLine}`;
}

export function wholeText(outline: Outline): string {
	return outline.flatMap(({ head, items }) => [...head, ...items]).join("\n");
}

/**
 * Returns the first form that fits, or as much of the last form as fits. If longer forms have the same
 * items, the first items take theirs, as far as there is room.
 */
export function fitText(forms: RenderedAnswer["forms"], maxBytes: number): string {
	const longer: Outline[] = [];
	for (const form of forms) {
		const outline = form();
		const room = maxBytes - bytesOf(wholeText(outline));
		if (room >= 0) return wholeText(filled(outline, longer, room));
		longer.push(outline);
	}
	return cutText(longer.at(-1) ?? [], maxBytes);
}

/** `longer` has other forms of the outline, longest first. */
function filled(outline: Outline, longer: readonly Outline[], room: number): Outline {
	const alike = longer.filter((other) => isParallel(outline, other));
	if (alike.length === 0) return outline;
	let left = room;
	return outline.map(({ head, items }, part) => ({
		head,
		items: items.map((item, index) => {
			const bytes = bytesOf(item);
			for (const other of alike) {
				const more = other[part]?.items[index] ?? item;
				const cost = bytesOf(more) - bytes;
				if (cost > left) continue;
				left -= cost;
				return more;
			}
			return item;
		}),
	}));
}

function isParallel(one: Outline, other: Outline): boolean {
	return (
		one.length === other.length &&
		one.every(({ items }, part) => items.length === other[part]?.items.length)
	);
}

/** Maximum length of a single head line, as a share of the budget. */
const HEAD_SHARE = 1 / 4;

/** Adds items round robin: each section gets one in turn until its next item does not fit. */
function cutText(outline: Outline, maxBytes: number): string {
	const parts = withinHeads(outline, maxBytes).map((part) => ({ ...part, shown: 0 }));
	// Room for notes on missing items is reserved up front. `+ 1` counts the line feed.
	let room = maxBytes;
	for (const { head, items } of parts) {
		for (const line of head) room -= bytesOf(line) + 1;
		if (items.length > 0) room -= bytesOf(missing(items.length)) + 1;
	}
	const open = new Set(parts);
	while (open.size > 0) {
		for (const part of open) {
			const item = part.items[part.shown];
			const left = item === undefined ? -1 : room - bytesOf(item) - 1;
			if (left < 0) {
				open.delete(part);
				continue;
			}
			room = left;
			part.shown++;
		}
	}
	const lines = parts.flatMap(({ head, items, shown }) => [
		...head,
		...items.slice(0, shown),
		...(shown < items.length ? [missing(items.length - shown)] : []),
	]);
	// The limit holds even if the heads alone exceed it.
	return clip(lines.join("\n"), maxBytes);
}

function withinHeads(outline: Outline, maxBytes: number): Section[] {
	const most = Math.floor(maxBytes * HEAD_SHARE);
	const parts: Section[] = [];
	let used = 0;
	for (const { head, items } of outline) {
		const lines = head.map((line) => clipMiddle(line, most));
		used += lines.reduce((sum, line) => sum + bytesOf(line) + 1, NOTE_BYTES);
		if (parts.length > 0 && used > maxBytes) break;
		parts.push({ head: lines, items });
	}
	return parts;
}

const NOTE_BYTES = 24;

function missing(items: number): string {
	return `  … ${grouped(items)} more`;
}

/** Longer lists are wrapped, so that they can be cut between lines. */
const NAMES_A_LINE = 12;

/** Lists names by folder: `  src/ui/: button.ts, form.ts`. Folders are in order of their first path. */
export function byFolder<Item extends { readonly path: string }>(
	items: readonly Item[],
	label: (name: string, item: Item) => string = (name) => name,
): string[] {
	return [...Map.groupBy(items, ({ path }) => splitPath(path)[0])].flatMap(([folder, some]) => {
		const names = some.map((item) => label(oneLine(splitPath(item.path)[1]), item));
		return chunks(names, NAMES_A_LINE).map((line) => `  ${oneLine(folder)}: ${line.join(", ")}`);
	});
}

/** Totals by folder, largest first: `  src/ui/  312 usages in 40 files` for unit `usage`. */
export function folderTotals(items: readonly { readonly path: string }[], unit?: string): string[] {
	return [...Map.groupBy(items, ({ path }) => splitPath(path)[0])]
		.toSorted(([, a], [, b]) => b.length - a.length)
		.map(([folder, some]) => {
			const total = unit ? `${counted(some.length, unit)} in ` : "";
			const files = new Set(some.map(({ path }) => path)).size;
			return `  ${oneLine(folder)}  ${total}${counted(files, "file")}`;
		});
}

function splitPath(path: string): [folder: string, name: string] {
	const slash = path.lastIndexOf("/");
	return slash < 0 ? ["./", path] : [path.slice(0, slash + 1), path.slice(slash + 1)];
}

/** The last line of every answer: coverage, freshness, unparsed files. */
export function coverageLine(coverage: Coverage, nowMs: number, advice = TOOL_ADVICE): string {
	const { files, unparsed, unresolvedImports, checkedMs, refreshedFiles, complete } = coverage;
	const { leftOut, notStored, pending, languages = [] } = coverage;
	const facts = [
		...(complete
			? []
			: [`INCOMPLETE, the first indexing is not finished: ${advice.index} goes on with it`]),
		...(pending === undefined ? [] : [pendingText(pending, files)]),
		`${counted(files, "file")} indexed${languagesText(languages)}`,
		`checked ${ago(nowMs - checkedMs)}`,
		...(refreshedFiles > 0 ? [`${counted(refreshedFiles, "change")} taken in`] : []),
		...(unparsed.count > 0 ? [unparsedFiles(unparsed)] : []),
		...(leftOut ? [leftOutText(leftOut)] : []),
		...(notStored ? [notStoredText(notStored)] : []),
		...(unresolvedImports > 0 ? [counted(unresolvedImports, "unresolved import")] : []),
	];
	return `[${facts.join("; ")}]`;
}

export function pendingText(pending: number, files: number): string {
	return `references and texts of ${grouped(pending)} of ${counted(files, "file")} are still being read`;
}

/** `: 900 python, 304 rust; members where types are written, rust by name only`. */
function languagesText(languages: NonNullable<Coverage["languages"]>): string {
	if (languages.length === 0) return "";
	const counts = languages.map(({ name, files }) => `${grouped(files)} ${name}`);
	const byName = languages.filter(({ usages }) => usages === "names").map(({ name }) => name);
	const hasTypes = byName.length < languages.length;
	const covered = [
		...(hasTypes ? ["members where types are written"] : []),
		...(byName.length > 0 ? [`${byName.join(", ")} by name only`] : []),
	];
	return `: ${counts.join(", ")}; ${covered.join(", ")}`;
}

export function whyNothingIndexed({ files, complete }: Coverage, advice: Advice) {
	if (files > 0) return undefined;
	return complete
		? "The project has no source files in a language that is indexed (docs/kota.md lists them), or git ignores them all: use other tools."
		: `Nothing is indexed yet: the first indexing was interrupted. ${advice.index} goes on with it.`;
}

const NAMED_FILES = 3;
const PATH_BYTES = 60;
const REASON_BYTES = 80;

function unparsedFiles({ count: files, paths }: Coverage["unparsed"]): string {
	const named = paths.slice(0, NAMED_FILES).map((path) => clipMiddle(oneLine(path), PATH_BYTES));
	const more = files > named.length ? ", …" : "";
	const which = named.length > 0 ? ` (${named.join(", ")}${more})` : "";
	return `${counted(files, "file")} not fully parsed${which}`;
}

export function leftOutText(leftOut: NonNullable<Coverage["leftOut"]>): string {
	const { count: all, kinds, first } = leftOut;
	const parts = kinds.length > 1 ? kinds.map(({ what, count }) => `${grouped(count)} ${what}`) : [];
	const sorts = parts.length > 0 ? `: ${parts.join(", ")}` : "";
	const named = first.slice(0, 1).map(({ path, reason }) => {
		const place = path === "" ? "" : `${clipMiddle(oneLine(path), PATH_BYTES)}: `;
		return ` (${place}${clip(oneLine(reason), REASON_BYTES)}${all > 1 ? ", …" : ""})`;
	});
	return `${grouped(all)} left out${sorts}${named.join("")}`;
}

export function notStoredText({ place, reason }: NonNullable<Coverage["notStored"]>): string {
	return `kept in memory only, ${clipMiddle(oneLine(place), PATH_BYTES)} cannot be written to (${clip(oneLine(reason), REASON_BYTES)})`;
}

function ago(ms: number): string {
	const seconds = Math.round(ms / 1000);
	if (seconds < 5) return "just now";
	if (seconds < 120) return `${seconds} s ago`;
	const minutes = Math.round(seconds / 60);
	if (minutes < 120) return `${minutes} min ago`;
	return `${grouped(Math.round(minutes / 60))} h ago`;
}

export type ProjectPaths = ReturnType<typeof projectPaths>;

/** The reader of a text: how paths are shown, and which commands are advised. */
export type Audience = Pick<ProjectPaths, "show" | "advice">;

/** Paths in the index are relative to the root. The model and users write them from the working folder. */
export function projectPaths(
	root: string,
	cwd: string,
	exists: (path: string) => boolean = existsSync,
	isFile: (path: string) => boolean = isRegularFile,
) {
	const fromRoot = (path: string) => slashed(relative(root, path));
	const folder = fromRoot(cwd);
	const outside = `${slashed(relative(cwd, root))}/`;
	const fromOutside = (path: string) => outside + path;

	/** Returns possible absolute paths: relative to the working folder first, then to the root. */
	function placesOf(path: string): string[] {
		// Pi's tools accept a leading @, as in file mentions.
		const spellings = path.startsWith("@") ? [path, path.slice(1)] : [path];
		return spellings
			.map(expandHome)
			.flatMap((plain) => [resolve(cwd, plain), resolve(root, plain)]);
	}

	return {
		root,
		advice: TOOL_ADVICE,
		show: /^\.\.(?:\/|$)/.test(folder) ? fromOutside : fromFolder(folder),
		placesOf,
		isFile,
		/** Maps the model's spelling to the path in the index. A path outside the project keeps its `..`. */
		find(path: string): string {
			const places = placesOf(path);
			return fromRoot(places.find(exists) ?? places[0] ?? cwd);
		},
		/** Tells files, symbols and `file#symbol` apart. An existing file of that very name wins. */
		target(text: string): QueryOf<"outline"> {
			const fileAt = (path: string) => {
				const place = path === "" ? undefined : placesOf(path).find(isFile);
				return place === undefined ? undefined : fromRoot(place);
			};
			const whole = fileAt(text);
			if (whole !== undefined) return { file: whole };
			for (let at = text.indexOf("#"); at !== -1; at = text.indexOf("#", at + 1)) {
				const file = fileAt(text.slice(0, at));
				const symbol = text.slice(at + 1);
				if (file !== undefined && symbol !== "") return { file, symbol };
			}
			// A path that does not exist gets the index's advice on paths.
			const [path = "", symbol] = text.split(/#(.*)/s);
			if (!path.includes("/")) return { symbol: text };
			return { file: fromRoot(resolve(cwd, path)), ...(symbol && { symbol }) };
		},
	};
}

function isRegularFile(path: string): boolean {
	try {
		return statSync(path).isFile();
	} catch {
		return false; // missing, or no path at all: a name of 2,000 characters, a cycle of links
	}
}

/** Replaces Node's `relative`, which is too slow for thousands of paths. */
function fromFolder(folder: string): (path: string) => string {
	if (folder === "") return (path) => path;
	const names = folder.split("/");
	const ways = [...names, ""].map((_, up) => ({
		shared: names
			.slice(0, names.length - up)
			.map((name) => `${name}/`)
			.join(""),
		back: "../".repeat(up),
	}));
	return (path) => {
		const way = ways.find(({ shared }) => path.startsWith(shared));
		return way ? way.back + path.slice(way.shared.length) : path;
	};
}

function slashed(path: string): string {
	return sep === "\\" ? path.replaceAll("\\", "/") : path;
}

/** For the model, which has tools. `COMMAND_ADVICE` is for users. */
export const TOOL_ADVICE = {
	search: "kota_search",
	index: "kota_index",
	countTests: "include_tests counts them",
	withoutFilters: "without filters",
};

export type Advice = typeof TOOL_ADVICE;

export const COMMAND_ADVICE: Advice = {
	search: "strata search",
	index: "strata index",
	countTests: "leave out --no-tests to count them",
	withoutFilters: "without --glob",
};
