import type { AnswerOf, OutlineSymbol, QueryOf } from "../codeindex/index.ts";
import { clip } from "../text/clip.ts";
import { counted, grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { type Audience, type Outline, remark, type Section } from "./outline.ts";
import { nothingNamed } from "./symbols-text.ts";
import type { OutlineInput } from "./tool-inputs.ts";

type FileOutline = AnswerOf<"outline">["outlines"][number];

const SIGNATURE_BYTES = 200;
const SHORT_SIGNATURE_BYTES = 60;
const NAME_BYTES = 80;

/** Forms, fullest first: with comments; with signatures; with short ones; with names. */
export function outlineForms(
	answer: AnswerOf<"outline">,
	input: OutlineInput,
	{ show, advice }: Audience,
): (() => Outline)[] {
	const { outlines, omittedDefinitions = 0 } = answer;
	if (outlines.length === 0) {
		const { symbol = "", file } = input;
		const asked = { symbol, ...(file !== undefined && { file }) };
		return [() => [remark(...nothingNamed(answer, asked, advice))]];
	}
	const more = omittedDefinitions > 0 ? [remark(otherDefinitions(omittedDefinitions))] : [];
	const form = (text: SymbolText) => () => [
		...outlines.map((one) => ({
			head: [`${oneLine(show(one.path))}${one.isTest ? " (test)" : ""}: ${aboutFile(one)}`],
			items: one.symbols.flatMap((symbol) => symbolLines(symbol, text)),
		})),
		...more,
	];
	return [withDoc, signature, shortSignature, nameOnly].map(form);
}

const PROBLEM_BYTES = 160;

function aboutFile({ lines, symbols, problem }: FileOutline): string {
	const facts = [
		counted(lines, "line"),
		...(symbols.length === 0 ? ["no symbols at its top level"] : []),
		...(problem === undefined
			? []
			: [`not fully parsed (${clip(oneLine(problem), PROBLEM_BYTES)})`]),
	];
	return facts.join(", ");
}

function otherDefinitions(count: number): string {
	return `${counted(count, "more definition")}: name a file, or Owner.member`;
}

/** How a symbol reads in an outline. */
export type SymbolText = (symbol: OutlineSymbol, isTop: boolean) => string;

const TOP = "  ";

/** One item a symbol: `  12-40 class Reader`, with deeper lines for its members. */
export function symbolLines(symbol: OutlineSymbol, text: SymbolText, indent = TOP): string[] {
	const { line, startLine = line, endLine, members = [] } = symbol;
	return [
		`${indent}${span(startLine, endLine)} ${text(symbol, indent === TOP)}`,
		...members.flatMap((member) => symbolLines(member, text, `${indent}  `)),
	];
}

function span(first: number, last: number): string {
	return last > first ? `${first}-${last}` : String(first);
}

function signature(symbol: OutlineSymbol, isTop: boolean): string {
	const { signature, kind, name, owner, exported } = symbol;
	const head = oneLine(signature.trim() || `${kind} ${name}`);
	const mark = isTop && exported && !head.startsWith("export ") ? "export " : "";
	return clip(`${owner ? `${oneLine(owner)}: ` : mark}${head}`, SIGNATURE_BYTES);
}

function withDoc(symbol: OutlineSymbol, isTop: boolean): string {
	const head = signature(symbol, isTop);
	return symbol.doc === undefined ? head : `${head}  // ${oneLine(symbol.doc)}`;
}

function shortSignature(symbol: OutlineSymbol, isTop: boolean): string {
	return clip(signature(symbol, isTop), SHORT_SIGNATURE_BYTES);
}

function nameOnly({ name }: OutlineSymbol): string {
	return clip(oneLine(name), NAME_BYTES);
}

export const symbolForms = { full: signature, short: shortSignature, name: nameOnly };

/** Forms, fullest first: all sources; the first one; its members; as many of its lines as fit. */
export function sourceForms(
	answer: AnswerOf<"symbol">,
	input: QueryOf<"symbol">,
	{ show, advice }: Audience,
): (() => Outline)[] {
	const { definitions, omittedDefinitions = 0 } = answer;
	const [first] = definitions;
	if (!first) return [() => [remark(...nothingNamed(answer, input, advice))]];
	const others = (from: number): Section[] => {
		const rest = definitions.slice(from);
		const count = rest.length + omittedDefinitions;
		if (count === 0) return [];
		const items = rest.map((one) => `  ${title(one)}`);
		return [{ head: [`${grouped(count)} other of that name, most used first:`], items }];
	};
	const shown = definitions.filter(({ source }) => source).length;
	const one = (lines: (definition: Source) => string[]) => () => [
		{ head: headOf(first), items: lines(first) },
		...others(1),
	];
	return [
		() => [
			...definitions
				.slice(0, Math.max(1, shown))
				.map((definition) => ({ head: headOf(definition), items: linesOf(definition) })),
			...others(Math.max(1, shown)),
		],
		one(linesOf),
		...(first.members && first.members.length > 1 ? [one(membersOf)] : []),
		...(first.members && first.members.length > 1 ? [one(memberNames)] : [one(linesOf)]),
	];

	function title({
		path,
		line,
		startLine = line,
		endLine,
		owner,
		name,
		kind,
		isTest,
	}: Source): string {
		const full = owner ? `${owner}.${name}` : name;
		const place = `${oneLine(show(path))}:${span(startLine, endLine)}`;
		return `${place}  ${kind} ${clip(oneLine(full), NAME_BYTES)}${isTest ? " (test)" : ""}`;
	}

	function headOf(definition: Source): string[] {
		const { source } = definition;
		if (!source) return [title(definition), "  (its file is gone)"];
		const { imports, uses } = source;
		const from = imports.map(({ from, names }) => `${names.join(", ")} from ${from}`);
		const near = uses.map(({ name, line }) => `${name} ${line}`);
		return [title(definition), ...listed("imports", from), ...listed("uses in this file", near)];
	}
}

type Source = AnswerOf<"symbol">["definitions"][number];

const LIST_BYTES = 600;

function listed(what: string, items: readonly string[]): string[] {
	return items.length === 0 ? [] : [clip(`${what}: ${items.map(oneLine).join("; ")}`, LIST_BYTES)];
}

function linesOf({ source }: Source): string[] {
	if (!source) return [];
	const { firstLine, lines } = source;
	const last = firstLine + lines.length - 1;
	return [`lines ${span(firstLine, last)}:`, ...lines.map(oneLine)];
}

function membersOf(definition: Source): string[] {
	return [TOO_LONG, ...symbolLines(definition, signature)];
}

function memberNames(definition: Source): string[] {
	return [TOO_LONG, ...symbolLines(definition, nameOnly)];
}

const TOO_LONG = "  (too long for one answer: ask for one of its members)";
