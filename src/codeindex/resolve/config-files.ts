import { join } from "node:path";
import { describeError, errnoOf } from "../../core/errno.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import { pathKind } from "../../core/project-path.ts";
import { isRecord } from "../../core/property.ts";
import { readWholeSync } from "../../core/regular-file.ts";

export interface ConfigProblem {
	readonly path: string;
	readonly message: string;
}

/** Untrusted: values may have any type. */
export type ConfigObject = Readonly<Record<string, unknown>>;

/** Returns `undefined` if the file is missing; throws if it cannot be read. */
export type ReadConfig = (path: string) => string | undefined;

/** Reads only regular files, of up to 1 MB, since reading a pipe would block. */
export function createConfigReader(root: string): ReadConfig {
	return (path) => {
		try {
			// Follows links, since `node_modules` is full of them.
			const found = readWholeSync(join(root, path), MAX_CONFIG_BYTES, true);
			if (!found) return undefined;
			if (found.bytes) return found.bytes.toString();
			throw new Error(`it has ${found.size} bytes; the maximum is ${MAX_CONFIG_BYTES}`);
		} catch (error) {
			if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
			throw error;
		}
	};
}

const MAX_CONFIG_BYTES = 1024 * 1024;

/** Parses each configuration file once. Never throws. `paths` are the scanned files. */
export class ConfigFiles {
	readonly paths: ReadonlySet<string>;
	readonly problems: ConfigProblem[] = [];
	/** Files outside the scan that were looked for, even if missing. */
	readonly unscanned = new Set<string>();
	readonly #read: ReadConfig;
	readonly #objects = new Map<string, ConfigObject | undefined>();

	constructor(paths: ReadonlySet<string>, read: ReadConfig) {
		this.paths = paths;
		this.#read = read;
	}

	text(path: string): string | undefined {
		const isScanned = pathKind(path) === "config" && !/(?:^|\/)node_modules\//.test(path);
		if (isScanned && !this.paths.has(path)) return undefined;
		if (!isScanned) this.unscanned.add(path);
		try {
			return this.#read(path);
		} catch (error) {
			this.problems.push({ path, message: describeError(error) });
			return undefined;
		}
	}

	/** Returns an empty object if the JSON is not an object. */
	object(path: string): ConfigObject | undefined {
		return getOrAdd(this.#objects, path, () => {
			const found = this.text(path);
			if (found === undefined) return undefined;
			const { value, problem } = parseTolerantJson(found);
			const message = problem ?? (isRecord(value) ? undefined : "it is not a JSON object");
			if (message !== undefined) this.problems.push({ path, message });
			return isRecord(value) ? value : {};
		});
	}
}

/** Ignores inherited keys such as `constructor`. */
export function own(object: ConfigObject, key: string): unknown {
	return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Returns only non-empty strings without NUL. */
export function ownText(object: ConfigObject, key: string): string | undefined {
	const value = own(object, key);
	return typeof value === "string" && value !== "" && !value.includes("\0") ? value : undefined;
}

export function ownTexts(object: ConfigObject, key: string): string[] | undefined {
	const value = own(object, key);
	if (!Array.isArray(value)) return undefined;
	return value.filter((item) => typeof item === "string" && !item.includes("\0"));
}

/** Continues after errors, like TypeScript. */
function parseTolerantJson(text: string): { value: unknown; problem?: string | undefined } {
	const plain = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
	try {
		return { value: JSON.parse(plain) };
	} catch {
		return new TolerantJsonParser(plain).parse();
	}
}

/** Maximum nesting depth: more than any real file has, and far below a stack overflow. */
const MAX_DEPTH = 200;

/** Whitespace and comments, including unterminated ones. */
const TRIVIA = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))*/y;

class TolerantJsonParser {
	readonly #text: string;
	#at = 0;
	#problem: string | undefined;

	constructor(text: string) {
		this.#text = text;
	}

	parse() {
		const value = this.#value(0);
		this.#skip();
		if (this.#at < this.#text.length) this.#complain("there is text after the JSON value");
		return { value, problem: this.#problem };
	}

	#value(depth: number): unknown {
		this.#skip();
		const next = this.#text[this.#at];
		if (next === "{" || next === "[") {
			if (depth < MAX_DEPTH) return next === "{" ? this.#object(depth) : this.#array(depth);
			this.#complain("it is nested too deeply");
			this.#at = this.#text.length;
			return undefined;
		}
		if (next === '"' || next === "'") return this.#string(next);
		return this.#word();
	}

	#object(depth: number): Record<string, unknown> {
		// With a null prototype, `__proto__` is a plain key.
		const object: Record<string, unknown> = Object.create(null);
		this.#at++;
		while (this.#goesOn("}")) {
			const key = this.#value(depth + 1);
			this.#skip();
			if (typeof key !== "string" || this.#text[this.#at] !== ":") {
				this.#complain("a property name or its colon is missing");
				continue;
			}
			this.#at++;
			object[key] = this.#value(depth + 1);
		}
		return object;
	}

	#array(depth: number): unknown[] {
		const array: unknown[] = [];
		this.#at++;
		while (this.#goesOn("]")) array.push(this.#value(depth + 1));
		return array;
	}

	#goesOn(end: "}" | "]"): boolean {
		for (;;) {
			this.#skip();
			const next = this.#text[this.#at];
			if (next === undefined || next === "}" || next === "]") {
				if (next === end) this.#at++;
				else this.#complain(next === undefined ? "it ends too early" : `${end} is missing`);
				return false;
			}
			if (next !== "," && next !== ":") return true;
			this.#at++;
		}
	}

	#string(quote: string): string {
		const start = this.#at++;
		for (; this.#at < this.#text.length; this.#at++) {
			const next = this.#text[this.#at];
			if (next === "\n") break;
			if (next === "\\") this.#at++;
			else if (next === quote) {
				this.#at++;
				return unescaped(this.#text.slice(start + 1, this.#at - 1));
			}
		}
		this.#complain("a string has no closing quote");
		return unescaped(this.#text.slice(start + 1, this.#at));
	}

	#word(): unknown {
		const word = /[^\s,:[\]{}"'/]*/y;
		word.lastIndex = this.#at;
		const found = word.exec(this.#text)?.[0] ?? "";
		// Always consumes a character, to prevent an endless loop.
		this.#at += found.length || 1;
		if (found === "true") return true;
		if (found === "false") return false;
		if (found === "null") return null;
		if (/^-?\d/.test(found) && Number.isFinite(Number(found))) return Number(found);
		this.#complain(`${JSON.stringify(found.slice(0, 40))} is not a JSON value`);
		return undefined;
	}

	#skip(): void {
		TRIVIA.lastIndex = this.#at;
		TRIVIA.test(this.#text);
		this.#at = TRIVIA.lastIndex;
	}

	#complain(problem: string): void {
		if (this.#problem !== undefined) return;
		const line = this.#text.slice(0, this.#at).split("\n").length;
		this.#problem = `${problem} (line ${line})`;
	}
}

function unescaped(text: string): string {
	if (!text.includes("\\")) return text;
	return text.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, code, character) => {
		if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
		return { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }[character as string] ?? character;
	});
}
