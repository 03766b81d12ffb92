/** Markdown before and after marked text. A link's target follows its closing bracket. */
const DELIMITERS = {
	strong: ["**", "**"],
	emphasis: ["*", "*"],
	strike: ["~~", "~~"],
	superscript: ["^", ""],
	subscript: ["_", ""],
	link: ["[", "]"],
} as const;

type Mark = keyof typeof DELIMITERS;

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

/** Collects the text of one block. Collapses white space; marks only visible text. Linear in its pieces. */
export class InlineText {
	readonly #pieces: string[] = [];
	readonly #open: OpenMark[] = [];
	/** Marks opened since the last text: written with the next text, or dropped if none follows. */
	#pending: OpenMark[] = [];
	#space = false;
	#break = false;
	#code: string[] | undefined;

	add(text: string): void {
		if (this.#code) {
			this.#code.push(text);
			return;
		}
		const words = collapse(text);
		if (words.startsWith(" ")) this.#space = true;
		const visible = words.trim();
		if (visible === "") return;
		// A fence at the start of a line would swallow the rest of the document.
		const startsLine = this.#break || this.#pieces.length === 0;
		const isFence = startsLine && /^(?:```|~~~)/.test(visible);
		this.literal(isFence ? `\\${escapeTags(visible)}` : escapeTags(visible));
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
		for (const mark of this.#pending) {
			mark.from = this.#pieces.length;
			this.#pieces.push(DELIMITERS[mark.kind][0]);
			this.#open.push(mark);
		}
		this.#pending.length = 0;
		this.#pieces.push(markdown);
	}

	/** Returns false if the line was empty; the paragraph then ends. */
	endLine(): boolean {
		if (this.#code) {
			this.#code.push(" ");
			return true;
		}
		if (this.#break) return false;
		this.#break = this.#pieces.length > 0;
		return true;
	}

	/** Has no effect inside a mark of the same kind. `target` is a link's address. */
	open(kind: Mark, target = ""): void {
		const same = this.#find(kind);
		if (same) same.depth++;
		else this.#pending.push({ kind, target, depth: 1, from: 0 });
	}

	/** Marks opened inside this one stay open. */
	close(kind: Mark): void {
		const mark = this.#find(kind);
		if (!mark || --mark.depth > 0) return;
		const pendingAt = this.#pending.indexOf(mark);
		if (pendingAt !== -1) {
			this.#pending.splice(pendingAt, 1);
			return;
		}
		while (this.#open.length > 0) {
			const innermost = this.#open.pop() as OpenMark;
			this.#writeClosing(innermost);
			if (innermost === mark) return;
			this.#pending.unshift(innermost);
		}
	}

	startCode(): void {
		this.#code ??= [];
	}

	endCode(): void {
		const code = this.#code && collapse(this.#code.join("")).trim();
		this.#code = undefined;
		if (!code) return;
		const fence = "`".repeat(longestRun(code, /`+/g) + 1);
		const pad = code.startsWith("`") || code.endsWith("`") ? " " : "";
		this.literal(fence + pad + code + pad + fence);
	}

	/** Returns the text and empties the block. A link without text continues in the next block. */
	take(): string {
		if (this.#code) this.endCode();
		while (this.#open.length > 0) this.#writeClosing(this.#open.pop() as OpenMark);
		if (this.#pending.length > 0) {
			this.#pending = this.#pending.filter(({ kind }) => kind === "link");
		}
		this.#space = false;
		this.#break = false;
		if (this.#pieces.length < 2) return this.#pieces.pop() ?? "";
		const text = this.#pieces.join("");
		this.#pieces.length = 0;
		return text;
	}

	#find(kind: Mark): OpenMark | undefined {
		const isKind = (mark: OpenMark) => mark.kind === kind;
		return this.#open.find(isKind) ?? this.#pending.find(isKind);
	}

	#writeClosing({ kind, target, from }: OpenMark): void {
		// If the text of a link is its address, the address is written only once.
		const isItsText = this.#pieces.length === from + 2 && this.#pieces[from + 1] === target;
		if (kind === "link" && isItsText) this.#pieces[from] = "";
		else this.#pieces.push(DELIMITERS[kind][1] + (kind === "link" ? `(${target})` : ""));
	}
}

interface OpenMark {
	readonly kind: Mark;
	readonly target: string;
	depth: number;
	/** Index of the opening delimiter in `#pieces`. */
	from: number;
}

/** Collapses white space and drops invisible characters. */
export function collapse(text: string): string {
	// Most text needs no change, and testing is three times as fast as replacing.
	if (!/\s\s|[^\S ]/.test(text) && !HAS_INVISIBLE.test(text)) return text;
	return stripControls(text).replace(/\s+/g, " ");
}

/** Drops control characters, soft hyphens and zero-width spaces. No-break spaces become spaces. */
export function stripControls(text: string): string {
	return text.replace(INVISIBLE, "").replaceAll("\u00a0", " ");
}

const INVISIBLE_CHARACTERS =
	"[\\u0000-\\u0008\\u000b\\u000e-\\u001f\\u007f\\u00ad\\u200b\\u2060\\ufeff]+";
const HAS_INVISIBLE = new RegExp(INVISIBLE_CHARACTERS);
const INVISIBLE = new RegExp(INVISIBLE_CHARACTERS, "g");

/** Escapes each `<` that could start a tag, also at the end, since more text may follow. */
export function escapeTags(text: string): string {
	return text.includes("<") ? text.replace(/<(?=[A-Za-z/!?]|$)/g, "&lt;") : text;
}

export function longestRun(text: string, runs: RegExp): number {
	let longest = 0;
	for (const [run] of text.matchAll(runs)) longest = Math.max(longest, run.length);
	return longest;
}

/** Maximum title in characters. Every chunk carries the title, so the page must not decide its length. */
const MAX_TITLE = 200;

/** Returns the title as one line; `undefined` if it is empty. */
export function pageTitle(text: string | null | undefined): string | undefined {
	// The slice bounds the work on a huge title.
	const title = collapse((text ?? "").slice(0, 10 * MAX_TITLE)).trim();
	if (title.length <= MAX_TITLE) return title || undefined;
	const cut = title.slice(0, MAX_TITLE - 1).replace(/[\ud800-\udbff]$/, "");
	return `${cut.trimEnd()}…`;
}

export class PageLinks {
	#baseUrl: string | undefined;
	#isRebased = false;
	/** Characters that absolute links may still add, so that a long base URL cannot inflate a short page. */
	#budget: number;

	/** Without a base, links stay as they are. */
	constructor(baseUrl: string | undefined, pageLength: number) {
		this.#baseUrl = baseUrl;
		this.#budget = 4 * pageLength + 65_536;
	}

	/** Only the first base of a page counts. */
	rebase(href: string): void {
		if (href === "" || this.#isRebased) return;
		this.#isRebased = true;
		const address = URL.parse(href, this.#baseUrl);
		if (address?.protocol.startsWith("http")) this.#baseUrl = address.href;
	}

	/** Returns `undefined` if the address has no usable target. */
	target(address: string): string | undefined {
		const target = linkTarget(address, this.#budget > 0 ? this.#baseUrl : undefined);
		if (target !== undefined) this.#budget -= Math.max(0, target.length - address.length);
		return target;
	}
}

/** Maximum length of a link's address, in characters; longer addresses carry data. */
const MAX_ADDRESS = 2000;

// Returns `undefined` for scripts, embedded data and places on the same page.
function linkTarget(address: string, baseUrl: string | undefined): string | undefined {
	const written = address.trim();
	if (written === "" || written.startsWith("#") || written.length > MAX_ADDRESS) return undefined;
	const scheme = SCHEME.exec(written)?.[1]?.toLowerCase();
	if (scheme !== undefined && !LINK_SCHEMES.has(scheme)) return undefined;
	if (scheme !== undefined || baseUrl === undefined) return escapeTarget(written);
	const resolved = URL.parse(written, baseUrl)?.href;
	if (resolved === undefined || resolved.length > MAX_ADDRESS) return escapeTarget(written);
	return isSamePage(resolved, baseUrl) ? undefined : escapeTarget(resolved);
}

const LINK_SCHEMES = new Set(["http", "https", "mailto", "tel", "ftp", "file"]);
// Browsers drop tabs and line ends from addresses: "java\nscript:" is a script too.
const SCHEME = /^([a-z][a-z0-9+.\-\t\n\r]*):/i;

function isSamePage(resolved: string, baseUrl: string): boolean {
	const hash = resolved.indexOf("#");
	return hash !== -1 && resolved.slice(0, hash) === baseUrl.split("#", 1)[0];
}

function escapeTarget(address: string): string {
	return address
		.replace(/[ ()<>\\|]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
		.replace(NOT_IN_URL, "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they have no place in an address
const NOT_IN_URL = /[\s\u0000-\u001f\u007f]/g;
