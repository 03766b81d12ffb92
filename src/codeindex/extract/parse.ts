import {
	type EcmaScriptModule,
	type ParserOptions,
	parseSync,
	rawTransferSupported,
} from "oxc-parser";
import { describeError } from "../../core/errno.ts";
import type { Of } from "./ast.ts";
import { isTooDeep } from "./depth.ts";
import type { Positions } from "./positions.ts";

/** What the parser made of a source. */
export interface Parsed {
	/** Empty where the parser gave up. */
	readonly program?: Of<"Program">;
	/** The imports and exports up to where the parser gave up. */
	readonly module?: EcmaScriptModule;
	readonly problem?: string;
}

/** Parses a source in the language that its file's ending says. Never throws. */
export function parse(path: string, source: string, positions: Positions): Parsed {
	const lang = languageOf(path);
	if (isTooDeep(source, lang !== "ts" && lang !== "dts")) {
		return { problem: "nested too deeply to be parsed" };
	}
	// JavaScript may be a script or a module, and only CommonJS may return at its top.
	const first = attempt(source, lang, lang === "jsx" ? "unambiguous" : "module", positions);
	if (lang !== "jsx" || !first.problem || /\.mjs$/i.test(path)) return first;
	const second = attempt(source, lang, "commonjs", positions);
	return second.problem ? first : second;
}

/**
 * Empties what the parser made, which is done with. Its result has getters, and V8 keeps those of every such object
 * where only a full collection looks: with all that they lead to, each tree would be copied twice and stay until then.
 * That took a tenth of the time of parsing files, and 80 MB.
 */
export function letGo({ program, module }: Parsed): void {
	if (program) program.body.length = 0;
	if (!module) return;
	module.staticImports.length = 0;
	module.staticExports.length = 0;
}

/** Whether a file's ending says that it is JavaScript. */
export function isJavaScript(path: string): boolean {
	return languageOf(path) === "jsx";
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

// Handing the tree over as memory instead of text saves half of the parsing time. Its buffer reserves 6 GiB of
// addresses, which some systems refuse: those get the tree as text.
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
 * The parser's own code passes all statements of a body as arguments of one call, which more than some 100,000
 * overflow. Handed over as text they are fine. What is too deep must not be tried as text: writing that overflows the
 * native stack.
 */
function isOfTooManyStatements({ stack = "" }: Error, source: string): boolean {
	const [, place = ""] = stack.split("\n");
	if (!/deserialize(?:Program|FunctionBody|TSModuleBlock)/.test(place)) return false;
	return (source.match(/[;}\n]/g)?.length ?? 0) > 50_000;
}
