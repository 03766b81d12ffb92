import {
	type EcmaScriptModule,
	type ParserOptions,
	parseSync,
	rawTransferSupported,
} from "oxc-parser";
import { describeError } from "../../core/errno.ts";
import type { FileFacts } from "../facts.ts";
import type { Extent } from "../language.ts";
import { noteAssignedMembers } from "./assigned-members.ts";
import type { Of } from "./ast.ts";
import { describeBindings } from "./bindings.ts";
import { blockVisits } from "./blocks.ts";
import { declareStatements } from "./declare.ts";
import { walkDocs } from "./docs.ts";
import { exportCommonJs, exportStatement } from "./exports.ts";
import { expressionVisits, reach } from "./expressions.ts";
import { FactsBuilder, type Positions, positionsOf } from "./facts-builder.ts";
import { recoverModule } from "./imports.ts";
import { typeVisits } from "./types.ts";
import { Walk } from "./walk.ts";

/** Pure. The file extension selects the language. Syntax errors do not throw, but set `broken`. */
export function extractFacts(path: string, source: string, extent: Extent = "whole"): FileFacts {
	const positions = positionsOf(source);
	const parsed = parse(path, source, positions);
	const facts = new FactsBuilder(source, positions, languageOf(path));
	const isSkeleton = extent === "skeleton" && isAllAtTop(facts, parsed);
	const problem = extractInto(facts, parsed, isSkeleton) ?? parsed.problem;
	release(parsed);
	return {
		status: problem === undefined ? "parsed" : "broken",
		...(problem !== undefined && { problem }),
		...(isSkeleton && { isSkeleton }),
		isModule: facts.isModule || isModuleFile(path) || (facts.isJavaScript && facts.commonJs),
		lines: positions.lines,
		requests: facts.requests,
		bindings: facts.bindings.filter((binding) => binding.kind !== "pending"),
		exports: facts.exports,
		references: facts.references,
		looseAccesses: facts.looseAccesses,
	};
}

/** May also be true of a comment or string: the file is then read whole. */
const IMPORTS_WITHIN =
	/\brequire\b|\bimport\s*(?:\(|\/[*/])|\bimport\s+(?:type\s+)?[\w$\u0080-\uFFFF]+\s*=|\bmodule\s*["']/;

/** Whether all imports and exports are statements of the top level. Others are found by the walk only. */
function isAllAtTop({ isJavaScript, source }: FactsBuilder, { module, problem }: Parsed): boolean {
	if (!module || problem !== undefined) return false;
	// A script in JavaScript may assign its exports anywhere.
	if (isJavaScript && !module.hasModuleSyntax) return false;
	return module.dynamicImports.length === 0 && !IMPORTS_WITHIN.test(source);
}

function extractInto(facts: FactsBuilder, parsed: Parsed, isSkeleton: boolean): string | undefined {
	const { program, module, problem } = parsed;
	facts.isModule = module?.hasModuleSyntax ?? false;
	if (module && problem !== undefined && !program?.body.length) recoverModule(facts, module);
	if (!program) return undefined;
	try {
		facts.isModule ||= program.body.some((node) => node.type === "TSExportAssignment");
		const top = { facts, scope: facts.top };
		declareStatements(top, program.body);
		for (const statement of program.body) {
			if (facts.isModule) exportStatement(facts, statement);
			else exportCommonJs(top, statement);
		}
		noteAssignedMembers(facts, program.body);
		describeBindings(facts);
		if (isSkeleton) return undefined;
		new Walk(facts, VISITS, reach).visitParts(program);
		walkDocs(facts);
		return undefined;
	} catch (error) {
		// A syntax tree can be too deep for the call stack.
		if (error instanceof RangeError) return "nested too deeply to be read";
		throw error;
	}
}

const VISITS = { ...expressionVisits, ...typeVisits, ...blockVisits };

function isModuleFile(path: string): boolean {
	return /\.[cm][jt]s$/i.test(path) && !/\.d\.[cm]ts$/i.test(path);
}

interface Parsed {
	readonly program?: Of<"Program">;
	/** Imports and exports, up to a parse error. */
	readonly module?: EcmaScriptModule;
	readonly problem?: string;
}

function parse(path: string, source: string, positions: Positions): Parsed {
	const lang = languageOf(path);
	if (isTooDeep(source, lang !== "ts" && lang !== "dts")) {
		return { problem: "nested too deeply to be parsed" };
	}
	// JavaScript may be a script or a module. Retries as CommonJS, which allows a top-level `return`.
	const first = attempt(source, lang, lang === "jsx" ? "unambiguous" : "module", positions);
	if (lang !== "jsx" || !first.problem || /\.mjs$/i.test(path)) return first;
	const second = attempt(source, lang, "commonjs", positions);
	return second.problem ? first : second;
}

/** Saves 80 MB and 10 % of the time. The parser's result has getters, so V8 keeps it until a full GC. */
function release({ program, module }: Parsed): void {
	if (program) program.body.length = 0;
	if (!module) return;
	module.staticImports.length = 0;
	module.staticExports.length = 0;
}

type Language = "ts" | "tsx" | "dts" | "jsx";

function languageOf(path: string): Language {
	if (/\.d\.[cm]?ts$/i.test(path)) return "dts";
	if (/\.tsx$/i.test(path)) return "tsx";
	return /\.[cm]?ts$/i.test(path) ? "ts" : "jsx";
}

type Options = ParserOptions & { experimentalRawTransfer?: boolean };

function attempt(
	source: string,
	lang: Language,
	sourceType: "module" | "unambiguous" | "commonjs",
	positions: Positions,
): Parsed {
	const options: Options = { lang, sourceType, astType: "ts", preserveParens: false };
	try {
		const { program, module, errors, comments } = parseWith(source, options);
		comments.length = 0;
		const error = errors.find(({ severity }) => severity === "Error");
		if (!error) return { program, module };
		const start = error.labels[0]?.start;
		const line = start === undefined ? "" : `line ${positions.line(start)}: `;
		return { program, module, problem: `${line}${error.message}` };
	} catch (error) {
		return { problem: describeError(error) };
	}
}

// Raw transfer halves parsing time. It reserves 6 GiB of address space, which some systems refuse.
let raw = rawTransferSupported();

function parseWith(source: string, options: Options) {
	if (raw) {
		try {
			return parseSync("source", source, { ...options, experimentalRawTransfer: true } as Options);
		} catch (error) {
			if (!(error instanceof RangeError)) throw error;
			if (/allocation/i.test(error.message)) raw = false;
			else if (!isOfTooManyStatements(error, source)) throw error;
		}
	}
	return parseSync("source", source, options);
}

/**
 * Raw transfer passes all statements of a body to one call, which overflows at about 100,000; transfer
 * as text does not. Deeply nested sources must not be retried as text: that overflows the native stack.
 */
function isOfTooManyStatements({ stack = "" }: Error, source: string): boolean {
	const [, place = ""] = stack.split("\n");
	if (!/deserialize(?:Program|FunctionBody|TSModuleBlock)/.test(place)) return false;
	return (source.match(/[;}\n]/g)?.length ?? 0) > 50_000;
}

/** Maximum bracket depth. In a worker thread, the native parser's stack overflows at about 2,500. */
const MAX_BRACKETS = 1_000;
/** Maximum number of right-nested operators and keywords (`a ? b : c ? d : …`). About 5,000 overflow. */
const MAX_RUN = 2_000;

/**
 * Whether parsing could overflow the native stack, which kills the process. Scans characters, not
 * syntax, so only generated text gives false positives. A source that evades the check kills only the
 * parser process (`parsing/parser.ts`).
 */
function isTooDeep(source: string, mayHaveJsx: boolean): boolean {
	if (source.length < MAX_BRACKETS || !mayNest(source)) return false;
	const runs = new Uint32Array(MAX_BRACKETS + 1);
	const runsOn = () => ++(runs[depth] as number) > MAX_RUN;
	let depth = 0;
	let tags = 0;
	const tick = source.indexOf("`");
	// A keyword and a space take three characters or more. Counting words is far faster than matching keywords.
	const mayRunOnWords = source.length > 3 * MAX_RUN && wordsIn(source) > MAX_RUN;
	for (let at = 0; at < source.length; at++) {
		const char = source.charCodeAt(at);
		if (char > TILDE || (PLAIN[char] && !mayRunOnWords)) continue;
		switch (char) {
			case OPEN_PAREN:
			case OPEN_SQUARE:
			case OPEN_CURLY:
				if (++depth > MAX_BRACKETS) return true;
				runs[depth] = 0;
				break;
			case CLOSE_PAREN:
			case CLOSE_SQUARE:
			case CLOSE_CURLY:
				if (depth > 0) depth--;
				break;
			case SLASH:
				at = commentEnd(source, at, mayHaveJsx || (tick !== -1 && tick < at));
				break;
			case SEMICOLON:
				if (!elseFollows(source, at + 1)) runs[depth] = 0;
				tags = 0;
				break;
			case COMMA:
				runs[depth] = 0;
				break;
			case NEWLINE:
				if (runs[depth] && beginsOperand(source, at + 1) && endsOperand(before(source, at))) {
					runs[depth] = 0;
				}
				break;
			case LESS: {
				const next = source.charCodeAt(at + 1);
				if (next === SLASH) tags--;
				else if (mayHaveJsx && isWord(next) && ++tags > MAX_RUN) return true;
				break;
			}
			case GREATER:
				if (source.charCodeAt(at - 1) === SLASH) tags--;
				break;
			case PLUS:
			case MINUS:
				// Only unary plus and minus count. Binary ones nest to the left, which takes no stack.
				if (!endsOperand(before(source, at)) && runsOn()) return true;
				break;
			case EQUALS:
				// JSX attributes do not count: their values are in braces or quotes and do not nest.
				if (!isHeld(source.charCodeAt(at + 1)) && runsOn()) return true;
				break;
			case QUESTION:
			case COLON:
			case BANG:
			case TILDE:
				if (runsOn()) return true;
				break;
			default:
				if (isWord(char) && !isWord(source.charCodeAt(at - 1)) && isPrefix(source, at)) {
					if (runsOn()) return true;
				}
		}
	}
	return false;
}

/** The last character of a comment that begins its line at `at`, or `at`. Rulers such as `// -----` nest nothing. */
function commentEnd(source: string, at: number, mayBeText: boolean): number {
	const next = source.charCodeAt(at + 1);
	if (next !== SLASH && next !== STAR) return at;
	let before = at - 1;
	while (before >= 0 && isBlank(source.charCodeAt(before))) before--;
	if (before >= 0 && source.charCodeAt(before) !== NEWLINE) return at;
	const ends = next === SLASH ? /[\n\r\u2028\u2029]/g : /\*\//g;
	ends.lastIndex = at + 2;
	const end = ends.exec(source)?.index ?? source.length;
	if (!mayBeText) return next === SLASH ? end - 1 : end + 1;
	// In a template or JSX this is text: up to what may begin code.
	const code = source.slice(at, end).search(/[([{<]/);
	return (code === -1 ? end : at + code) - 1;
}

function isBlank(char: number): boolean {
	return char === SPACE || char === TAB;
}

/** Whether there are enough brackets, operators or words for the bounds. Far faster than the scan for them. */
function mayNest(source: string): boolean {
	let brackets = 0;
	let others = 0;
	let wasWord = 0;
	for (let at = 0; at < source.length; at++) {
		const char = source.charCodeAt(at);
		const kind = char > TILDE ? IS_WORD : (NESTING[char] as number);
		brackets += kind & IS_BRACKET;
		others += ((kind & IS_OPERATOR) >> 1) + ((kind & ~wasWord & IS_WORD) >> 2);
		wasWord = kind;
	}
	return brackets > MAX_BRACKETS || others > MAX_RUN;
}

const PREFIX =
	/(?:if|else|for|while|do|with|new|typeof|await|void|delete|keyof|yield|infer|extends|asserts|readonly|unique)\b/y;
const ELSE = /\s*else\b/y;

function wordsIn(source: string): number {
	let words = 0;
	let wasWord = 0;
	for (let at = 0; at < source.length; at++) {
		const char = source.charCodeAt(at);
		const isWord = char > TILDE ? 1 : (WORD[char] as number);
		words += isWord & ~wasWord;
		wasWord = isWord;
	}
	return words;
}

function isPrefix(source: string, at: number): boolean {
	PREFIX.lastIndex = at;
	return PREFIX.test(source);
}

function elseFollows(source: string, at: number): boolean {
	let next = at;
	while (source.charCodeAt(next) <= SPACE) next++;
	const char = source.charCodeAt(next);
	// Fast path: avoids the regular expression.
	if (char <= TILDE && char !== SMALL_E) return false;
	ELSE.lastIndex = at;
	return ELSE.test(source);
}

function before(source: string, at: number): number {
	let last = at - 1;
	while (last > 0 && source.charCodeAt(last) <= SPACE) last--;
	return source.charCodeAt(last);
}

function isHeld(char: number): boolean {
	return char === OPEN_CURLY || QUOTES.has(char);
}

/** True for a word, quote, `]` or `}`. Not for `)`, since a nested statement may follow it. */
function endsOperand(char: number): boolean {
	return isWord(char) || char === CLOSE_SQUARE || char === CLOSE_CURLY || QUOTES.has(char);
}

function beginsOperand(source: string, at: number): boolean {
	let next = at;
	while (isBlank(source.charCodeAt(next))) next++;
	return isWord(source.charCodeAt(next)) && !elseFollows(source, next);
}

function isWord(char: number): boolean {
	return char > 127 || WORD[char] === 1;
}

const [TAB, NEWLINE, SPACE] = [9, 10, 32];
const [BANG, STAR, PLUS, COMMA, MINUS, SLASH] = [33, 42, 43, 44, 45, 47];
const [COLON, SEMICOLON, LESS, EQUALS, GREATER, QUESTION] = [58, 59, 60, 61, 62, 63];
const [OPEN_PAREN, CLOSE_PAREN, OPEN_SQUARE, CLOSE_SQUARE] = [40, 41, 91, 93];
const [SMALL_E, OPEN_CURLY, CLOSE_CURLY, TILDE] = [101, 123, 125, 126];
const QUOTES = new Set([34, 39, 96]);
const PLAIN = tableOf(/[\w$ \t\r]/);
const WORD = tableOf(/[\w$]/);

const [IS_BRACKET, IS_OPERATOR, IS_WORD] = [1, 2, 4];
const NESTING = Uint8Array.from({ length: 127 }, (_, char) => {
	const text = String.fromCharCode(char);
	if (/[([{]/.test(text)) return IS_BRACKET;
	return /[<+\-=?:!~]/.test(text) ? IS_OPERATOR : Number(WORD[char]) * IS_WORD;
});

function tableOf(set: RegExp): Uint8Array {
	return Uint8Array.from({ length: 127 }, (_, char) => Number(set.test(String.fromCharCode(char))));
}
