import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { WORKSET_ENTRY } from "../core/entry-types.ts";
import type { Host, SessionView } from "../session/index.ts";
import { counted, grouped } from "../text/figures.ts";
import {
	filesMatching,
	isPattern,
	MAX_ENTRIES,
	matchesPattern,
	projectPath,
	readWorkingFile,
} from "./files.ts";
import { tiersReport, worksetReport } from "./report.ts";
import type { SelectionChange } from "./selection.ts";
import { MAP_NAME, selectionNow, type Workset } from "./workset.ts";

const USAGE = [
	"/workset add <paths or patterns>   put files into every request, always up to date",
	"/workset drop <paths or patterns>  remove files",
	"/workset list                      the working files and their tokens",
	"/workset clear                     remove all files",
	"/workset map on|off                add a map of the symbols of all other files",
	"/tiers                             the stability of each file and its place in the request",
].join("\n");

/** Maximum number of files listed by name in a report. */
const MAX_NAMED = 20;

export async function runTiers(workset: Workset, session: SessionView): Promise<string> {
	await workset.refreshFiles(session);
	return printable(tiersReport(workset, session, Date.now()));
}

interface WorksetCall {
	readonly args: string;
	readonly workset: Workset;
	readonly session: SessionView;
	readonly host: Pick<Host, "appendEntry">;
	onSelected(): void;
}

export async function runWorkset(call: WorksetCall): Promise<string> {
	const { args, workset, session, host, onSelected } = call;
	const subcommands = { add, drop, list, clear, map };
	const [name = "list", ...words] = wordsOf(args).filter((word) => word !== "");
	if (!Object.hasOwn(subcommands, name)) {
		return printable(`/workset has no command "${name.slice(0, 60)}"\n${USAGE}`);
	}
	let isChanged = false;
	const report = await subcommands[name as keyof typeof subcommands](words);
	// Status and views show the selection at once.
	if (isChanged) await workset.refreshFiles(session);
	return printable(report);

	async function add(words: string[]): Promise<string> {
		if (words.length === 0) return `Which files? For example: /workset add src/index.ts\n${USAGE}`;
		const { settings, cwd } = workset;
		const { maxFiles, maxTokens } = settings.tiers;
		await workset.refreshFiles(session);
		const selected = new Set(selectionNow(session).paths);
		let tokens = workset.files.reduce((sum, file) => sum + file.tokens, 0);
		const added: string[] = [];
		const kept: string[] = [];
		const refused: string[] = [];
		/** Files that were skipped because there is no room. */
		const unread: string[] = [];
		let tooLarge = 0;
		for (const path of await pathsOf(words, cwd, refused)) {
			if (selected.has(path)) kept.push(path);
			else if (path === MAP_NAME) {
				refused.push(`${path} cannot be added: the name is reserved for the symbol map`);
			} else if (selected.size >= maxFiles || tooLarge >= MAX_NAMED) unread.push(path);
			else await take(path);
		}
		const taken = `${selected.size} of ${maxFiles} files (tiers.maxFiles) and ${grouped(tokens)} of ${grouped(maxTokens)} tokens (tiers.maxTokens) are in use`;
		// The first reason goes into the first line, since some clients show only that line.
		const [why = "", ...others] = [
			...shortened(refused),
			...(unread.length > 0 ? [`no room for ${named(unread)}: ${taken}`] : []),
			...(kept.length > 0
				? [`${named(kept)} ${kept.length > 1 ? "are" : "is"} in the working set already`]
				: []),
		];
		if (added.length === 0) return [`Nothing was added: ${why}`, ...others].join("\n");
		change({ op: "add", paths: added });
		const head = `Added ${named(added)}. The working set has ${counted(selected.size, "file")}, ${counted(tokens, "token")}.`;
		return [why === "" ? head : `${head} Not added: ${why}`, ...others].join("\n");

		async function take(path: string): Promise<void> {
			const file = await readWorkingFile(cwd, path, settings);
			if ("why" in file) refused.push(`${path} ${file.why}`);
			else if (tokens + file.tokens > maxTokens) {
				tooLarge += 1;
				refused.push(
					`${path} (${counted(file.tokens, "token")}) does not fit: ${grouped(tokens)} of ${grouped(maxTokens)} tokens are in use (tiers.maxTokens)`,
				);
			} else {
				tokens += file.tokens;
				selected.add(path);
				added.push(path);
			}
		}
	}

	async function drop(words: string[]): Promise<string> {
		if (words.length === 0) return `Which files?\n${USAGE}`;
		const { paths } = selectionNow(session);
		const isNamed = (path: string, word: string) =>
			spellingsOf(word).some((name) => {
				if (isPattern(name)) return matchesPattern(name, path);
				return projectPath(workset.cwd, name) === path;
			});
		const dropped = paths.filter((path) => words.some((word) => isNamed(path, word)));
		const unknown = words.filter((word) => !paths.some((path) => isNamed(path, word)));
		const none = unknown.length > 0 && `None of the working files is named ${named(unknown)}.`;
		if (dropped.length > 0) change({ op: "drop", paths: dropped });
		const left = counted(paths.length - dropped.length, "file");
		const done = dropped.length > 0 && `Dropped ${named(dropped)}. Left: ${left}.`;
		return [done, none].filter(Boolean).join(" ");
	}

	async function list(): Promise<string> {
		await workset.refreshFiles(session);
		const isMapWanted = workset.wantsMap(session);
		return workset.files.length > 0 || isMapWanted
			? worksetReport(workset, isMapWanted)
			: `The working set is empty.\n${USAGE}`;
	}

	async function clear(words: string[]): Promise<string> {
		if (words.length > 0) {
			return `/workset clear drops all files and takes no names; to drop some, use /workset drop ${words.join(" ")}`;
		}
		const { length } = selectionNow(session).paths;
		if (length > 0) change({ op: "clear" });
		return length > 0
			? `Dropped ${counted(length, "file")}, the whole working set.`
			: "The working set is empty already.";
	}

	async function map([word]: string[]): Promise<string> {
		if (word !== "on" && word !== "off") return "Use /workset map on or /workset map off.";
		change({ op: "map", on: word === "on" });
		return word === "on"
			? "From the next prompt on, requests contain a map of the project's symbols."
			: "The symbol map is off.";
	}

	function change(selection: SelectionChange): void {
		host.appendEntry(WORKSET_ENTRY, selection);
		isChanged = true;
		onSelected();
	}
}

/** Expands patterns. Adds words to `refused` that match nothing or whose search hit the limit. */
export async function pathsOf(
	words: readonly string[],
	root: string,
	refused: string[],
	maxEntries = MAX_ENTRIES,
): Promise<string[]> {
	const paths = new Set<string>();
	for (const word of words) {
		const names = spellingsOf(word);
		const found = await Promise.all(names.map((name) => filesNamed(name, root, maxEntries)));
		const [folder] = names.flatMap((name) => folderNamed(name, root) ?? []);
		const named = found.find(({ files }) => files.length > 0) ?? found.find(({ cut }) => cut);
		for (const path of named?.files ?? []) paths.add(path);
		const cut = `was searched for in the first ${maxEntries} entries of the project only: name a folder, such as src/*.ts`;
		if (named?.cut) refused.push(`${word} ${cut}`);
		else if (!named) refused.push(`${word} ${whyNone(word, root, folder)}`);
	}
	return [...paths];
}

function whyNone(word: string, root: string, folder: string | undefined): string {
	if (folder !== undefined) {
		const [start, all] = folder === "" ? ["", "./**"] : [`${folder}/`, `${folder}/**`];
		return `is a folder: name files in it, such as ${start}*.ts, or ${all} for all`;
	}
	if (isPattern(word)) return "matches no file";
	return projectPath(root, word) === undefined ? "is outside of the project" : "does not exist";
}

/** Pi writes file names with a leading `@`, but a real name may start with `@` too. */
function spellingsOf(word: string): string[] {
	return word.startsWith("@") ? [word, word.slice(1)] : [word];
}

async function filesNamed(
	name: string,
	root: string,
	maxEntries: number,
): Promise<{ files: string[]; cut: boolean }> {
	if (isPattern(name)) return await filesMatching(root, name, maxEntries);
	const path = projectPath(root, name);
	const isThere = path !== undefined && existsSync(join(root, path));
	return { files: isThere && folderNamed(name, root) === undefined ? [path] : [], cut: false };
}

function folderNamed(name: string, root: string): string | undefined {
	const path = resolve(root, name) === resolve(root) ? "" : projectPath(root, name);
	if (path === undefined) return undefined;
	try {
		return statSync(join(root, path)).isDirectory() ? path : undefined;
	} catch {
		return undefined; // missing or unreadable
	}
}

function wordsOf(args: string): string[] {
	return [...args.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
		([, double, single, plain]) => double ?? single ?? plain ?? "",
	);
}

/** Security: file names are untrusted, and terminals interpret control characters. */
function printable(text: string): string {
	return text.replace(/[^\P{Cc}\n]/gu, "\ufffd");
}

function named(paths: readonly string[]): string {
	const more = paths.length - MAX_NAMED;
	const first = paths.slice(0, MAX_NAMED).join(", ");
	return more > 0 ? `${first} and ${more} more` : first;
}

function shortened(lines: readonly string[]): string[] {
	const more = lines.length - MAX_NAMED;
	return more > 0 ? [...lines.slice(0, MAX_NAMED), `… and ${more} more`] : [...lines];
}
