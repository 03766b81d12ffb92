import { property } from "../core/property.ts";
import { estimateTokens } from "../core/tokens.ts";
import { clip, clipMiddle } from "../text/clip.ts";
import { collapsed } from "../text/one-line.ts";

/** The result of one call of a tool. */
export interface CallResult {
	/** Unique in the conversation. */
	readonly id: string;
	readonly tool: string;
	/** What the tool was called with. */
	readonly input: unknown;
	/** `undefined` if the result is not all text. */
	readonly text: string | undefined;
	/** An error is never shortened. */
	readonly isError?: boolean;
	/** Output of this command is not made quiet. */
	readonly isLoud?: boolean;
	/** Where the exact text of the result is stored, if the model can read it there. */
	readonly path?: string;
}

/** The tools that run a command and return its output, in lower case, of all agents. */
const SHELLS: ReadonlySet<string> = new Set([
	"bash",
	"bashoutput",
	"exec",
	"exec_command",
	"execute_command",
	"local_shell",
	"powershell",
	"run_shell_command",
	"shell",
	"shell_command",
	"terminal",
	"unified_exec",
	"write_stdin",
]);

/** Whether a tool returns the output of commands. */
export function isShell(tool: string): boolean {
	return SHELLS.has(tool.toLowerCase());
}

/** The call in a few words, such as `read src/a.ts:10+50`. Has no backtick and no line break. */
export function nameOf({ tool, input }: Pick<CallResult, "tool" | "input">): string {
	const [key, words] = mainArgument(input);
	const isPath = PATH_KEYS.has(key);
	const shown = isPath
		? clipMiddle(printable(words), MAX_ARGUMENT_BYTES)
		: clip(printable(words), MAX_ARGUMENT_BYTES);
	return `${clip(printable(tool), MAX_TOOL_BYTES)} ${shown}${rangeOf(input)}`.trim();
}

const MAX_TOOL_BYTES = 40;
const MAX_ARGUMENT_BYTES = 60;

const PATH_KEYS: ReadonlySet<string> = new Set(["path", "file_path", "filePath", "notebook_path"]);

/** The arguments that say the most about a call, the best first. */
const MAIN_KEYS = [...PATH_KEYS, "command", "cmd", "pattern", "query", "url"];

function mainArgument(input: unknown): [key: string, words: string] {
	if (typeof input === "string") return ["", input];
	if (typeof input !== "object" || input === null) return ["", ""];
	for (const key of MAIN_KEYS) {
		const words = wordsOf(property(input, key));
		if (words !== undefined) return [key, words];
	}
	for (const [key, value] of Object.entries(input)) {
		const words = wordsOf(value);
		if (words !== undefined) return [key, words];
	}
	return ["", ""];
}

function wordsOf(value: unknown): string | undefined {
	if (typeof value === "string") return value;
	if (typeof value === "number" || typeof value === "boolean") return String(value);
	const isWords = Array.isArray(value) && value.every((word) => typeof word === "string");
	return isWords ? value.join(" ") : undefined;
}

function rangeOf(input: unknown): string {
	const offset = property(input, "offset");
	const limit = property(input, "limit");
	if (typeof offset !== "number" && typeof limit !== "number") return "";
	return `:${typeof offset === "number" ? offset : 1}${typeof limit === "number" ? `+${limit}` : ""}`;
}

/** Long enough for every name, and short enough for a call with a megabyte of text. */
const MAX_LOOKED_AT = 400;

/** The call is untrusted, since the model writes it. */
function printable(text: string): string {
	const start = text.slice(0, MAX_LOOKED_AT).toWellFormed();
	return collapsed(start.replaceAll("`", "'").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " "));
}

/** Whether a path can stand in a line of ours. */
export function isShowable(path: string): boolean {
	return path.isWellFormed() && !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(path);
}

/** Of a text's length before and after. */
export function isWorthIt(before: number, after: number, minSavedTokens: number): boolean {
	return estimateTokens(before) - estimateTokens(after) >= minSavedTokens;
}

/** Every line that we write into a result begins like this. */
export const OWN_LINE = "[strata: ";

/** Whether a text has a line that begins like one of ours. */
export function hasLineLike(start: string, text: string): boolean {
	// The first search is quick: it does not stop at every line.
	return text.includes(start) && (text.startsWith(start) || text.includes(`\n${start}`));
}
