import { basename } from "node:path";

/**
 * The texts in an excluded file that no copy of it may hold. Of files of variables (`.env`) these are the values of six
 * characters or more; of others their lines and tokens of twelve or more, and shorter values whose key says that they are
 * secret, or which are all that the file holds. Fences, comments in words, plain settings and what every project has in
 * its settings are none. The work is linear in the text, whatever that is.
 */
export function secretValuesOf(path: string, text: string): Set<string> {
	const values = new Set<string>();
	const whole = text.trim();
	if (!/\s/.test(whole.slice(0, longestValue))) addValue(values, whole, leastValue);
	const isVariables = isVariablesFile(path);
	for (const line of text.split(/\r\n?|\n/)) {
		const sign = isVariables ? line.indexOf("=") : -1;
		if (sign >= 0) addVariable(values, line.slice(0, sign), line.slice(sign + 1));
		// The end of a key of several lines may be filled up with that sign.
		if (sign < 0 || /^=?\s*["']?$/.test(line.slice(sign + 1, sign + 9)))
			addLine(values, line.trim());
	}
	return values;
}

/** Whether a file holds variables, one a line, with all that a project is given. */
export function isVariablesFile(path: string): boolean {
	return /^\.env|\.env$/.test(basename(path));
}

/** The values of environment variables whose name says that they are secret. */
export function secretVariables(env: NodeJS.ProcessEnv): Set<string> {
	const values = new Set<string>();
	for (const [name, value] of Object.entries(env)) {
		if (value !== undefined && secretName.test(name)) addValue(values, value, leastValue);
	}
	return values;
}

/**
 * Finds out whether a text holds one of the values, or the beginning of a long one. One pass over the text: a place is
 * compared with a value only if it begins like one, and then with the one value that can be there.
 */
export function createValueFinder(values: Iterable<string>): (text: string) => boolean {
	const byBeginning = new Map<string, string[]>();
	const begins = new Uint8Array(1 << 16);
	let last: string | undefined;
	for (const value of Array.from(values, (one) => one.slice(0, longestValue)).sort()) {
		// One that begins with another is found by that.
		if (value.length < leastValue || (last !== undefined && value.startsWith(last))) continue;
		last = value;
		const beginning = value.slice(0, leastValue);
		const same = byBeginning.get(beginning);
		if (same) same.push(value);
		else byBeginning.set(beginning, [value]);
		begins[hashAt(value, 0)] = 1;
	}
	if (byBeginning.size === 0) return () => false;
	return (text) => {
		for (let at = 0; at <= text.length - leastValue; at++) {
			if (begins[hashAt(text, at)] === 0) continue;
			const same = byBeginning.get(text.slice(at, at + leastValue));
			if (same && text.startsWith(lastUpTo(same, text.slice(at, at + longestValue)), at))
				return true;
		}
		return false;
	};
}

/** The last of sorted values that is not behind the text: of values none of which begins another, only it can begin that. */
function lastUpTo(sorted: readonly string[], text: string): string {
	let low = 0;
	for (let high = sorted.length; high - low > 1; ) {
		const middle = (low + high) >> 1;
		if ((sorted[middle] as string) <= text) low = middle;
		else high = middle;
	}
	return sorted[low] as string;
}

/** Shorter values are words that stand in any text. */
const leastValue = 6;
const leastLine = 12;
/** Of longer values, so much is looked for. */
const longestValue = 100;
/** Of what stands behind a name, so much is looked at. */
const longestWritten = 400;

const secretWord = "key(?!board|ring|map|word)|token|secret|passw|passphrase|credential";
const secretName = new RegExp(`${secretWord}|(?:^|_)(?:pass|pw|pin|salt|dsn)(?:_|$)|_pwd`, "i");
/** Without a bound in its parts, a long line would be gone through from each of its places. */
const secretAssignment = new RegExp(
	`(?:${secretWord})[\\w.-]{0,40}["']?\\s{0,20}[:=]\\s{0,20}|\\bpassword\\s{1,20}`,
	"gi",
);
const assignment = /^["']?([\w.-]{1,60})["']?\s{0,20}[:=]\s{0,20}(?=\S)/;
const fence = /^-----(?:BEGIN|END) /;
const comment = /^(?:#|\/\/|;|--|\/?\*)/;

/** Settings that are no secret, and stand in the output of many programs. */
const common = new Set([
	...["production", "development", "staging", "testing", "localhost", "example", "default"],
	...["enabled", "disabled", "verbose", "warning", "postgres", "postgresql", "sqlite", "sqlite3"],
	...["mongodb", "memory", "password", "changeme", "secret", "apiVersion: v1", "kind: Config"],
]);
const loopback =
	/^(?:\w+:\/\/)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[?::1\]?)(?::\d+)?(?:\/\w*)?$/;
/** Parts of the names of variables that stand in the sources and the output of their own project. */
const settingName =
	/(?:^|_)(?:app|name|project|service|host|hostname|port|env|environment|mode|level|debug|region|zone|tz|timezone|lang|locale|driver|connection|database|db|bucket|queue|channel|dir|path|folder|file|url|uri|origin|domain|module|type|format|version|user|username|email|timeout|ttl|ms|seconds|size|bytes|max|min|limit|count|workers)(?:_|$)/i;

/** Whether a value is made of words and numbers, as names, places and addresses are. */
function isPlain(value: string): boolean {
	return value.split(/[\s._/:-]+/).every((part) => /^(?:[a-z]{0,20}\d{0,2}|\d{1,8})$/i.test(part));
}

function addVariable(values: Set<string>, name: string, rest: string): void {
	const written = rest.trimStart().slice(0, longestWritten);
	// A comment behind the value, unless the value has the sign in it.
	const end = written.search(/\s#/);
	const value = end < 0 ? written : written.slice(0, end);
	if (settingName.test(name) && !secretName.test(name) && isPlain(unquoted(value))) return;
	addValue(values, written, leastValue);
	addValue(values, value, leastValue);
	addWritten(values, value);
}

/** What a program makes of the escapes in a value, and the password in an address. */
function addWritten(values: Set<string>, value: string): void {
	const password = /:\/\/[^\s:/@]{0,100}:([^\s@]{1,200})@/.exec(value)?.[1];
	if (password !== undefined) addValue(values, password, leastValue);
	if (!value.includes("\\")) return;
	for (const line of unquoted(value).split(/\\[nr]/)) {
		if (!fence.test(line)) addValue(values, line.replace(/\\(.)/g, "$1"), leastLine);
	}
}

function addLine(values: Set<string>, line: string): void {
	if (fence.test(line)) return;
	const named = assignment.exec(line);
	const setting = line.slice(named?.[0].length, longestWritten);
	const isSetting = named && !secretName.test(named[1] ?? "") && isPlain(unquoted(setting));
	if (!isSetting && !comment.test(line)) addValue(values, line, leastLine);
	addWritten(values, line.slice(0, longestWritten));
	let isFirst = true;
	for (const { 0: name, index } of line.matchAll(secretAssignment)) {
		const start = index + name.length;
		if (isFirst) addVariable(values, name, line.slice(start));
		isFirst = false;
		// There may be more on the line.
		const assigned = line.slice(start, start + longestValue);
		const value =
			/^(["'`])(.*?)(?<!\\)\1/.exec(assigned)?.[2] ?? /^[^\s,;}\]]*/.exec(assigned)?.[0];
		addValue(values, value ?? "", leastValue);
	}
	// Of a key in JSON, `\n` stands for the ends of its lines.
	for (const token of line.split(/\\[nr]|[\s"'`,;:=<>(){}[\]\\]+/)) {
		const isAddress = token.startsWith("//") && !token.includes("@");
		if (!isAddress && /\d/.test(token) && /[a-z]/i.test(token)) addValue(values, token, leastLine);
	}
}

function addValue(values: Set<string>, written: string, least: number): void {
	const value = unquoted(written.trim());
	if (value.length < least || common.has(value) || loopback.test(value)) return;
	// The name of another variable, or the address of a service: `token_uri` of an account is no token.
	if (/^\$\{?\w+\}?$/.test(value) || (/^https?:\/\//.test(value) && isPlain(value))) return;
	values.add(value.slice(0, longestValue));
}

/** Without its quotes, of which a value that was cut has one. */
function unquoted(written: string): string {
	const text = written.slice(0, longestWritten).replace(/[,;]+$/, "");
	const quote = /^["'`]/.exec(text)?.[0];
	if (quote === undefined) return text;
	if (text.length > 1 && text.endsWith(quote)) return text.slice(1, -1);
	return written.length < longestWritten ? text : text.slice(1);
}

/** Of three characters. */
function hashAt(text: string, at: number): number {
	return (
		(text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) & 0xffff
	);
}
