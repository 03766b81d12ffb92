import type { FactsBuilder } from "./facts-builder.ts";
import { ANY, NAMESPACE, TYPE } from "./scope.ts";
import { cut } from "./signature.ts";
import { access, type Chain, OTHER, type Reached, record } from "./walk.ts";

/** First sentence of the doc comment that ends right before `from`. */
export function docBefore(source: string, from: number): string | undefined {
	let end = from;
	while (end > 0 && isSpace(source.charCodeAt(end - 1))) end--;
	if (!source.endsWith("*/", end)) return undefined;
	const start = source.lastIndexOf("/*", end - 3);
	if (start === -1 || source[start + 2] !== "*") return undefined;
	const text = source
		.slice(start + 3, end - 2)
		.replace(/^[ \t]*\*+[ \t]?/gm, "")
		.trim();
	const description = text.split(/^@/m, 1)[0] ?? "";
	const [paragraph = ""] = description.trim().split(/\n\s*\n/, 1);
	const line = paragraph.replace(/\s+/g, " ");
	const sentence = /^.*?[.!?](?=\s+[A-Z`]|$)/.exec(line)?.[0] ?? line;
	return sentence === "" ? undefined : cut(sentence);
}

function isSpace(char: number): boolean {
	return char === 32 || (char >= 9 && char <= 13);
}

/** Records names in `{@link name}` and types in tags: TypeScript counts both as references. */
export function walkDocs(facts: FactsBuilder): void {
	const { source } = facts;
	for (let start = source.indexOf("/**"); start !== -1; start = source.indexOf("/**", start)) {
		const end = source.indexOf("*/", start + 3);
		if (end === -1) return;
		// Fast path: most comments have no tag.
		const at = source.indexOf("@", start);
		if (at === -1) return;
		if (at < end) walkComment(facts, start, end);
		start = end + 2;
	}
}

const REFERENCE =
	/\{@(?:link|linkcode|linkplain)\s+|@see\s+(?=[\w$.#]+\s*(?:$|\*|\n))|@(?:type|param|arg|argument|prop|property|returns?|throws|exception|typedef|satisfies|this|extends|augments|implements|enum|template|yields?)\s+\{/g;

function walkComment(facts: FactsBuilder, start: number, end: number): void {
	const text = facts.source.slice(start, end);
	REFERENCE.lastIndex = 0;
	for (let found = REFERENCE.exec(text); found; found = REFERENCE.exec(text)) {
		const from = REFERENCE.lastIndex;
		if (!found[0].endsWith("{")) refer(facts, text, start, from, ANY);
		else {
			const close = closing(text, from);
			walkType(facts, text.slice(0, close), start, from);
			REFERENCE.lastIndex = close;
		}
	}
}

const DOTTED = /[\p{ID_Start}$_][\p{ID_Continue}$]*(?:[.#][\p{ID_Start}$_][\p{ID_Continue}$]*)*/uy;

function refer(
	facts: FactsBuilder,
	text: string,
	offset: number,
	from: number,
	begin: number | Chain,
): number {
	DOTTED.lastIndex = from;
	const found = DOTTED.exec(text);
	if (!found) return from;
	let at = offset + from;
	const dotted = begin === TYPE && found[0].includes(".");
	let chain: Reached = typeof begin === "number" ? undefined : begin;
	for (const name of found[0].split(/[.#]/)) {
		if (chain) {
			const isOfInstance = text[at - offset - 1] === "#";
			chain = access(facts, isOfInstance ? asInstance(chain) : chain, { name, start: at });
		} else {
			const meaning = dotted ? NAMESPACE : (begin as number);
			const known = facts.top.lookup(name, meaning);
			if (known?.kind !== "binding") break;
			chain = { binding: known.binding, start: at, side: "value", steps: [] };
		}
		at += name.length + 1;
	}
	record(facts, chain, "type");
	return from + found[0].length;
}

/** `Class#member` is a member of the class's instances. */
function asInstance(chain: Reached): Reached {
	if (!chain || chain === OTHER) return chain;
	const last = chain.steps.at(-1);
	if (!last) return { ...chain, side: "instance" };
	return { ...chain, steps: [...chain.steps.slice(0, -1), { ...last, called: true }] };
}

const TOKEN =
	/import\(\s*(["'])([^"'\n]+)\1\s*\)\.?|(["'`])(?:\\.|(?!\3)[^\\\n])*\3|[\p{ID_Start}$_][\p{ID_Continue}$]*/gu;

function walkType(facts: FactsBuilder, text: string, offset: number, from: number): void {
	TOKEN.lastIndex = from;
	for (let found = TOKEN.exec(text); found; found = TOKEN.exec(text)) {
		const [token, , specifier] = found;
		const after = found.index + token.length;
		if (specifier !== undefined) {
			const at = offset + found.index + token.indexOf(specifier) - 1;
			const binding = facts.typeImport(specifier, at);
			if (token.endsWith(".")) {
				const module: Chain = { binding, side: "value", steps: [] };
				TOKEN.lastIndex = refer(facts, text, offset, after, module);
			}
		} else if (/^["'`]/.test(token)) {
			// `Type["member"]`
			const isKey = text[found.index - 1] === "[" && text[after] === "]";
			const key = { name: token.slice(1, -1), start: offset + found.index + 1 };
			if (isKey) access(facts, undefined, key);
		} else if (!/^\s*\??:/.test(text.slice(after, after + 9))) {
			const [before] = text.slice(0, found.index).match(/\S\s*$/) ?? [""];
			TOKEN.lastIndex = Math.max(
				after,
				before.startsWith(".") ? after : refer(facts, text, offset, found.index, TYPE),
			);
		}
	}
}

function closing(text: string, from: number): number {
	let depth = 1;
	for (let at = from; at < text.length; at++) {
		if (text[at] === "{") depth++;
		else if (text[at] === "}" && --depth === 0) return at;
	}
	return text.length;
}
