import { basename } from "node:path";

/**
 * The texts in an excluded file that no copy of it may hold. Of files of variables (`.env`) these are the values of six
 * characters or more; of others their lines and tokens of twelve or more, and shorter values whose key says that they are
 * secret. Fences, comments in words and what every project has in its settings are none.
 */
export function secretValuesOf(path: string, text: string): Set<string> {
	const values = new Set<string>();
	const isVariables = /^\.env|\.env$/.test(basename(path));
	for (const line of text.split(/\r?\n/)) {
		if (isVariables && line.includes("=")) addVariable(values, line.slice(line.indexOf("=") + 1));
		else addLine(values, line.trim());
	}
	return values;
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
 * Finds out whether a text holds one of the values. One pass over the text: a place is compared with a value only if it
 * begins like one.
 */
export function createValueFinder(values: Iterable<string>): (text: string) => boolean {
	const byBeginning = new Map<string, string[]>();
	const begins = new Uint8Array(1 << 16);
	for (const value of values) {
		if (value.length < leastValue) continue;
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
			if (same?.some((value) => text.startsWith(value, at))) return true;
		}
		return false;
	};
}

/** Shorter values are words that stand in any text. */
const leastValue = 6;
const leastLine = 12;

const secretName = /key|token|secret|passw|passphrase|credential/i;
const secretAssignment =
	/[\w.-]*(?:key|token|secret|passw|passphrase|credential)[\w.-]*["']?\s*[:=]\s*(.+)$/i;
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

function addVariable(values: Set<string>, written: string): void {
	addValue(values, written, leastValue);
	// A comment behind the value, unless the value has the sign in it.
	addValue(values, written.replace(/\s+#.*$/, ""), leastValue);
	const password = /:\/\/[^\s:/@]*:([^\s@]+)@/.exec(written)?.[1];
	if (password !== undefined) addValue(values, password, leastValue);
}

function addLine(values: Set<string>, line: string): void {
	if (fence.test(line)) return;
	if (!comment.test(line)) addValue(values, line, leastLine);
	const assigned = secretAssignment.exec(line)?.[1];
	if (assigned !== undefined) addVariable(values, assigned);
	// Of a key in JSON, `\n` stands for the ends of its lines.
	for (const token of line.split(/\\[nr]|[\s"'`,;:=<>(){}[\]\\]+/)) {
		const isAddress = token.startsWith("//") && !token.includes("@");
		if (!isAddress && /\d/.test(token) && /[a-z]/i.test(token)) addValue(values, token, leastLine);
	}
}

function addValue(values: Set<string>, written: string, least: number): void {
	const value = unquoted(written.trim());
	if (value.length < least || common.has(value) || loopback.test(value)) return;
	values.add(value);
}

function unquoted(written: string): string {
	const text = written.replace(/[,;]+$/, "");
	const quoted = /^(["'`])(.*)\1$/s.exec(text);
	return quoted?.[2] ?? text;
}

/** Of three characters. */
function hashAt(text: string, at: number): number {
	return (
		(text.charCodeAt(at) * 961 + text.charCodeAt(at + 1) * 31 + text.charCodeAt(at + 2)) & 0xffff
	);
}
