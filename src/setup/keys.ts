import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../core/property.ts";
import { type Format, type Json, type JsonObject, type Path, valueAt } from "./formats/format.ts";

/** What setup puts into a configuration. */
export interface Key {
	/**
	 * `server`: starts `strata mcp`. `hook`: a group of hooks with `strata hook`. `plugin`, `package`: the address of
	 * a file or folder of ours. `value`: anything else.
	 */
	readonly kind: "server" | "hook" | "plugin" | "package" | "value";
	readonly path: readonly string[];
	readonly value: Json;
	/** The value is an element of the array at the path. */
	readonly isItem?: true;
}

export interface SetKey extends Key {
	/** How many steps of the path existed before. The others are ours. */
	readonly depth: number;
}

/**
 * `same`: as wanted. `ours`: of ours, with another value. `foreign`: something else has its name. `at` is where it
 * stands.
 */
type KeyState =
	| { readonly kind: "absent" }
	| { readonly kind: "same" | "ours" | "foreign"; readonly at: Path };

/** Finds a key of ours. `known` are values that setup wrote there before. */
export function stateOf(root: JsonObject, key: Key, known: readonly Json[] = []): KeyState {
	const found = valueAt(root, key.path);
	if (found === undefined) return { kind: "absent" };
	if (!key.isItem) return { kind: likeness(key, found, known), at: key.path };
	if (!Array.isArray(found)) return { kind: "foreign", at: key.path };
	const likenesses = found.map((item) => likeness(key, item, known));
	for (const kind of ["same", "ours"] as const) {
		const index = likenesses.indexOf(kind);
		if (index >= 0) return { kind, at: [...key.path, index] };
	}
	return { kind: "absent" };
}

function likeness(
	{ kind, value }: Key,
	found: Json,
	known: readonly Json[],
): "same" | "ours" | "foreign" {
	if (isDeepStrictEqual(found, value)) return "same";
	if (known.some((one) => isDeepStrictEqual(found, one))) return "ours";
	switch (kind) {
		case "server": {
			// Agents add fields of their own; the words decide.
			const words = wordsOf(found);
			if (words && isDeepStrictEqual(words, wordsOf(value))) return "same";
			return words && isOurServer(words) ? "ours" : "foreign";
		}
		case "hook": {
			const commands = hookCommands(found);
			if (!commands.some(isOurHook)) return "foreign";
			const isSame = commands.some((command) => hookCommands(value).includes(command));
			return isSame && isDeepStrictEqual(matcherOf(found), matcherOf(value)) ? "same" : "ours";
		}
		case "plugin": {
			const address = Array.isArray(found) ? found[0] : found;
			const isOurs =
				typeof address === "string" && /pi-strata.*[\\/]plugins[\\/]opencode\.js$/.test(address);
			return isOurs ? "ours" : "foreign";
		}
		case "package": {
			const source = isRecord(found) ? found.source : found;
			const isOurs =
				typeof source === "string" && /(?:^|[\\/:])pi-strata(?:@[^\\/]*)?[\\/]?$/.test(source);
			return isOurs ? "ours" : "foreign";
		}
		default:
			return "foreign";
	}
}

/** The program and arguments of a server, in any agent's form. */
export function wordsOf(server: Json | undefined): string[] | undefined {
	if (!isRecord(server)) return undefined;
	const { command, args = [] } = server;
	const words = [command, args].flat();
	return words.length > 0 && words.every((word) => typeof word === "string")
		? (words as string[])
		: undefined;
}

const OUR_PROGRAM = /(?:^|[\\/])(?:pi-)?strata(?:\.js|\.cmd)?$|^pi-strata@/;

/** Whether words start `strata mcp`, from wherever. */
export function isOurServer(words: readonly string[]): boolean {
	const at = words.findIndex((word) => OUR_PROGRAM.test(word));
	return at >= 0 && words[at + 1] === "mcp";
}

function isOurHook(command: string): boolean {
	return (
		/strata(?:\.js|\.cmd)?["']? hook claude-code\b/.test(command) ||
		/^http:\/\/127\.0\.0\.1:\d+\/hook\/claude-code/.test(command)
	);
}

/** The commands and addresses in a group of hooks. */
export function hookCommands(group: Json | undefined): string[] {
	const hooks = isRecord(group) ? group.hooks : undefined;
	if (!Array.isArray(hooks)) return [];
	return hooks.flatMap((hook) => {
		const command = isRecord(hook) ? (hook.command ?? hook.url) : undefined;
		return typeof command === "string" ? [command] : [];
	});
}

function matcherOf(group: Json): unknown {
	return isRecord(group) ? group.matcher : undefined;
}

/** Takes a key of ours away, and the objects around it that setup made and that are empty now. */
export function withoutKey(format: Format, text: string, key: SetKey, at: Path): string {
	let rest = format.remove(text, innermost(format.parse(text), key, at));
	for (
		let length = key.isItem ? key.path.length : key.path.length - 1;
		length > key.depth;
		length--
	) {
		const path = key.path.slice(0, length);
		const left = valueAt(format.parse(rest), path);
		const isEmpty = typeof left === "object" && left !== null && Object.keys(left).length === 0;
		if (left === undefined) continue; // TOML has no empty tables without a header
		if (!isEmpty) break;
		rest = format.remove(rest, path);
	}
	return rest;
}

/** A group that also holds hooks of others stays; only our hook goes. */
function innermost(root: JsonObject, key: SetKey, at: Path): Path {
	if (key.kind !== "hook") return at;
	const commands = hookCommands(valueAt(root, at));
	const hooks = valueAt(root, [...at, "hooks"]);
	if (!Array.isArray(hooks) || hooks.length === 1) return at;
	const index = hooks.findIndex(
		(hook) => isRecord(hook) && isOurHook(String(hook.command ?? hook.url)),
	);
	return commands.length === 0 || index < 0 ? at : [...at, "hooks", index];
}
