export type Mark = "strong" | "emphasis" | "strike" | "superscript" | "subscript" | "link";

export const MARKS: ReadonlyMap<string, Mark> = new Map([
	["b", "strong"],
	["strong", "strong"],
	["i", "emphasis"],
	["em", "emphasis"],
	["s", "strike"],
	["del", "strike"],
	["strike", "strike"],
	["sup", "superscript"],
	["sub", "subscript"],
]);

/** Collapses white space and sets marks only around real text. Linear in the number of pieces. */
export class InlineText {
	readonly #pieces: string[] = [];
	readonly #open: OpenMark[] = [];
	/** Marks opened since the last text: written with the next text, dropped without any. */
	#waiting: OpenMark[] = [];
	#space = false;
	#break = false;
	#code: string[] | undefined;

	add(text: string): void {
		if (this.#code) {
			this.#code.push(text);
			return;
		}
		const words = collapsed(text);
		if (words.startsWith(" ")) this.#space = true;
		const visible = words.trim();
		if (visible === "") return;
		// A fence at the start of a line would swallow the rest of the document.
		const isFence = this.#atLineStart && /^(?:```|~~~)/.test(visible);
		this.literal(isFence ? `\\${escaped(visible)}` : escaped(visible));
		if (words.endsWith(" ")) this.#space = true;
	}

	literal(markdown: string): void {
		if (this.#code) {
			this.#code.push(markdown);
			return;
		}
		if (this.#break) this.#pieces.push("\n");
		else if (this.#space && this.#pieces.length > 0) this.#pieces.push(" ");
		this.#break = false;
		this.#space = false;
		for (const mark of this.#waiting) {
			mark.from = this.#pieces.length;
			this.#pieces.push(OPENING[mark.kind]);
			this.#open.push(mark);
		}
		this.#waiting.length = 0;
		this.#pieces.push(markdown);
	}

	/** False if the line was empty: that ends a paragraph. */
	endLine(): boolean {
		if (this.#code) {
			this.#code.push(" ");
			return true;
		}
		if (this.#break) return false;
		this.#break = this.#pieces.length > 0;
		return true;
	}

	/** No effect inside a mark of the same kind. `target` is a link's address. */
	open(kind: Mark, target = ""): void {
		const same = this.#find(kind);
		if (same) same.depth++;
		else this.#waiting.push({ kind, target, depth: 1, from: 0 });
	}

	/** Marks opened inside it stay open. */
	close(kind: Mark): void {
		const mark = this.#find(kind);
		if (!mark || --mark.depth > 0) return;
		const waitsAt = this.#waiting.indexOf(mark);
		if (waitsAt !== -1) {
			this.#waiting.splice(waitsAt, 1);
			return;
		}
		while (this.#open.length > 0) {
			const innermost = this.#open.pop() as OpenMark;
			this.#writeClosing(innermost);
			if (innermost === mark) return;
			this.#waiting.unshift(innermost);
		}
	}

	has(kind: Mark): boolean {
		return this.#find(kind) !== undefined;
	}

	startCode(): void {
		this.#code ??= [];
	}

	endCode(): void {
		const code = this.#code && collapsed(this.#code.join("")).trim();
		this.#code = undefined;
		if (!code) return;
		const longest = longestRun(code, /`+/g);
		const fence = "`".repeat(longest + 1);
		const pad = code.startsWith("`") || code.endsWith("`") ? " " : "";
		this.literal(fence + pad + code + pad + fence);
	}

	/** Returns the text and empties the block. A link without text continues in the next block. */
	take(): string {
		if (this.#code) this.endCode();
		while (this.#open.length > 0) this.#writeClosing(this.#open.pop() as OpenMark);
		if (this.#waiting.length > 0) {
			this.#waiting = this.#waiting.filter(({ kind }) => kind === "link");
		}
		this.#space = false;
		this.#break = false;
		if (this.#pieces.length < 2) return this.#pieces.pop() ?? "";
		const text = this.#pieces.join("");
		this.#pieces.length = 0;
		return text;
	}

	get #atLineStart(): boolean {
		return this.#break || this.#pieces.length === 0;
	}

	#find(kind: Mark): OpenMark | undefined {
		const isKind = (mark: OpenMark) => mark.kind === kind;
		return this.#open.find(isKind) ?? this.#waiting.find(isKind);
	}

	#writeClosing({ kind, target, from }: OpenMark): void {
		if (kind !== "link") {
			this.#pieces.push(CLOSING[kind]);
			return;
		}
		const label = this.#pieces.slice(from + 1);
		// A link whose text is its address needs no second copy.
		if (label.length === 1 && label[0] === target) this.#pieces[from] = "";
		else this.#pieces.push(`](${target})`);
	}
}

interface OpenMark {
	kind: Mark;
	target: string;
	depth: number;
	/** Index of its opening among the pieces. */
	from: number;
}

const OPENING = {
	strong: "**",
	emphasis: "*",
	strike: "~~",
	superscript: "^",
	subscript: "_",
	link: "[",
} as const;

const CLOSING = {
	strong: "**",
	emphasis: "*",
	strike: "~~",
	superscript: "",
	subscript: "",
} as const;

export function collapsed(text: string): string {
	// Most text needs no change, and testing is three times as fast as replacing.
	if (!/\s\s|[^\S ]/.test(text) && !HAS_UNSEEN.test(text)) return text;
	return withoutControls(text).replace(/\s+/g, " ");
}

/** Also drops soft hyphens and zero-width spaces; no-break spaces become spaces. */
export function withoutControls(text: string): string {
	return text.replace(UNSEEN, "").replaceAll("\u00a0", " ");
}

const UNSEEN_CHARACTERS =
	"[\\u0000-\\u0008\\u000b\\u000e-\\u001f\\u007f\\u00ad\\u200b\\u2060\\ufeff]+";
const HAS_UNSEEN = new RegExp(UNSEEN_CHARACTERS);
const UNSEEN = new RegExp(UNSEEN_CHARACTERS, "g");

/** Text must not form a tag, alone or with the text after it. */
export function escaped(text: string): string {
	return text.includes("<") ? text.replace(/<(?=[A-Za-z/!?]|$)/g, "&lt;") : text;
}

export function longestRun(text: string, runs: RegExp): number {
	let longest = 0;
	for (const [run] of text.matchAll(runs)) longest = Math.max(longest, run.length);
	return longest;
}
