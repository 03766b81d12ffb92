import { isRecord } from "../core/property.ts";
import {
	bounded,
	ConfigFault,
	type Format,
	type Json,
	type JsonObject,
	valueAt,
} from "./formats/format.ts";
import { json } from "./formats/json.ts";
import { toml } from "./formats/toml.ts";
import { type Key, type SetKey, stateOf, withoutKey } from "./keys.ts";
import type { WantedFile } from "./wanted.ts";

export const FORMATS: Record<WantedFile["format"], Format> = {
	json: bounded(json),
	toml: bounded(toml),
};

export interface FilePlan {
	readonly wanted: WantedFile;
	/** The text of the file; `undefined` if it is missing. */
	readonly before: string | undefined;
	/** Equal to `before` if nothing is to be done. */
	readonly after: string | undefined;
	/** Keys that are added or replaced. */
	readonly keys: readonly SetKey[];
	/** Whether a key is in the way of the agent's own command. */
	readonly isReplacing: boolean;
	/** Whether that key has fields of the user's, such as a server's variables, which the command would drop. */
	readonly isExtended: boolean;
	/** What is left alone, one sentence each. */
	readonly notes: readonly string[];
}

/** Decides what to change in a file. `recorded` are the keys that setup put there before. */
export function planFile(
	wanted: WantedFile,
	before: string | undefined,
	recorded: readonly SetKey[],
): FilePlan {
	const format = FORMATS[wanted.format];
	const keys: SetKey[] = [];
	const notes: string[] = [];
	let text = before ?? "";
	let isReplacing = false;
	let isExtended = false;
	for (const key of wanted.keys) {
		try {
			const root = format.parse(text);
			const known = recorded.filter((one) => isSamePlace(one, key));
			const state = stateOf(
				root,
				key,
				known.map(({ value }) => value),
			);
			if (state.kind === "same") continue;
			if (state.kind === "foreign") {
				notes.push(`${wanted.path} is left alone: it ${inTheWay(key)}`);
				continue;
			}
			if (state.kind === "absent") {
				text = added(format, text, key);
				keys.push({ ...key, depth: depthOf(root, key.path) });
				continue;
			}
			const [own] = known;
			if (!own) {
				// Added by hand: it may be just as it should be.
				notes.push(
					`${wanted.path} is left alone: its ${nameOf(key)} was not set up by strata setup`,
				);
				continue;
			}
			text = key.isItem
				? added(format, withoutKey(format, text, { ...own, depth: own.path.length }, state.at), key)
				: updated(format, text, key, valueAt(root, key.path));
			keys.push({ ...key, depth: own.depth });
			isReplacing = true;
			isExtended ||= !key.isItem && hasMore(valueAt(root, key.path), key.value);
		} catch (error) {
			if (!(error instanceof ConfigFault)) throw error;
			notes.push(`${wanted.path} is left alone: it ${error.message}`);
		}
	}
	const after = keys.length === 0 ? before : text;
	return { wanted, before, after, keys, isReplacing, isExtended, notes: [...new Set(notes)] };
}

function added(format: Format, text: string, key: Key): string {
	return key.isItem
		? format.append(text, key.path, key.value)
		: format.set(text, key.path, key.value);
}

/** Replaces our fields of an object. Those that the user or the agent added stay. */
function updated(format: Format, text: string, { path, value }: Key, found?: Json): string {
	if (!isRecord(found) || !isRecord(value)) return format.set(text, path, value);
	return Object.entries(value).reduce(
		(rest, [name, field]) => format.set(rest, [...path, name], field),
		text,
	);
}

/** Empty fields do not count: Claude Code writes them itself. */
function hasMore(found: Json | undefined, value: Json): boolean {
	if (!isRecord(found) || !isRecord(value)) return false;
	const isEmpty = (field: Json) => isRecord(field) && Object.keys(field).length === 0;
	return Object.entries(found).some(
		([name, field]) => !Object.hasOwn(value, name) && !isEmpty(field),
	);
}

export function isSamePlace(one: Key, other: Key): boolean {
	const isItem = one.kind === other.kind && one.isItem === other.isItem;
	return isItem && one.path.join("\n") === other.path.join("\n") && !isOtherValue(one, other);
}

/** Several plain values may stand in one array. */
function isOtherValue(one: Key, other: Key): boolean {
	return one.kind === "value" && one.isItem === true && one.value !== other.value;
}

function depthOf(root: JsonObject, path: readonly string[]): number {
	let depth = 0;
	while (depth < path.length && valueAt(root, path.slice(0, depth + 1)) !== undefined) depth++;
	return depth;
}

function nameOf({ kind, path }: Key): string {
	return kind === "server" ? `server "${path.at(-1)}"` : kind;
}

function inTheWay({ kind, path, isItem }: Key): string {
	if (kind === "server") return `has another server called "${path.at(-1)}"`;
	if (isItem) return `has something else than a list at ${path.join(".")}`;
	return `sets ${path.join(".")} to another value`;
}
