import { isDeepStrictEqual } from "node:util";

export type Json = string | number | boolean | null | Json[] | JsonObject;

export interface JsonObject {
	[key: string]: Json;
}

/** Names of keys, and places in arrays. */
export type Path = readonly (string | number)[];

/**
 * Edits the text of a configuration. Comments, formatting and the order of keys stay as they are. Every
 * function throws {@link ConfigFault} for a text that it cannot read, or would not edit exactly.
 */
export interface Format {
	parse(text: string): JsonObject;
	/** Sets the value at a path, with the objects on the way to it. */
	set(text: string, path: readonly string[], value: Json): string;
	/** Adds an element to the end of the array at a path, with the array if it is missing. */
	append(text: string, path: readonly string[], value: Json): string;
	/** Removes the key or element at a path, which exists. */
	remove(text: string, path: Path): string;
}

/** Why a configuration is left alone. Completes "… is left alone: it ". Never quotes the file, which may hold keys. */
export class ConfigFault extends Error {}

/** The value at a path; `undefined` if there is none. */
export function valueAt(root: Json, path: Path): Json | undefined {
	let value: Json | undefined = root;
	for (const step of path) {
		if (typeof value !== "object" || value === null) return undefined;
		if (Array.isArray(value)) value = typeof step === "number" ? value[step] : undefined;
		else value = Object.hasOwn(value, step) ? value[String(step)] : undefined;
	}
	return value;
}

/** A copy of the root with a change, for comparing what an edit did with what it should do. */
export function changedCopy(root: JsonObject, change: (copy: JsonObject) => void): JsonObject {
	const copy = structuredClone(root);
	change(copy);
	return copy;
}

/** The edited text, if it holds exactly what it should. The text before was valid: a fault in it is of the edit. */
export function checkedEdit(
	text: string,
	expected: JsonObject,
	parse: (text: string) => JsonObject,
): string {
	try {
		if (isDeepStrictEqual(parse(text), expected)) return text;
	} catch (error) {
		if (!(error instanceof ConfigFault)) throw error;
	}
	throw new ConfigFault("has a form that cannot be edited exactly");
}

/** A format for files of any size and depth: what exceeds the stack is a fault of the file, like any other. */
export function bounded(format: Format): Format {
	const guarded = <Result>(work: () => Result): Result => {
		try {
			return work();
		} catch (error) {
			if (!(error instanceof RangeError)) throw error;
			throw new ConfigFault("is too long or nested too deeply", { cause: error });
		}
	};
	return {
		parse: (text) => guarded(() => format.parse(text)),
		set: (text, path, value) => guarded(() => format.set(text, path, value)),
		append: (text, path, value) => guarded(() => format.append(text, path, value)),
		remove: (text, path) => guarded(() => format.remove(text, path)),
	};
}

/** The object at a path of a copy, made where it is missing. Throws if another value is in its place. */
export function objectAt(root: JsonObject, path: readonly string[]): JsonObject {
	let place = root;
	path.forEach((key, at) => {
		if (!Object.hasOwn(place, key)) define(place, key, {});
		const next = place[key];
		if (typeof next !== "object" || next === null || Array.isArray(next)) {
			throw new ConfigFault(
				`has something else than an object at ${path.slice(0, at + 1).join(".")}`,
			);
		}
		place = next;
	});
	return place;
}

/** Also for the key `__proto__`, which a plain assignment would not set. */
export function define(place: JsonObject, key: string, value: Json): void {
	if (key !== "__proto__") place[key] = value;
	else
		Object.defineProperty(place, key, {
			value,
			writable: true,
			enumerable: true,
			configurable: true,
		});
}

/** The line end of a text: that of its first line. */
export function eolOf(text: string): string {
	return /\r?\n/.exec(text)?.[0] ?? "\n";
}
