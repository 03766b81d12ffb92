import { type Hash, hashBytes } from "../core/hash.ts";
import { ConfigFault } from "./formats/format.ts";
import { type SetKey, stateOf, withoutKey } from "./keys.ts";
import { FORMATS, isSamePlace } from "./plan.ts";
import type { WantedFile } from "./wanted.ts";

/** What setup did to a file. */
export interface FileRecord {
	readonly agent: string;
	readonly path: string;
	readonly format: WantedFile["format"];
	/** Of the file as setup left it; `null` while setup is writing. */
	readonly after: Hash | null;
	/** How the file becomes what it was; `null` if the agent rewrote it between two runs of setup. */
	readonly restore: Restore | null;
	readonly keys: readonly SetKey[];
	/** Folders that setup made, the innermost first. */
	readonly folders: readonly string[];
}

/** Only the part that differs is stored: a configuration may hold keys of other services. */
interface Restore {
	/** `null` if there was no file. */
	readonly before: Hash | null;
	readonly start: number;
	readonly end: number;
	readonly text: string;
}

/** The record of a change from `before` to `after`, on top of an earlier record of the same file. */
export function recordOf(
	change: {
		readonly agent: string;
		readonly wanted: WantedFile;
		readonly before: string | undefined;
		readonly after: string;
		readonly keys: readonly SetKey[];
		readonly folders: readonly string[];
	},
	previous: FileRecord | undefined,
): FileRecord {
	const { agent, wanted, before, after, keys, folders } = change;
	const original = previous ? originalOf(previous, before) : { text: before };
	const kept = (previous?.keys ?? []).filter((key) => !keys.some((one) => isSamePlace(one, key)));
	return {
		...{ agent, path: wanted.path, format: wanted.format, after: hashBytes(after) },
		restore: original ? restoreOf(original.text, after) : null,
		keys: [...kept, ...keys],
		folders: [...folders, ...(previous?.folders ?? [])],
	};
}

function restoreOf(before: string | undefined, after: string): Restore {
	const text = before ?? "";
	let start = 0;
	while (start < text.length && start < after.length && text[start] === after[start]) start++;
	let same = 0;
	const most = Math.min(text.length, after.length) - start;
	while (same < most && text.at(-1 - same) === after.at(-1 - same)) same++;
	return {
		before: before === undefined ? null : hashBytes(before),
		...{ start, end: after.length - same, text: text.slice(start, text.length - same) },
	};
}

/** The text before setup, if the file is as setup left it. */
function originalOf(
	{ after, restore }: FileRecord,
	current: string | undefined,
): { text: string | undefined } | undefined {
	if (current === undefined || !restore || hashBytes(current) !== after) return undefined;
	if (restore.before === null) return { text: undefined };
	const text = current.slice(0, restore.start) + restore.text + current.slice(restore.end);
	return hashBytes(text) === restore.before ? { text } : undefined;
}

/**
 * `restored`: byte for byte what it was. `removed`: the file was written since, so only our keys go. An `undefined`
 * text deletes the file.
 */
export type Undo =
	| { readonly kind: "restored" | "removed"; readonly text: string | undefined }
	| { readonly kind: "nothing" }
	| { readonly kind: "left"; readonly why: string };

/** Decides how a file becomes what it was before setup. */
export function undoOf(record: FileRecord, current: string | undefined): Undo {
	if (current === undefined) return { kind: "nothing" };
	const original = originalOf(record, current);
	if (original) return { kind: "restored", text: original.text };
	const format = FORMATS[record.format];
	let text = current;
	try {
		for (const key of record.keys.toReversed()) {
			const state = stateOf(format.parse(text), key, [key.value]);
			if (state.kind === "same" || state.kind === "ours") {
				text = withoutKey(format, text, key, state.at);
			}
		}
	} catch (error) {
		if (!(error instanceof ConfigFault)) throw error;
		return { kind: "left", why: `it ${error.message}` };
	}
	if (text === current) return { kind: "nothing" };
	const isOurFile = record.restore?.before === null && /^\uFEFF?\s*(?:\{\s*\})?\s*$/.test(text);
	return { kind: "removed", text: isOurFile ? undefined : text };
}
