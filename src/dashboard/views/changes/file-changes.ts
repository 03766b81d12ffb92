import { type DiffLine, type Hunk, hunksOf } from "../../parts/patch.ts";
import type { Item, ToolCall } from "../../session/items.ts";

export interface FileChange {
	readonly path: string;
	/** Several, if something else changed the file in between: then one diff cannot say it all. */
	readonly parts: readonly ChangePart[];
	readonly added: number;
	readonly removed: number;
	/** Number of `edit` and `write` calls. */
	readonly calls: number;
}

interface ChangePart {
	/** `written`: the whole text was replaced, and the text before it is unknown. */
	readonly kind: "edited" | "written";
	readonly lines: readonly DiffLine[];
}

/** What the finished calls of `edit` and `write` changed, by file, as one diff from the first version to the last. */
export function fileChanges(items: readonly Item[], cwd: string): FileChange[] {
	const files = new Map<string, { calls: number; parts: Part[] }>();
	for (const call of callsIn(items)) {
		const change = changeOf(call);
		if (!change) continue;
		const path = inProject(change.path, cwd);
		const file = files.get(path) ?? { calls: 0, parts: [] };
		files.set(path, file);
		file.calls++;
		applyTo(file.parts, change);
	}
	return [...files].map(([path, { calls, parts }]) => {
		const shown = parts.map(({ kind, nodes }) => ({ kind, lines: linesOf(nodes) }));
		const all = shown.flatMap(({ lines }) => lines);
		const count = (kind: DiffLine["kind"]) => all.filter((line) => line.kind === kind).length;
		return { path, parts: shown, added: count("added"), removed: count("removed"), calls };
	});
}

/** Lines of all files that are unfolded at first. */
const MAX_OPEN_LINES = 300;

/** The paths of the files that begin unfolded: as many as fit, from the first on. */
export function openAtFirst(files: readonly FileChange[]): ReadonlySet<string> {
	let lines = 0;
	const open = files.filter(({ parts }, at) => {
		lines += linesIn(parts);
		return at === 0 || lines <= MAX_OPEN_LINES;
	});
	return new Set(open.map(({ path }) => path));
}

/** The first parts, as many as `most` lines hold, at least one. */
export function partsWithin(parts: readonly ChangePart[], most: number): readonly ChangePart[] {
	let lines = 0;
	const fits = parts.findIndex((part, at) => {
		lines += part.lines.length;
		return at > 0 && lines > most;
	});
	return fits === -1 ? parts : parts.slice(0, fits);
}

function linesIn(parts: readonly ChangePart[]): number {
	return parts.reduce((sum, { lines }) => sum + lines.length, 0);
}

function callsIn(items: readonly Item[]): ToolCall[] {
	return items.flatMap((item) =>
		item.kind === "assistant"
			? item.blocks.flatMap((block) => (block.kind === "call" ? [block.call] : []))
			: [],
	);
}

type Change = { readonly path: string } & (
	| { readonly hunks: readonly Hunk[] }
	| { readonly content: string }
);

function changeOf({ name, state, args, patch }: ToolCall): Change | undefined {
	if (state !== "done") return undefined;
	const given = (typeof args === "object" && args !== null ? args : {}) as Record<string, unknown>;
	const { path, content } = given;
	if (typeof path !== "string") return undefined;
	if (name === "write") return typeof content === "string" ? { path, content } : undefined;
	const hunks = name === "edit" && patch !== undefined ? hunksOf(patch) : undefined;
	return hunks && { path, hunks };
}

/** The path relative to the session's folder, if it is inside of it. */
export function inProject(path: string, cwd: string): string {
	const plain = path.replace(/^@/, "").replace(/^(?:\.\/)+/, "");
	return cwd !== "" && plain.startsWith(`${cwd}/`) ? plain.slice(cwd.length + 1) : plain;
}

/** A run of lines that no diff has shown, or one line. A removed line is in the first version only. */
type Node =
	| { readonly kind: "unseen"; readonly count: number }
	| { readonly kind: "same" | "added" | "removed"; readonly text: string };

interface Part {
	readonly kind: ChangePart["kind"];
	nodes: readonly Node[];
}

function applyTo(parts: Part[], change: Change): void {
	const last = parts.at(-1);
	if ("content" in change) {
		const lines = change.content.split("\n");
		if (lines.at(-1) === "") lines.pop();
		const nodes = lines.map((text) => ({ kind: "added", text }) as const);
		// The text before two writes is as unknown as before one.
		if (last?.kind === "written") last.nodes = nodes;
		else parts.push({ kind: "written", nodes });
		return;
	}
	const next = last && patched(last.nodes, change.hunks);
	if (last && next) last.nodes = next;
	else parts.push({ kind: "edited", nodes: patched(UNSEEN, change.hunks) ?? [] });
}

const UNSEEN: readonly Node[] = [{ kind: "unseen", count: Number.POSITIVE_INFINITY }];

/** Applies hunks to the known lines of a file. Undefined if they contradict what is known. */
function patched(nodes: readonly Node[], hunks: readonly Hunk[]): Node[] | undefined {
	const rest = nodes.toReversed();
	const result: Node[] = [];
	/** The line of the current version that `rest` begins with, from 1. */
	let at = 1;

	/** Takes the next line of the current version. Removed lines before it go to the result. */
	function take(): Exclude<Node, { kind: "removed" }> | undefined {
		let node = rest.pop();
		while (node?.kind === "removed") {
			result.push(node);
			node = rest.pop();
		}
		if (node?.kind === "unseen" && node.count > 1) rest.push({ ...node, count: node.count - 1 });
		if (node) at++;
		return node?.kind === "unseen" ? { kind: "unseen", count: 1 } : node;
	}

	/** Moves the lines before `line` to the result. */
	function skipTo(line: number): boolean {
		while (at < line) {
			const node = rest.at(-1);
			if (node?.kind === "unseen") {
				const count = Math.min(node.count, line - at);
				rest.pop();
				if (node.count > count) rest.push({ kind: "unseen", count: node.count - count });
				result.push({ kind: "unseen", count });
				at += count;
				continue;
			}
			const taken = take();
			if (!taken) return false;
			result.push(taken);
		}
		return at === line;
	}

	for (const { oldStart, lines } of hunks) {
		if (!skipTo(oldStart)) return undefined;
		for (const { kind, text } of lines) {
			if (kind === "added") {
				result.push({ kind, text });
				continue;
			}
			const node = take();
			if (!node || (node.kind !== "unseen" && node.text !== text)) return undefined;
			if (kind === "same") result.push(node.kind === "added" ? node : { kind, text });
			else if (node.kind !== "added") result.push({ kind: "removed", text });
		}
	}
	return [...result, ...rest.reverse()];
}

const CONTEXT_LINES = 3;

/** The changed lines with some lines around them. What was changed back is not a change. */
function linesOf(nodes: readonly Node[]): DiffLine[] {
	const all: DiffLine[] = [];
	let oldNumber = 1;
	let newNumber = 1;
	const same = (text: string) =>
		all.push({ kind: "same", text, oldNumber: oldNumber++, newNumber: newNumber++ });
	let removed: string[] = [];
	let added: string[] = [];
	const flush = () => {
		const most = Math.min(removed.length, added.length);
		let start = 0;
		while (start < most && removed[start] === added[start]) start++;
		let end = 0;
		while (end < most - start && removed.at(-1 - end) === added.at(-1 - end)) end++;
		for (const text of removed.slice(0, start)) same(text);
		for (const text of removed.slice(start, removed.length - end)) {
			all.push({ kind: "removed", text, oldNumber: oldNumber++ });
		}
		for (const text of added.slice(start, added.length - end)) {
			all.push({ kind: "added", text, newNumber: newNumber++ });
		}
		for (const text of removed.slice(removed.length - end)) same(text);
		removed = [];
		added = [];
	};
	for (const node of nodes) {
		if (node.kind === "removed") removed.push(node.text);
		else if (node.kind === "added") added.push(node.text);
		else flush();
		if (node.kind === "same") same(node.text);
		if (node.kind !== "unseen") continue;
		all.push({ kind: "gap", text: "" });
		oldNumber += node.count;
		newNumber += node.count;
	}
	flush();
	return trimmed(all);
}

/** Keeps the lines near a change. Each run of others becomes one gap, none at the ends. */
function trimmed(lines: readonly DiffLine[]): DiffLine[] {
	const isNear = new Uint8Array(lines.length);
	for (const [at, { kind }] of lines.entries()) {
		if (kind !== "added" && kind !== "removed") continue;
		for (const step of [-1, 1]) {
			for (let near = at; Math.abs(near - at) <= CONTEXT_LINES; near += step) {
				if (near < 0 || near >= lines.length || lines[near]?.kind === "gap") break;
				isNear[near] = 1;
			}
		}
	}
	const kept: DiffLine[] = [];
	for (const [at, line] of lines.entries()) {
		if (isNear[at]) kept.push(line);
		else if (kept.length > 0 && kept.at(-1)?.kind !== "gap") kept.push({ kind: "gap", text: "" });
	}
	if (kept.at(-1)?.kind === "gap") kept.pop();
	return kept;
}
