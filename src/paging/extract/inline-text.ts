/** What can be around a stretch of text inside one block. */
export type Mark = "strong" | "emphasis" | "strike" | "superscript" | "subscript" | "link";

/** The marks that elements mean. */
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

/**
 * The text of one block of markdown, put together piece by piece: white space collapsed, marks set only around
 * text that is really there, closed at the latest with the block.
 *
 * Pieces are kept in a list and looked at once, so a block of a million pieces costs a million steps.
 */
export class InlineText {
	readonly #pieces: string[] = [];
	/** Marks with text inside, outermost first. */
	readonly #open: OpenMark[] = [];
	/** Marks opened since the last text: they are written with the next, and forgotten if there is none. */
	#waiting: OpenMark[] = [];
	#space = false;
	#break = false;
	#code: string[] | undefined;

	/** Adds text in which any run of white space means one space. */
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

	/** Adds finished markdown, such as an image or a formula. */
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

	/** Ends a line; false if the line was empty, which makes it the end of a paragraph. */
	endLine(): boolean {
		if (this.#code) {
			this.#code.push(" ");
			return true;
		}
		if (this.#break) return false;
		this.#break = this.#pieces.length > 0;
		return true;
	}

	/** Opens a mark; within one of its own kind that changes nothing. `target` is where a link leads. */
	open(kind: Mark, target = ""): void {
		const same = this.#find(kind);
		if (same) same.depth++;
		else this.#waiting.push({ kind, target, depth: 1, from: 0 });
	}

	/** Closes a mark. Marks opened inside it and still open go on after it. */
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

	/** Whether a mark of this kind is open. */
	has(kind: Mark): boolean {
		return this.#find(kind) !== undefined;
	}

	/** Text from here to `endCode` is code. */
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

	/** The finished text, and an empty block again. A link without text so far goes on in the next block. */
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
		// A link whose text is its address needs no second copy of it.
		if (label.length === 1 && label[0] === target) this.#pieces[from] = "";
		else this.#pieces.push(`](${target})`);
	}
}

interface OpenMark {
	kind: Mark;
	target: string;
	/** How many of its kind are open inside each other. */
	depth: number;
	/** The place of its opening among the pieces. */
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

/** Collapses white space to single spaces and drops characters that nobody sees. */
export function collapsed(text: string): string {
	// Most text needs nothing done; asking is three times as quick as replacing.
	if (!/\s\s|[^\S ]/.test(text) && !HAS_UNSEEN.test(text)) return text;
	return withoutControls(text).replace(/\s+/g, " ");
}

/** Drops control characters, soft hyphens and zero-width spaces; no-break spaces become spaces. */
export function withoutControls(text: string): string {
	return text.replace(UNSEEN, "").replaceAll("\u00a0", " ");
}

const UNSEEN_CHARACTERS =
	"[\\u0000-\\u0008\\u000b\\u000e-\\u001f\\u007f\\u00ad\\u200b\\u2060\\ufeff]+";
const HAS_UNSEEN = new RegExp(UNSEEN_CHARACTERS);
const UNSEEN = new RegExp(UNSEEN_CHARACTERS, "g");

/** Makes sure that text cannot be taken for a tag: not by itself, and not together with the text after it. */
export function escaped(text: string): string {
	return text.includes("<") ? text.replace(/<(?=[A-Za-z/!?]|$)/g, "&lt;") : text;
}

/** The length of the longest match. */
export function longestRun(text: string, runs: RegExp): number {
	let longest = 0;
	for (const [run] of text.matchAll(runs)) longest = Math.max(longest, run.length);
	return longest;
}
