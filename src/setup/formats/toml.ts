import {
	ConfigFault,
	changedCopy,
	checkedEdit,
	define,
	eolOf,
	type Format,
	type Json,
	type JsonObject,
	objectAt,
	valueAt,
} from "./format.ts";
import { readToml, type Statement } from "./toml-reader.ts";

/** Edits whole statements: a table at the end, a key before the first table. Lists are not edited. */
export const toml: Format = {
	parse: (text) => readToml(text).root,
	set(text, path, value) {
		const { root, statements } = readToml(text);
		const expected = changedCopy(root, (copy) => {
			define(objectAt(copy, path.slice(0, -1)), path.at(-1) as string, value);
		});
		const isSame = ({ at, isTable }: Statement) => !isTable && isPath(at, path);
		const existing = statements.find(isSame);
		if (existing) {
			const { valueStart, end } = existing;
			return checked(text.slice(0, valueStart) + written(value) + text.slice(end), expected);
		}
		const rest = valueAt(root, path) === undefined ? text : removed(text, statements, path);
		const added =
			typeof value === "object" && value !== null && !Array.isArray(value)
				? withTable(rest, path, value)
				: withKey(rest, path, value);
		return checked(added, expected);
	},
	append() {
		throw new ConfigFault("has a list, which is not edited");
	},
	remove(text, path) {
		const { root, statements } = readToml(text);
		const names = path.map(String);
		const expected = changedCopy(root, (copy) => {
			delete objectAt(copy, names.slice(0, -1))[names.at(-1) as string];
			dropImplied(copy, names.slice(0, -1), statements);
		});
		return checked(removed(text, statements, names), expected);
	},
};

function isPath(at: readonly string[], path: readonly string[]): boolean {
	return at.length === path.length && at.every((key, index) => key === path[index]);
}

function checked(text: string, expected: JsonObject): string {
	return checkedEdit(text, expected, toml.parse);
}

/** A table that exists only since `[a.b]` names it goes with the last of those. */
function dropImplied(root: JsonObject, path: readonly string[], statements: Statement[]): void {
	for (let depth = path.length; depth > 0; depth--) {
		const parent = valueAt(root, path.slice(0, depth - 1)) as JsonObject;
		const key = path[depth - 1] as string;
		const isEmpty = Object.keys(parent[key] as JsonObject).length === 0;
		const isNamed = statements.some(
			({ at, isTable }) => isTable && isPath(at, path.slice(0, depth)),
		);
		if (!isEmpty || isNamed) return;
		delete parent[key];
	}
}

/**
 * Takes the statements of a path away, with their lines and the blank line before a table. Comments above and behind
 * them stay.
 */
function removed(text: string, statements: Statement[], path: readonly string[]): string {
	const isWithin = ({ at }: Statement) => path.every((key, index) => at[index] === key);
	const ours = statements.filter(isWithin);
	if (ours.length === 0) throw new ConfigFault("has a form that cannot be edited exactly");
	let rest = text;
	for (const { start, end, isTable } of ours.toReversed()) {
		const mark = rest.startsWith("\uFEFF") ? 1 : 0;
		const lineStart = Math.max(mark, rest.lastIndexOf("\n", start - 1) + 1);
		const ending = /^[ \t]*(?:\r?\n|$)/.exec(rest.slice(end))?.[0];
		const blank = isTable ? /(?<=\n)\r?\n$/.exec(rest.slice(0, lineStart))?.[0] : undefined;
		// Behind a comment, the rest of the line stays.
		const from = ending === undefined ? start : lineStart - (blank?.length ?? 0);
		rest = rest.slice(0, from) + rest.slice(end + (ending?.length ?? 0));
	}
	return rest;
}

function withTable(text: string, path: readonly string[], value: JsonObject): string {
	const eol = eolOf(text);
	const rows = Object.entries(value).map(([key, one]) => `${keyOf(key)} = ${written(one)}${eol}`);
	const table = `[${path.map(keyOf).join(".")}]${eol}${rows.join("")}`;
	if (text.replace("\uFEFF", "").trim() === "") return text + table;
	const end = text.endsWith("\n") ? "" : eol;
	return `${text}${end}${eol}${table}`;
}

/** A key of the root stands before the first table. */
function withKey(text: string, path: readonly string[], value: Json): string {
	const row = `${path.map(keyOf).join(".")} = ${written(value)}${eolOf(text)}`;
	const { statements } = readToml(text);
	const tableAt = statements.findIndex(({ isTable }) => isTable);
	const last = statements.slice(0, tableAt < 0 ? undefined : tableAt).at(-1);
	if (!last) {
		const start = text.startsWith("\uFEFF") ? 1 : 0;
		return text.slice(0, start) + row + text.slice(start);
	}
	const newline = text.indexOf("\n", last.end);
	if (newline < 0) return `${text}${eolOf(text)}${row}`;
	return text.slice(0, newline + 1) + row + text.slice(newline + 1);
}

function keyOf(key: string): string {
	return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

/** JSON's strings are strings of TOML too. */
function written(value: Json): string {
	if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const rows = Object.entries(value).map(([key, one]) => `${keyOf(key)} = ${written(one)}`);
	return `{ ${rows.join(", ")} }`;
}
