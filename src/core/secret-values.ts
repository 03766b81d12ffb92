import { basename } from "node:path";
import { getOrAdd } from "./get-or-add.ts";

/**
 * Returns the texts of an excluded file that no stored tool output may hold. In variables files (`.env`), these are
 * values of six characters or more. In other files, they are lines and tokens of twelve characters or
 * more, and values of six or more that have a name such as `token` or make up the whole file. Leaves out
 * PEM fences, comments, plain settings and common values. Takes linear time, since the text is untrusted.
 */
export function secretValuesOf(path: string, text: string): Set<string> {
	const values = new Set<string>();
	const whole = text.trim();
	if (!/\s/.test(whole.slice(0, MAX_VALUE_CHARS))) addValue(values, whole, MIN_VALUE_CHARS);
	const isVariables = isVariablesFile(path);
	for (const line of text.split(/\r\n?|\n/)) {
		const sign = isVariables ? line.indexOf("=") : -1;
		if (sign >= 0) addVariable(values, line.slice(0, sign), line.slice(sign + 1));
		// The `=` may be base64 padding at the end of a multi-line key.
		if (sign < 0 || /^=?\s*["']?$/.test(line.slice(sign + 1, sign + 9)))
			addLine(values, line.trim());
	}
	return values;
}

export function isVariablesFile(path: string): boolean {
	return /^\.env|\.env$/.test(basename(path));
}

export function secretVariables(env: NodeJS.ProcessEnv): Set<string> {
	const values = new Set<string>();
	for (const [name, value] of Object.entries(env)) {
		if (value !== undefined && SECRET_NAME.test(name)) addValue(values, value, MIN_VALUE_CHARS);
	}
	return values;
}

/** Whether a text shows a variable with a secret name and its value, as `env` and `export -p` print them. */
export function showsSecretVariable(text: string): boolean {
	for (const [, name = "", value] of text.matchAll(SHOWN_VARIABLE)) {
		if (secretVariables({ [name]: value }).size > 0) return true;
	}
	return false;
}

/** Finds out in one pass whether a text contains a value: at most one value can match at a position. */
export function createValueFinder(values: Iterable<string>): (text: string) => boolean {
	const byBeginning = new Map<string, string[]>();
	const begins = new Uint8Array(1 << 16);
	let last: string | undefined;
	for (const value of Array.from(values, (one) => one.slice(0, MAX_VALUE_CHARS)).sort()) {
		// A value that starts with `last` is skipped: `last` finds it too.
		if (value.length < MIN_VALUE_CHARS || (last !== undefined && value.startsWith(last))) continue;
		last = value;
		const beginning = value.slice(0, MIN_VALUE_CHARS);
		getOrAdd(byBeginning, beginning, (): string[] => []).push(value);
		begins[hashAt(value, 0)] = 1;
	}
	if (byBeginning.size === 0) return () => false;
	return (text) => {
		for (let at = 0; at <= text.length - MIN_VALUE_CHARS; at++) {
			if (begins[hashAt(text, at)] === 0) continue;
			const same = byBeginning.get(text.slice(at, at + MIN_VALUE_CHARS));
			if (same && text.startsWith(lastUpTo(same, text.slice(at, at + MAX_VALUE_CHARS)), at))
				return true;
		}
		return false;
	};
}

/** The last value that sorts up to `text`. No other value can match, since none is a prefix of another. */
function lastUpTo(sorted: readonly string[], text: string): string {
	let low = 0;
	for (let high = sorted.length; high - low > 1; ) {
		const middle = (low + high) >> 1;
		if ((sorted[middle] as string) <= text) low = middle;
		else high = middle;
	}
	return sorted[low] as string;
}

/** Minimum length of a value. Shorter values are words that occur in any text. */
const MIN_VALUE_CHARS = 6;
const MIN_LINE_CHARS = 12;
/** Only the first 100 characters of a longer value are compared. */
const MAX_VALUE_CHARS = 100;
const MAX_WRITTEN_CHARS = 400;

const SECRET_WORD = "key(?!board|ring|map|word)|token|secret|passw|passphrase|credential";
const SECRET_NAME = new RegExp(`${SECRET_WORD}|(?:^|_)(?:pass|pw|pin|salt|dsn)(?:_|$)|_pwd`, "i");
/** The `{0,n}` bounds keep matching a long line linear in its length. */
const SECRET_ASSIGNMENT = new RegExp(
	`(?:${SECRET_WORD})[\\w.-]{0,40}["']?\\s{0,20}[:=]\\s{0,20}|\\bpassword\\s{1,20}`,
	"gi",
);
/** Names in lower case only at the start of a line: elsewhere they are attributes and arguments. */
const SHOWN_VARIABLE = /(?:^|\b(?=[A-Z_][A-Z0-9_]*=))(\w+)=(?!=)(?=([^\n\r]{0,100}))/gm;
const ASSIGNMENT = /^["']?([\w.-]{1,60})["']?\s{0,20}[:=]\s{0,20}(?=\S)/;
const FENCE = /^-----(?:BEGIN|END) /;
const COMMENT = /^(?:#|\/\/|;|--|\/?\*)/;

/** Values that are not secret and are common in the output of programs. */
const COMMON_VALUES = new Set([
	...["production", "development", "staging", "testing", "localhost", "example", "default"],
	...["enabled", "disabled", "verbose", "warning", "postgres", "postgresql", "sqlite", "sqlite3"],
	...["mongodb", "memory", "password", "changeme", "secret", "apiVersion: v1", "kind: Config"],
]);
const LOOPBACK =
	/^(?:\w+:\/\/)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[?::1\]?)(?::\d+)?(?:\/\w*)?$/;
/** Words in the names of plain settings, whose values occur in the project's sources and output. */
const SETTING_NAME =
	/(?:^|_)(?:app|name|project|service|host|hostname|port|env|environment|mode|level|debug|region|zone|tz|timezone|lang|locale|driver|connection|database|db|bucket|queue|channel|dir|path|folder|file|url|uri|origin|domain|module|type|format|version|user|username|email|timeout|ttl|ms|seconds|size|bytes|max|min|limit|count|workers)(?:_|$)/i;

/** Whether a value consists of words and numbers, as names, paths and addresses do. */
function isPlain(value: string): boolean {
	return value.split(/[\s._/:-]+/).every((part) => /^(?:[a-z]{0,20}\d{0,2}|\d{1,8})$/i.test(part));
}

function addVariable(values: Set<string>, name: string, rest: string): void {
	const written = rest.trimStart().slice(0, MAX_WRITTEN_CHARS);
	// Cuts off a trailing comment. The full text is added too, since the `#` may be part of the value.
	const end = written.search(/\s#/);
	const value = end < 0 ? written : written.slice(0, end);
	if (SETTING_NAME.test(name) && !SECRET_NAME.test(name) && isPlain(unquoted(value))) return;
	addValue(values, written, MIN_VALUE_CHARS);
	addValue(values, value, MIN_VALUE_CHARS);
	addWritten(values, value);
}

function addWritten(values: Set<string>, value: string): void {
	const password = /:\/\/[^\s:/@]{0,100}:([^\s@]{1,200})@/.exec(value)?.[1];
	if (password !== undefined) addValue(values, password, MIN_VALUE_CHARS);
	if (!value.includes("\\")) return;
	for (const line of unquoted(value).split(/\\[nr]/)) {
		if (!FENCE.test(line)) addValue(values, line.replace(/\\(.)/g, "$1"), MIN_LINE_CHARS);
	}
}

function addLine(values: Set<string>, line: string): void {
	if (FENCE.test(line)) return;
	const named = ASSIGNMENT.exec(line);
	const setting = line.slice(named?.[0].length, MAX_WRITTEN_CHARS);
	const isSetting = named && !SECRET_NAME.test(named[1] ?? "") && isPlain(unquoted(setting));
	if (!isSetting && !COMMENT.test(line)) addValue(values, line, MIN_LINE_CHARS);
	addWritten(values, line.slice(0, MAX_WRITTEN_CHARS));
	let isFirst = true;
	for (const { 0: name, index } of line.matchAll(SECRET_ASSIGNMENT)) {
		const start = index + name.length;
		if (isFirst) addVariable(values, name, line.slice(start));
		isFirst = false;
		const assigned = line.slice(start, start + MAX_VALUE_CHARS);
		const value =
			/^(["'`])(.*?)(?<!\\)\1/.exec(assigned)?.[2] ?? /^[^\s,;}\]]*/.exec(assigned)?.[0];
		addValue(values, value ?? "", MIN_VALUE_CHARS);
	}
	// In JSON, an escaped `\n` separates the lines of a key.
	for (const token of line.split(/\\[nr]|[\s"'`,;:=<>(){}[\]\\]+/)) {
		const isAddress = token.startsWith("//") && !token.includes("@");
		if (!isAddress && /\d/.test(token) && /[a-z]/i.test(token))
			addValue(values, token, MIN_LINE_CHARS);
	}
}

function addValue(values: Set<string>, written: string, least: number): void {
	const value = unquoted(written.trim());
	if (value.length < least || COMMON_VALUES.has(value) || LOOPBACK.test(value)) return;
	// A reference to another variable, or the address of a service (`token_uri`), is not secret.
	if (/^\$\{?\w+\}?$/.test(value) || (/^https?:\/\//.test(value) && isPlain(value))) return;
	values.add(value.slice(0, MAX_VALUE_CHARS));
}

/** Removes the quotes around a value. A truncated value has only the opening quote. */
function unquoted(written: string): string {
	const text = written.slice(0, MAX_WRITTEN_CHARS).replace(/[,;]+$/, "");
	const quote = /^["'`]/.exec(text)?.[0];
	if (quote === undefined) return text;
	if (text.length > 1 && text.endsWith(quote)) return text.slice(1, -1);
	return written.length < MAX_WRITTEN_CHARS ? text : text.slice(1);
}

function hashAt(text: string, at: number): number {
	return (
		(text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) & 0xffff
	);
}
