import type { StandInRequest } from "../stand-in/stand-in.ts";

/** A request as an agent sends it, with every text replaced by its length. */
export interface RequestShape {
	readonly transport: StandInRequest["transport"];
	readonly method: string;
	readonly path: string;
	/** Names as sent, in order. */
	readonly headers: Readonly<Record<string, string>>;
	readonly body: unknown;
	/** The frames of the answer, which a later request refers to. */
	readonly frames?: readonly unknown[];
}

/** Values that hold a name out of a short list, not a text. */
const NAME_KEYS =
	/^(type|role|name|model|effort|ttl|tool_choice|status|verbosity|mode|syntax|object|include|context|display|kind)$/;
const NAME = /^[\w.:/@-]{1,60}$/;
const ID_KEYS =
	/(^|_)(id|ids|key|signature|user_id)$|^(encrypted_content|thoughtSignature|x-.*-id)$/i;
const PATH_KEYS = /^(file_?path|path|absolute_path|workdir)$/i;
/** Long and the vendor's own: only the size is kept. */
const SCHEMA_KEYS = /^(input_schema|parameters|parametersJsonSchema|format|responseJsonSchema)$/;
const SHOWN_HEADERS =
	/^(user-agent|content-type|content-encoding|transfer-encoding|accept|accept-encoding|anthropic-(beta|version)|openai-beta|originator|x-app|connection|upgrade)$/i;
const ID_HEADERS = /(^|-)(session|thread|agent|request|window)-id$/i;
/** Claude Code's billing line is known by its first words. */
const KEPT_START = /^x-anthropic-billing-header:/;
const TIME_KEYS = /_(seconds|ms|time|at)$/;
/** Codex writes them in another order each time. */
const UNORDERED_KEYS = /^client_metadata$/;

/** Makes the shapes of one session: the same id gets the same name in all of its requests. */
export class Shaper {
	readonly #folders: readonly (readonly [from: string, to: string])[];
	readonly #names = new Map<string, string>();

	/** `folders`: temporary ones, with what they are called in the shapes; the longest first. */
	constructor(folders: readonly (readonly [from: string, to: string])[]) {
		this.#folders = folders;
	}

	shapeOf(request: StandInRequest): RequestShape {
		const { transport, method, path, frames } = request;
		const headers = request.headers.map(([name, value]) => [name, this.#header(name, value)]);
		return {
			...{ transport, method, path },
			headers: Object.fromEntries(headers),
			body: this.#value(JSON.parse(request.body.toString("utf8")), ""),
			...(frames && { frames: frames.map((frame) => this.#value(JSON.parse(frame), "")) }),
		};
	}

	#header(name: string, value: string): string {
		if (SHOWN_HEADERS.test(name)) return value;
		return ID_HEADERS.test(name) ? this.#id(value) : lengthOf(value);
	}

	#value(value: unknown, key: string): unknown {
		if (typeof value === "string") return this.#string(value, key);
		if (typeof value === "number") return TIME_KEYS.test(key) ? 0 : value;
		if (Array.isArray(value)) return value.map((one) => this.#value(one, key));
		if (typeof value !== "object" || value === null) return value;
		if (SCHEMA_KEYS.test(key)) return { length: JSON.stringify(value).length };
		const fields = Object.entries(value);
		if (UNORDERED_KEYS.test(key)) fields.sort(([a], [b]) => (a < b ? -1 : 1));
		return Object.fromEntries(fields.map(([name, field]) => [name, this.#value(field, name)]));
	}

	#string(value: string, key: string): string {
		if (NAME_KEYS.test(key) && NAME.test(value)) return value;
		const inner = jsonIn(value);
		if (inner !== undefined) return JSON.stringify(this.#value(inner, ""));
		if (ID_KEYS.test(key)) return this.#id(value);
		const text = this.#folders.reduce((now, [from, to]) => now.replaceAll(from, to), value);
		if (PATH_KEYS.test(key) && text.length < 100) return text;
		return `${KEPT_START.exec(text)?.[0] ?? ""}${lengthOf(text)}`;
	}

	/** By order of appearance; what stands before the first digit says what it is. */
	#id(value: string): string {
		const known = this.#names.get(value);
		if (known) return known;
		const kind = /^[a-z]+(?=[_-])/.exec(value)?.[0] ?? "id";
		const name = `${kind}_${this.#names.size + 1}`;
		this.#names.set(value, name);
		return name;
	}
}

function lengthOf(text: string): string {
	return `<${text.length}>`;
}

function jsonIn(text: string): object | undefined {
	if (!text.startsWith("{")) return undefined;
	try {
		return JSON.parse(text) as object;
	} catch {
		return undefined;
	}
}
