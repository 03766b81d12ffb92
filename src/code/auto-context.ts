import type { TaskContextAnswer } from "../codeindex/index.ts";
import { isWithin } from "../core/places.ts";
import { property } from "../core/property.ts";
import { clipMiddle } from "../text/clip.ts";
import { grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { fitText, type ProjectPaths, remark, type Section } from "./outline.ts";

const BRIEFED_FILES = 3;

/** Limits of the prompt scan, so that a pasted log does not take a second. */
const PROMPT_CHARS = 100_000;
const MAX_CANDIDATES = 500;

interface FileLookup {
	readonly paths: ProjectPaths;
	isFile(path: string): boolean;
}

/** Returns a number if the prompt names too many files. Mode `always` falls back to files last touched. */
export function filesToBrief(
	prompt: string,
	mode: "onPaths" | "always",
	messages: () => readonly TurnMessage[],
	lookup: FileLookup,
): readonly string[] | number {
	const named = namedFiles(prompt, lookup);
	if (named.length > BRIEFED_FILES) return named.length;
	if (named.length > 0 || mode === "onPaths") return named;
	return workedOnFiles(messages(), lookup).slice(0, BRIEFED_FILES);
}

/** Existing source files that the prompt names, in order of mention. */
export function namedFiles(prompt: string, lookup: FileLookup): string[] {
	return existing(candidates(prompt.slice(0, PROMPT_CHARS)), lookup);
}

interface TurnMessage {
	readonly role: string;
	readonly content?: unknown;
}

/** Existing source files that tools read or changed since the last prompt, latest first. */
export function workedOnFiles(messages: readonly TurnMessage[], lookup: FileLookup): string[] {
	return existing(calledPaths(messages), lookup);
}

function* calledPaths(messages: readonly TurnMessage[]): Generator<string> {
	let left = MAX_CANDIDATES;
	for (const { role, content } of messages.toReversed()) {
		if (role === "user") return;
		if (role !== "assistant" || !Array.isArray(content)) continue;
		for (const block of content.toReversed()) {
			const path = withoutPlace(calledPath(block) ?? "");
			if (!SOURCE_FILE.test(path)) continue;
			if (left-- === 0) return;
			yield path;
		}
	}
}

const FILE_TOOLS: ReadonlySet<unknown> = new Set(["read", "edit", "write"]);

function calledPath(block: unknown): string | undefined {
	if (property(block, "type") !== "toolCall") return undefined;
	if (!FILE_TOOLS.has(property(block, "name"))) return undefined;
	const path = property(property(block, "arguments"), "path");
	return typeof path === "string" ? path : undefined;
}

function existing(candidates: Iterable<string>, { paths, isFile }: FileLookup): string[] {
	const found = new Set<string>();
	for (const candidate of candidates) {
		const places = paths.placesOf(candidate);
		const place = places.find((path) => isWithin(paths.root, path) && isFile(path));
		if (place !== undefined) found.add(paths.find(place));
	}
	return [...found];
}

const SHOWN = { dependencies: 5, dependents: 10, tests: 5 } as const;

/** Maximum size in bytes. It is small, since a briefing comes unrequested. */
export const BRIEFING_BYTES = 1_500;

export function briefing(answer: TaskContextAnswer, { show }: ProjectPaths): string | undefined {
	const targets = answer.targets.map(({ path }) => show(path));
	if (targets.length === 0) return undefined;
	const isTarget = new Set(answer.targets.map(({ path }) => path));
	const dependencies = new Set(answer.targets.flatMap((target) => target.dependencies));
	const needed = [...dependencies].filter((path) => !isTarget.has(path)).map(show);
	const dependents = answer.impacted.map(({ path }) => show(path));
	const more = answer.coverage.complete
		? ""
		: " The index is incomplete: kota_index goes on with it.";
	const caveat = `From the code index; more by kota_deps, or kota_search with output snippet.${more}`;
	const outline = [
		remark(`Context of ${targets.map(shortPath).join(", ")}`),
		list("imports", needed, SHOWN.dependencies, needed.length),
		list("used by", dependents, SHOWN.dependents, answer.impactedCount),
		list("tests", answer.tests.map(show), SHOWN.tests, answer.tests.length),
	];
	const text = fitText([() => outline], BRIEFING_BYTES - Buffer.byteLength(caveat) - 1);
	return `${text}\n${caveat}`;
}

function list(name: string, paths: readonly string[], most: number, total: number): Section {
	if (total === 0) return remark(`${name}: nothing`);
	const shown = paths.slice(0, most).map((path) => `  ${shortPath(path)}`);
	const some = shown.length < total ? ` (${shown.length} of ${grouped(total)})` : "";
	return { head: [`${name}${some}:`], items: shown };
}

function shortPath(path: string): string {
	return clipMiddle(oneLine(path), 120);
}

const SOURCE_FILE = /\.(?:[cm]?[jt]s|[jt]sx)$/i;
const WORD_CHARS = 1000;

function* candidates(prompt: string): Generator<string> {
	const seen = new Set<string>();
	for (const [match, ...quoted] of prompt.matchAll(/`([^`\n]+)`|"([^"\n]+)"|'([^'\n]+)'|\S+/g)) {
		const phrase = quoted.find((part) => part !== undefined);
		for (const word of phrase === undefined ? [match] : [phrase, ...phrase.split(/\s+/)]) {
			if (word.length > WORD_CHARS) continue;
			for (const path of [word, ...word.split(/[,;=|]|\]\(/)].flatMap(spellings)) {
				if (!SOURCE_FILE.test(path) || seen.has(path)) continue;
				if (seen.size === MAX_CANDIDATES) return;
				seen.add(path);
				yield path;
			}
		}
	}
}

/** Drops trailing punctuation. Returns the word with and without brackets, which a path can contain. */
function spellings(word: string): string[] {
	const ended = withoutPlace(word.replace(/["'`*_.,;:!?…]+$/, ""));
	const inner = word.replace(/^[([{<"'`*_]+/, "").replace(/[\])}>"'`*_.,;:!?…]+$/, "");
	return [ended, withoutPlace(inner)];
}

/** Strips positions: `:12`, `:12:5`, `:3-9`, `#L12`, `#L3-L9` and `(12,5)`. */
function withoutPlace(path: string): string {
	return path.replace(/(?::\d+(?:[:-]\d+)*|#L?\d+(?:-L?\d+)?|\(\d+(?:,\d+)?\)?)$/i, "");
}
