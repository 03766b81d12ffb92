import { existsSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import {
	CodeIndexError,
	type EdgeKind,
	type SymbolBrief,
	type SymbolKind,
	type UsageKind,
} from "../../codeindex/index.ts";
import { isWithin } from "../../core/places.ts";
import { property } from "../../core/property.ts";
import { faults } from "./faults.ts";

const WHOLE = "the answer";

/** Part of an untrusted answer. Errors say where a type is wrong. Unknown fields are ignored. */
export class AnswerPart {
	readonly tool: string;
	readonly value: unknown;
	readonly #place: string;

	constructor(tool: string, value: unknown, place = WHOLE) {
		this.tool = tool;
		this.value = value;
		this.#place = place;
	}

	get isText(): boolean {
		return typeof this.value === "string";
	}

	/** Returns the first of these fields that has a value. Errors mention the first name. */
	field(name: string, ...others: string[]): AnswerPart {
		if (typeof this.value !== "object" || this.value === null || Array.isArray(this.value)) {
			throw this.#wrong("an object");
		}
		const fields = this.value as Readonly<Record<string, unknown>>;
		const value = others.reduce((found, other) => found ?? fields[other], fields[name]);
		const place = this.#place === WHOLE ? name : `${this.#place}.${name}`;
		return new AnswerPart(this.tool, value, place);
	}

	entries(): [string, AnswerPart][] {
		if (this.value === undefined) return [];
		this.field("");
		return Object.keys(this.value as object).map((name) => [name, this.field(name)]);
	}

	items(): AnswerPart[] {
		if (!Array.isArray(this.value)) throw this.#wrong("a list");
		return this.value.map((item, at) => new AnswerPart(this.tool, item, `${this.#place}[${at}]`));
	}

	/** The items of a field that may be absent. */
	list(name: string): AnswerPart[] {
		const field = this.field(name);
		return field.value === undefined || field.value === null ? [] : field.items();
	}

	holding(value: unknown): AnswerPart {
		return new AnswerPart(this.tool, value, this.#place);
	}

	text(): string {
		if (typeof this.value === "string") return this.value;
		throw this.#wrong("text");
	}

	textOr<Fallback>(fallback: Fallback): string | Fallback {
		return typeof this.value === "string" && this.value !== "" ? this.value : fallback;
	}

	count(): number {
		const { value } = this;
		if (typeof value === "number" && value >= 0 && Number.isFinite(value)) return Math.floor(value);
		throw this.#wrong("a number");
	}

	/** 1-based. An unknown line or column counts as 1. */
	position(): number {
		return positionOf(this.value);
	}

	/** KotaDB writes a path as text or as an object, depending on the tool. */
	path(): string {
		return this.isText ? this.text() : this.field("path", "file", "file_path").text();
	}

	paths(files: ProjectFiles): string[] {
		return files.findAll(this.items().map((item) => item.path()));
	}

	/** The place is in `location` or, in shorter forms, in the symbol itself. */
	symbol(): { path(): string; brief(): SymbolBrief } {
		const location = this.field("location");
		const at = location.value === undefined ? this : location;
		// Throws if `location` is not an object. The error names the symbol itself.
		if (at !== this) this.holding(location.value).field("");
		return {
			path: () => at.path(),
			brief: () => {
				const name = this.field("name").text();
				const line = at.field("line_start", "line").position();
				const doc = this.field("documentation").textOr(undefined);
				return {
					name,
					kind: symbolKind(this.field("kind").value),
					line,
					endLine: Math.max(line, at.field("line_end").position()),
					exported: this.field("is_exported", "exported").value === true,
					signature: this.field("signature").textOr(name),
					...(doc !== undefined && { doc }),
				};
			},
		};
	}

	#wrong(expected: string): Error {
		const { value } = this;
		const type = typeof value === "object" ? "an object" : typeof value;
		const kind = value === undefined ? "missing" : Array.isArray(value) ? "a list" : type;
		return faults.misshapen(
			this.tool,
			`${this.#place} should be ${expected} and is ${value === null ? "null" : kind}`,
		);
	}
}

export function positionOf(value: unknown): number {
	return typeof value === "number" && value >= 1 && Number.isFinite(value) ? Math.floor(value) : 1;
}

/** Returns the JSON in an MCP result's text. Throws on an error result or incomplete JSON. */
export function toolAnswer(tool: string, result: unknown): unknown {
	const content = property(result, "content");
	const texts = (Array.isArray(content) ? content : [])
		.map((block) => property(block, "text"))
		.filter((text) => typeof text === "string");
	const text = texts.join("\n");
	if (property(result, "isError") === true) throw faults.refused(tool, text.slice(0, 4000));
	if (texts.length === 0) throw faults.misshapen(tool, "it holds no text");
	try {
		return JSON.parse(text);
	} catch {
		throw faults.misshapen(tool, `it is not JSON but begins with "${text.slice(0, 80)}"`);
	}
}

/** An unknown word counts as `variable`. */
export function symbolKind(word: unknown): SymbolKind {
	return SYMBOL_KINDS.get(word) ?? "variable";
}

export function symbolWords(kinds: readonly SymbolKind[]): string[] {
	return [...SYMBOL_KINDS].filter(([, kind]) => kinds.includes(kind)).map(([word]) => String(word));
}

export function usageKind(word: unknown): UsageKind {
	return USAGE_KINDS.get(word) ?? "read";
}

function kindsOf<Kind>(words: string): ReadonlyMap<unknown, Kind> {
	const pairs = words.split(" ").map((pair) => pair.split("="));
	return new Map(pairs.map(([word, kind = word]) => [word, kind as Kind]));
}

const SYMBOL_KINDS = kindsOf<SymbolKind>(
	"function class interface type type_alias=type enum variable constant=variable namespace module=namespace method property enum_member=property",
);

const USAGE_KINDS = kindsOf<UsageKind>(
	"call new extends implements jsx type type_reference=type import dynamic_import=import re_export=re-export export_all=re-export assignment=write definition=declaration",
);

/** KotaDB's words for edge kinds. `import` may be of a value, a type or neither. `require` is not seen. */
export const EDGE_WORDS: Record<EdgeKind, readonly string[]> = {
	value: ["import"],
	type: ["import"],
	"side-effect": ["import"],
	"re-export": ["re_export", "export_all"],
	dynamic: ["dynamic_import"],
	require: [],
	package: [],
};

export type ProjectFiles = ReturnType<typeof projectFiles>;

/** Checks each path on disk once, lazily. Use one instance per question. */
export function projectFiles(root: string, exists: (path: string) => boolean = existsSync) {
	const found = new Map<string, string | undefined>();

	/** Returns `undefined` for missing files: KotaDB invents tests and keeps deleted files. */
	function find(path: string): string | undefined {
		if (!found.has(path)) {
			const inside = insideOf(root, path);
			found.set(path, inside !== undefined && exists(resolve(root, inside)) ? inside : undefined);
		}
		return found.get(path);
	}

	/** Throws if the path is outside the project. The file need not exist. */
	function within(path: string): string {
		const inside = insideOf(root, path);
		if (inside !== undefined) return inside;
		throw new CodeIndexError(
			"outside-project",
			`${path} is not in the project ${root}: name a file of the project, relative to its root`,
		);
	}

	return {
		find,
		within,
		findAll: (paths: readonly string[]): string[] => [
			...new Set(paths.map(find).filter((path) => path !== undefined)),
		],
		existing(path: string): string {
			const inside = within(path);
			if (find(inside) !== undefined) return inside;
			throw new CodeIndexError("unknown-file", `${inside} does not exist: check the path`);
		},
	};
}

function insideOf(root: string, path: string): string | undefined {
	const absolute = resolve(root, path);
	if (!isWithin(root, absolute)) return undefined;
	const way = relative(root, absolute);
	return sep === "\\" ? way.replaceAll("\\", "/") : way;
}
