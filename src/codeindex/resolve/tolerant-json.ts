/** What could be read of a configuration file. */
export interface TolerantJson {
	readonly value: unknown;
	/** What was wrong, if it was not only comments, trailing commas or a byte order mark. */
	readonly problem?: string;
}

/**
 * Reads JSON as TypeScript reads its configuration: comments, trailing commas and a byte order mark are fine, and
 * where something is wrong the rest is read all the same.
 */
export function parseTolerantJson(text: string): TolerantJson {
	const plain = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
	try {
		return { value: JSON.parse(plain) };
	} catch {
		return new Parser(plain).parse();
	}
}

/** Deeper than any honest file, and far from the end of the stack. */
const maxDepth = 200;

class Parser {
	readonly #text: string;
	#at = 0;
	#problem: string | undefined;

	constructor(text: string) {
		this.#text = text;
	}

	parse(): TolerantJson {
		const value = this.#value(0);
		this.#skip();
		if (this.#at < this.#text.length) this.#complain("there is more after the end");
		return this.#problem === undefined ? { value } : { value, problem: this.#problem };
	}

	#value(depth: number): unknown {
		this.#skip();
		const next = this.#text[this.#at];
		if (next === "{" || next === "[") {
			if (depth < maxDepth) return next === "{" ? this.#object(depth) : this.#array(depth);
			this.#complain("it is nested too deeply");
			this.#at = this.#text.length;
			return undefined;
		}
		if (next === '"' || next === "'") return this.#string(next);
		return this.#word();
	}

	#object(depth: number): Record<string, unknown> {
		// Without a prototype, a key such as `__proto__` is only a key.
		const object: Record<string, unknown> = Object.create(null);
		this.#at++;
		while (this.#goesOn("}")) {
			const key = this.#value(depth + 1);
			this.#skip();
			if (typeof key !== "string" || this.#text[this.#at] !== ":") {
				this.#complain("a name with a colon is missing");
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

	/** Goes to the next item of an object or array, or past its end. */
	#goesOn(end: "}" | "]"): boolean {
		for (;;) {
			this.#skip();
			const next = this.#text[this.#at];
			if (next === undefined) {
				this.#complain("it ends too early");
				return false;
			}
			if (next === end) {
				this.#at++;
				return false;
			}
			// The bracket of an outer level ends this one too.
			if (next === "}" || next === "]") {
				this.#complain(`${end} is missing`);
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
		this.#complain("a text has no end");
		return unescaped(this.#text.slice(start + 1, this.#at));
	}

	#word(): unknown {
		const word = /[^\s,:[\]{}"'/]*/y;
		word.lastIndex = this.#at;
		const found = word.exec(this.#text)?.[0] ?? "";
		// Something must be taken, or the same character would be met for ever.
		this.#at += found.length || 1;
		if (found === "true") return true;
		if (found === "false") return false;
		if (found === "null") return null;
		if (/^-?\d/.test(found) && Number.isFinite(Number(found))) return Number(found);
		this.#complain(`${JSON.stringify(found.slice(0, 40))} is no value`);
		return undefined;
	}

	/** Goes past white space and comments. */
	#skip(): void {
		const text = this.#text;
		for (;;) {
			while (/\s/.test(text[this.#at] ?? "")) this.#at++;
			const isBlock = text.startsWith("/*", this.#at);
			if (!isBlock && !text.startsWith("//", this.#at)) return;
			const end = isBlock ? text.indexOf("*/", this.#at + 2) : text.indexOf("\n", this.#at);
			this.#at = end < 0 ? text.length : end + (isBlock ? 2 : 1);
		}
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
