import type { Block } from "../../src/economy/index.ts";
import type { LogMoment, LogPlan } from "../../src/workset/log/layout.ts";
import { fileBlock } from "./plain-layouts.ts";
import type { ShownFile } from "./workload.ts";

/** The blocks of a session, to which plans of the `log` layout are applied. */
export interface LogSession {
	/** The conversation grows. */
	add(messages: readonly Block[]): void;
	/** The messages with working files in view. */
	copies(): LogMoment["copies"];
	/** All messages, in blocks. */
	blocks(): Block[];
	/** The index of the block where a plan begins to change something; to be read before the plan is applied. */
	indexOf(frontier: NonNullable<LogPlan["frontier"]>): number;
	/** @throws Error unless every file is shown as it is now, in one place only: the promise of all layouts. */
	carryOut(plan: LogPlan, files: readonly ShownFile[]): void;
}

/** A message of the conversation, or one that holds working files. */
type Entry = { readonly kind: "message"; readonly block: Block } | Holder;

interface Holder {
	readonly kind: "slot" | "snapshot";
	readonly id: string;
	readonly files: readonly ShownFile[];
}

export function createLogSession(): LogSession {
	let entries: Entry[] = [];
	let made = 0;

	function carryOut(plan: LogPlan, files: readonly ShownFile[]): void {
		const { slot, drop, append, tail } = plan;
		const kept = entries.filter((entry) => entry.kind === "message" || !drop.includes(entry.id));
		entries = kept.map((entry) =>
			slot && entry.kind !== "message" && entry.id === slot.entryId
				? { ...entry, files: textsOf(slot.paths, files) }
				: entry,
		);
		if (slot && slot.entryId === undefined) hold("slot", textsOf(slot.paths, files));
		for (const file of textsOf(append, files)) hold("snapshot", [file]);
		checkFresh(files, textsOf(tail, files));
	}

	function hold(kind: Holder["kind"], files: readonly ShownFile[]): void {
		entries.push({ kind, id: `${kind} ${made++}`, files });
	}

	function checkFresh(files: readonly ShownFile[], tail: readonly ShownFile[]): void {
		const last = new Map<string, string>();
		for (const { path, hash } of entries.flatMap(filesOf)) last.set(path, hash);
		for (const { path, hash } of files) {
			const isInTail = tail.some((file) => file.path === path);
			const isLive = last.get(path) === hash;
			if (isInTail !== isLive) continue;
			throw new Error(
				`${path} is ${isLive ? "live in two places" : `${last.get(path)}, not ${hash}`}`,
			);
		}
	}

	return {
		carryOut,
		add(messages) {
			for (const block of messages) entries.push({ kind: "message", block });
		},
		copies: () =>
			entries.flatMap((entry, at) => {
				if (entry.kind === "message") return [];
				const { id: entryId, kind, files } = entry;
				return [{ entryId, kind, files, tokensBehind: tokensOf(blocksOf(entries.slice(at + 1))) }];
			}),
		blocks: () => blocksOf(entries),
		indexOf({ entryId, path }) {
			const at = entries.findIndex((entry) => entry.kind !== "message" && entry.id === entryId);
			const held = filesOf(entries[at] as Entry);
			const within = path === undefined ? 0 : held.findIndex((file) => file.path === path);
			return blocksOf(entries.slice(0, at)).length + within;
		},
	};
}

/** The sum of their tokens. */
export function tokensOf(blocks: readonly Block[]): number {
	return blocks.reduce((sum, { tokens }) => sum + tokens, 0);
}

function textsOf(paths: readonly string[], files: readonly ShownFile[]): ShownFile[] {
	return paths.map((path) => {
		const file = files.find((one) => one.path === path);
		if (!file) throw new Error(`${path} is not in the working set`);
		return file;
	});
}

function filesOf(entry: Entry): readonly ShownFile[] {
	return entry.kind === "message" ? [] : entry.files;
}

function blocksOf(entries: readonly Entry[]): Block[] {
	return entries.flatMap((entry) =>
		entry.kind === "message" ? [entry.block] : entry.files.map(fileBlock),
	);
}
