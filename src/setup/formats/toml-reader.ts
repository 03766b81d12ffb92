import { grouped } from "../../text/figures.ts";
import { ConfigFault, define, type Json, type JsonObject } from "./format.ts";

/** A table's header or a key with its value, and where it stands in the text. */
export interface Statement {
	/** Of the table, or of the key from the root on. */
	readonly at: readonly string[];
	readonly isTable: boolean;
	readonly start: number;
	/** Of the value; of a table, its end. */
	readonly valueStart: number;
	readonly end: number;
}

interface Toml {
	readonly root: JsonObject;
	readonly statements: Statement[];
}

/** Reads TOML 1.0. Numbers and dates are kept as their text: they are compared, never computed with. */
export function readToml(text: string): Toml {
	if (text.length > MAX_CHARACTERS) {
		throw new ConfigFault(`has more than ${grouped(MAX_CHARACTERS)} characters`);
	}
	return new Reader(text).read();
}

/** An edit reads the file several times. A configuration that a person writes has a thousandth of it. */
const MAX_CHARACTERS = 1_000_000;
const MAX_DEPTH = 64;
const ESCAPES: Record<string, string> = {
	...{ b: "\b", t: "\t", n: "\n", f: "\f", r: "\r", e: "\u001b" },
	...{ '"': '"', "\\": "\\" },
};
/** Created once: a file may have a hundred thousand keys. */
const BLANKS = /(?:[ \t\r\n]+|#[^\n]*)*/y;
const SPACES = /[ \t]*/y;
const REST_OF_LINE = /[ \t]*(?:#[^\n]*)?/y;
const BARE = /[A-Za-z0-9_-]+/y;
const PLAIN =
	/(?:true|false)(?![\w.+-])|[+-]?(?:inf|nan)(?![\w.+-])|[+-]?(?:0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+)(?![\w.+-])|\d{4}-\d\d-\d\d(?:[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)?)?(?![\w.:])|\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?![\w.:])|[+-]?\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d[\d_]*)?(?![\w.:+-])/y;

class Reader {
	readonly #text: string;
	#at: number;
	readonly #root: JsonObject = {};
	readonly #statements: Statement[] = [];
	/** Tables that have a header, and values of one statement: neither can be extended by a second one. */
	readonly #closed = new Set<Json>();
	readonly #headed = new Set<Json>();

	constructor(text: string) {
		this.#text = text;
		this.#at = text.startsWith("\uFEFF") ? 1 : 0;
	}

	read(): Toml {
		let table = this.#root;
		let path: readonly string[] = [];
		for (;;) {
			this.#skip(BLANKS);
			if (this.#at >= this.#text.length) break;
			const start = this.#at;
			if (this.#peek("[")) {
				const isList = this.#peek("[[");
				this.#at += isList ? 2 : 1;
				path = this.#key();
				this.#expect(isList ? "]]" : "]");
				table = this.#open(path, isList);
				const end = this.#at;
				this.#statements.push({ at: path, isTable: true, start, valueStart: end, end });
			} else {
				const key = this.#key();
				this.#expect("=");
				this.#skip(SPACES);
				const valueStart = this.#at;
				const value = this.#value(0);
				this.#put(table, key, value);
				const at = [...path, ...key];
				this.#statements.push({ at, isTable: false, start, valueStart, end: this.#at });
			}
			this.#skip(REST_OF_LINE);
			if (this.#at < this.#text.length && !this.#peek("\n") && !this.#peek("\r\n")) this.#fail();
		}
		return { root: this.#root, statements: this.#statements };
	}

	#open(path: readonly string[], isList: boolean): JsonObject {
		const parent = path.slice(0, -1).reduce((place, key) => this.#step(place, key), this.#root);
		const key = path.at(-1) as string;
		if (isList) {
			const list = Object.hasOwn(parent, key) ? parent[key] : [];
			if (!Array.isArray(list) || this.#closed.has(list)) this.#fail();
			define(parent, key, list as Json);
			const table: JsonObject = {};
			(list as Json[]).push(table);
			return table;
		}
		const isNew = !Object.hasOwn(parent, key);
		if (isNew) define(parent, key, {});
		const table = parent[key] as Json;
		if (!isObject(table) || this.#closed.has(table) || this.#headed.has(table)) return this.#fail();
		this.#headed.add(table);
		return table;
	}

	/** The table of a name, or the last one of a list of tables. */
	#step(place: JsonObject, key: string): JsonObject {
		if (!Object.hasOwn(place, key)) define(place, key, {});
		const next = place[key] as Json;
		const table = Array.isArray(next) && !this.#closed.has(next) ? next.at(-1) : next;
		if (table === undefined || !isObject(table) || this.#closed.has(table)) return this.#fail();
		return table;
	}

	#put(table: JsonObject, key: readonly string[], value: Json): void {
		let place = table;
		for (const name of key.slice(0, -1)) {
			if (Object.hasOwn(place, name) && this.#headed.has(place[name] as Json)) this.#fail();
			place = this.#step(place, name);
		}
		const name = key.at(-1) as string;
		if (Object.hasOwn(place, name)) this.#fail();
		define(place, name, value);
	}

	#key(): string[] {
		const names: string[] = [];
		do {
			this.#skip(SPACES);
			if (this.#peek('"') || this.#peek("'")) {
				if (this.#peek('"""') || this.#peek("'''")) this.#fail();
				names.push(this.#string());
			} else names.push(this.#take(BARE));
			this.#skip(SPACES);
		} while (this.#accept("."));
		return names;
	}

	#value(depth: number): Json {
		if (depth > MAX_DEPTH) this.#fail();
		if (this.#peek('"') || this.#peek("'")) return this.#string();
		if (this.#accept("[")) return this.#list(depth);
		if (this.#accept("{")) return this.#inlineTable(depth);
		const word = this.#take(PLAIN);
		if (word === "true" || word === "false") return word === "true";
		return word;
	}

	#list(depth: number): Json {
		const list: Json[] = [];
		const blanks = () => this.#skip(BLANKS);
		for (blanks(); !this.#accept("]"); blanks()) {
			list.push(this.#value(depth + 1));
			blanks();
			if (!this.#accept(",") && !this.#peek("]")) this.#fail();
		}
		this.#closed.add(list);
		return list;
	}

	#inlineTable(depth: number): Json {
		const table: JsonObject = {};
		// Newlines and a trailing comma are of TOML 1.1.
		const blanks = () => this.#skip(BLANKS);
		for (blanks(); !this.#accept("}"); blanks()) {
			const key = this.#key();
			this.#expect("=");
			this.#skip(SPACES);
			this.#put(table, key, this.#value(depth + 1));
			blanks();
			if (!this.#accept(",") && !this.#peek("}")) this.#fail();
		}
		this.#closed.add(table);
		return table;
	}

	#string(): string {
		if (this.#accept("'''")) return this.#until(/'''('{0,2})/y).replace(/^\r?\n/, "");
		if (this.#accept("'")) return this.#oneLine("'");
		if (this.#accept('"""')) return this.#basic(true);
		this.#expect('"');
		return this.#basic(false);
	}

	#oneLine(quote: string): string {
		const end = this.#text.indexOf(quote, this.#at);
		const body = this.#text.slice(this.#at, end);
		if (end < 0 || body.includes("\n")) this.#fail();
		this.#at = end + quote.length;
		return body;
	}

	/** Up to three quotes. One or two more belong to the text. */
	#until(ending: RegExp): string {
		for (let at = this.#at; at < this.#text.length; at++) {
			ending.lastIndex = at;
			const found = ending.exec(this.#text);
			if (!found) continue;
			const body = this.#text.slice(this.#at, at) + found[1];
			this.#at = at + found[0].length;
			return body;
		}
		return this.#fail();
	}

	#basic(isLong: boolean): string {
		const parts: string[] = [];
		for (;;) {
			parts.push(this.#take(isLong ? /[^"\\]*/y : /[^"\\\n]*/y, true));
			if (isLong) {
				const quotes = this.#take(/"{0,5}/y, true);
				if (quotes.length >= 3)
					return parts
						.concat(quotes.slice(3))
						.join("")
						.replace(/^\r?\n/, "");
				parts.push(quotes);
				if (quotes !== "") continue;
			} else if (this.#accept('"')) return parts.join("");
			if (!this.#accept("\\")) this.#fail();
			parts.push(this.#escape(isLong));
		}
	}

	#escape(isLong: boolean): string {
		if (isLong && /^[ \t]*\r?\n/.test(this.#text.slice(this.#at, this.#at + 200))) {
			this.#skip(/[ \t\r\n]*/y);
			return "";
		}
		const code = this.#take(/u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|["\\btnfre]/y);
		if (code.length === 1) return ESCAPES[code] as string;
		const point = Number.parseInt(code.slice(1), 16);
		if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) this.#fail();
		return String.fromCodePoint(point);
	}

	#peek(word: string): boolean {
		return this.#text.startsWith(word, this.#at);
	}

	#accept(word: string): boolean {
		if (!this.#peek(word)) return false;
		this.#at += word.length;
		return true;
	}

	#expect(word: string): void {
		if (!this.#accept(word)) this.#fail();
	}

	#skip(pattern: RegExp): void {
		this.#take(pattern, true);
	}

	#take(pattern: RegExp, mayBeEmpty = false): string {
		pattern.lastIndex = this.#at;
		const found = pattern.exec(this.#text)?.[0] ?? "";
		if (found === "" && !mayBeEmpty) this.#fail();
		this.#at += found.length;
		return found;
	}

	#fail(): never {
		const line = this.#text.slice(0, this.#at).split("\n").length;
		throw new ConfigFault(`is not valid TOML (line ${line})`);
	}
}

function isObject(value: Json): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
