import jsonc, { type Node } from "jsonc-parser";
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

/**
 * JSON, with comments and trailing commas where a file has them. Not jsonc-parser's own edits: those move
 * a comment behind the last key to the next key, and delete comments before a key that is removed.
 */
export const json: Format = {
	parse: (text) => rootOf(text).value,
	set(text, path, value) {
		const { value: before } = rootOf(text);
		const expected = changedCopy(before, (copy) => {
			define(objectAt(copy, path.slice(0, -1)), path.at(-1) as string, value);
		});
		return checked(setIn(text, path, value), expected);
	},
	append(text, path, value) {
		const { value: before } = rootOf(text);
		const found = valueAt(before, path);
		if (found === undefined) return json.set(text, path, [value]);
		if (!Array.isArray(found)) {
			throw new ConfigFault(`has something else than a list at ${path.join(".")}`);
		}
		const expected = changedCopy(before, (copy) => {
			(valueAt(copy, path) as Json[]).push(value);
		});
		const { node } = rootOf(text);
		const list = jsonc.findNodeAtLocation(node, [...path]) as Node;
		return checked(
			insertedIn(text, list, (style) => written(value, style)),
			expected,
		);
	},
	remove(text, path) {
		const { value: before, node } = rootOf(text);
		const expected = changedCopy(before, (copy) => {
			const parent = valueAt(copy, path.slice(0, -1));
			const last = path.at(-1) as string | number;
			if (Array.isArray(parent)) parent.splice(Number(last), 1);
			else delete (parent as JsonObject)[last];
		});
		const found = jsonc.findNodeAtLocation(node, [...path]) as Node;
		const isProperty = found.parent?.type === "property";
		return checked(removedFrom(text, isProperty ? (found.parent as Node) : found), expected);
	},
};

interface Root {
	readonly node: Node;
	readonly value: JsonObject;
}

function rootOf(text: string): Root {
	const errors: { error: number; offset: number }[] = [];
	// A byte order mark is no token. A blank keeps all offsets.
	const plain = text.replace(/^\uFEFF/, " ");
	const node = treeOf(plain, errors);
	const [error] = errors;
	if (error) {
		const line = plain.slice(0, error.offset).split("\n").length;
		throw new ConfigFault(`is not valid JSON (line ${line})`);
	}
	if (node === undefined) return { node: { type: "object", offset: 0, length: 0 }, value: {} };
	if (node.type !== "object") throw new ConfigFault("holds something else than a JSON object");
	refuseTwins(node);
	return { node, value: plainOf(node) as JsonObject };
}

function treeOf(text: string, errors: object[]): Node | undefined {
	try {
		const options = { allowTrailingComma: true, allowEmptyContent: true };
		return jsonc.parseTree(text, errors as never, options);
	} catch (error) {
		// The stack is not deep enough for it.
		throw new ConfigFault("is nested too deeply", { cause: error });
	}
}

/** Of two equal keys, readers take one or the other. */
function refuseTwins(node: Node): void {
	const names = new Set<unknown>();
	for (const child of node.children ?? []) {
		if (node.type === "object") {
			const name = child.children?.[0]?.value;
			if (names.has(name)) throw new ConfigFault("has the same key twice");
			names.add(name);
		}
		refuseTwins(child);
	}
}

function plainOf(node: Node): Json {
	if (node.type === "array") return (node.children ?? []).map(plainOf);
	if (node.type !== "object") return node.value as Json;
	const object: JsonObject = {};
	for (const { children } of node.children ?? []) {
		define(object, children?.[0]?.value, plainOf(children?.[1] as Node));
	}
	return object;
}

function checked(text: string, expected: JsonObject): string {
	return checkedEdit(text, expected, json.parse);
}

function setIn(text: string, path: readonly string[], value: Json): string {
	const { node } = rootOf(text);
	if (node.length === 0) return createdIn(text, nested(path, value));
	const existing = jsonc.findNodeAtLocation(node, [...path]);
	if (existing) {
		const style = styleAt(text, existing.parent?.parent as Node);
		return spliced(text, existing.offset, existing.length, written(value, style));
	}
	let depth = path.length - 1;
	while (depth > 0 && !jsonc.findNodeAtLocation(node, path.slice(0, depth))) depth--;
	const parent = jsonc.findNodeAtLocation(node, path.slice(0, depth)) ?? node;
	const name = JSON.stringify(path[depth]);
	const rest = nested(path.slice(depth + 1), value);
	return insertedIn(text, parent, (style) => `${name}: ${written(rest, style)}`);
}

function nested(path: readonly string[], value: Json): Json {
	return path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
}

/** The text has no value yet: it is empty, or has comments only. */
function createdIn(text: string, value: Json): string {
	const style = { eol: eolOf(text), unit: "  ", indent: "", isInline: false };
	const before = text.trim() === "" ? text.trim() : `${text.trimEnd()}${style.eol}`;
	const mark = text.startsWith("\uFEFF") && !before.startsWith("\uFEFF") ? "\uFEFF" : "";
	return `${mark}${before}${written(value, style)}${style.eol}`;
}

interface Style {
	readonly eol: string;
	/** One level of indentation. */
	readonly unit: string;
	/** Before the new line. */
	readonly indent: string;
	readonly isInline: boolean;
}

function written(value: Json, { isInline, unit, eol, indent }: Style): string {
	if (isInline) return JSON.stringify(value);
	return JSON.stringify(value, null, unit).replaceAll("\n", eol + indent);
}

/** How the children of an object or array are laid out. */
function styleAt(text: string, parent: Node): Style {
	const last = parent.children?.at(-1);
	const common = { eol: eolOf(text), unit: unitOf(text) };
	if (last) {
		const indent = indentBefore(text, last.offset);
		return { ...common, indent: indent ?? "", isInline: indent === undefined };
	}
	const outer = lineIndent(text, parent.offset);
	const isInline = !text.includes("\n") && parent.offset > 0;
	return { ...common, indent: outer + common.unit, isInline };
}

/** Adds a child behind the last one of an object or array. Comments stay behind what they are behind now. */
function insertedIn(text: string, parent: Node, child: (style: Style) => string): string {
	const style = styleAt(text, parent);
	const close = parent.offset + parent.length - 1;
	const last = parent.children?.at(-1);
	const start = last ? last.offset + last.length : parent.offset + 1;
	const gap = text.slice(start, close);
	const kept = gap.trimEnd();
	const comma = last ? commaIn(text, start, close) : undefined;
	const isBroken = !style.isInline || /\/\/[^\n]*$/.test(kept);
	const added = child(style);
	const separator = isBroken ? style.eol + style.indent : last ? " " : "";
	const trailing = comma === undefined ? "" : ",";
	// A brace on the line of the last child gets a line of its own.
	const needsLine = isBroken && !gap.slice(kept.length).includes("\n");
	const ending = needsLine ? style.eol + lineIndent(text, parent.offset) : "";
	const behind = text.slice(start + kept.length);
	const body = `${separator}${added}${trailing}${ending}${needsLine ? behind.trimStart() : behind}`;
	const missing = last && comma === undefined ? "," : "";
	return `${text.slice(0, start)}${missing}${kept}${body}`;
}

/** Takes a property or element away, with its comma and the lines that only it is on. */
function removedFrom(text: string, node: Node): string {
	const parent = node.parent as Node;
	const siblings = parent.children ?? [];
	const at = siblings.indexOf(node);
	const end = node.offset + node.length;
	const close = parent.offset + parent.length - 1;
	const next = siblings[at + 1];
	const after = commaIn(text, end, next?.offset ?? close);
	const previous = siblings[at - 1];
	const before =
		after === undefined && previous
			? commaIn(text, previous.offset + previous.length, node.offset)
			: undefined;
	const edits: [start: number, end: number][] = [];
	if (after !== undefined && text.slice(end, after).trim() !== "") {
		edits.push([after, after + 1], [node.offset, end]); // a comment stands between
	} else {
		edits.push(linesAround(text, node.offset, after === undefined ? end : after + 1));
	}
	if (before !== undefined) {
		const [start = 0] = edits[0] ?? [];
		const isInline =
			text.slice(before + 1, start).trim() === "" && !text.slice(before, start).includes("\n");
		edits.push([before, isInline ? start : before + 1]);
	}
	const shorter = edits.reduce((rest, [from, to]) => rest.slice(0, from) + rest.slice(to), text);
	if (siblings.length > 1) return shorter;
	// Nothing is left: the braces close up, unless a comment is between them.
	const rest = close - (text.length - shorter.length);
	const inner = shorter.slice(parent.offset + 1, rest);
	return inner.trim() === "" ? spliced(shorter, parent.offset + 1, inner.length, "") : shorter;
}

/** Extends a range to whole lines if nothing else is on them, otherwise over the blanks behind it. */
function linesAround(text: string, start: number, end: number): [number, number] {
	const lineStart = text.lastIndexOf("\n", start - 1) + 1;
	const behind = /^[ \t]*(?:\r?\n)/.exec(text.slice(end))?.[0];
	const isAlone = text.slice(lineStart, start).trim() === "" && lineStart > 0;
	if (isAlone && behind !== undefined) return [lineStart, end + behind.length];
	const blanks = /^[ \t]*/.exec(text.slice(end))?.[0] ?? "";
	return [start, end + blanks.length];
}

/** The place of a comma between two places, not one in a comment. */
function commaIn(text: string, start: number, end: number): number | undefined {
	const gap = /^(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/.exec(text.slice(start, end))?.[0] ?? "";
	const at = start + gap.length;
	return at < end && text[at] === "," ? at : undefined;
}

/** The blanks before a place, if nothing else is before it on its line and it is not on the first. */
function indentBefore(text: string, offset: number): string | undefined {
	const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
	const before = text.slice(lineStart, offset);
	return lineStart > 0 && before.trim() === "" ? before : undefined;
}

function lineIndent(text: string, offset: number): string {
	const lineStart = text.lastIndexOf("\n", offset - 1) + 1;
	return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? "";
}

function unitOf(text: string): string {
	return /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
}

function spliced(text: string, start: number, length: number, replacement: string): string {
	return text.slice(0, start) + replacement + text.slice(start + length);
}
