import type { HtmlTokenizer } from "./html-tokenizer.ts";

export const names = (list: string): ReadonlySet<string> => new Set(list.split(" "));

export const VOID = names("area base br col embed hr img input link meta param source track wbr");
export const INLINE_CODE = names("code tt kbd samp");
export const HEADINGS = names("h1 h2 h3 h4 h5 h6");
export const CONTAINERS = names("ul ol menu dir blockquote");
/** Blocks that are not tracked as open, since their end does not matter. */
export const PARAGRAPHS = names(
	"p h1 h2 h3 h4 h5 h6 hr html head body caption summary figcaption legend",
);
/** Elements that end a paragraph. */
export const BLOCKS = names(
	"address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure " +
		"footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol p pre search section " +
		"summary table tbody td tfoot th thead tr ul",
);
/** Some highlighters wrap each line of code in one of these. */
export const CODE_LINES = names("div p li tr");
/** Classes of the line numbers and popups that highlighters add. */
export const LINE_NUMBER_CLASSES = names(
	"gutter rouge-gutter twoslash-popup-container lineno linenos linenodiv blob-num hljs-ln-numbers",
);
/** Returns the language of code as highlighters declare it, or an empty string. */
export function codeLanguage(attribute: (name: string) => string | null | undefined): string {
	const declared = attribute("data-lang") ?? attribute("data-language");
	const classes = attribute("class") ?? "";
	const named = declared || (IN_CLASS.exec(classes)?.[1] ?? bareLanguage(classes));
	const language = named.toLowerCase();
	return IS_LANGUAGE.test(language) && !NO_LANGUAGE.has(language) ? language : "";
}

// language- (HTML 5), lang- (prettify), highlight-source- (GitHub), highlight- (Sphinx), brush:, gatsby-code-
const IN_CLASS =
	/(?:^|\s)(?:language-(?!id\b)|lang-|highlight-source-|highlight-(?:text-)?|sourceCode |src-|gatsby-code-|brush:\s*)([\w+#.-]+)/i;
const IS_LANGUAGE = /^[a-z][\w+#.-]{0,20}$/;
const NO_LANGUAGE = names("none default plaintext text plain source notranslate");

/** Some highlighters name the language alone, beside a class for the box: `rust rust-example-rendered`. */
function bareLanguage(classes: string): string {
	if (!/(?:^|[\s-])(?:highlight|code|hljs|prettyprint|rendered|snippet)(?:$|[\s-])/i.test(classes))
		return "";
	return (
		classes
			.toLowerCase()
			.split(/\s+/)
			.find((name) => BARE_LANGUAGES.has(name)) ?? ""
	);
}

const BARE_LANGUAGES = names(
	"bash c cpp csharp css dart diff elixir erlang fortran fsharp go graphql groovy haskell hcl html http ini java javascript js json " +
		"jsx julia kotlin less lisp lua makefile markdown matlab nginx nix objectivec ocaml perl php powershell proto python r ruby rust " +
		"sass scala scheme scss sh shell sql swift toml ts tsx typescript vb vue xml yaml yml zig",
);

/** Finds elements that show code without a `pre`: CodeMirror, Monaco, listings of Doxygen. */
export class CodeBoxes {
	#isDoxygen = false;

	/** Whether the element that `tokens` just opened is such a box. Call it for each `div` and `meta`. */
	isBox(tokens: HtmlTokenizer): boolean {
		if (!tokens.hasAttributes) return false;
		if (tokens.name === "meta")
			this.#isDoxygen ||= /^doxygen\b/i.test(tokens.attribute("content") ?? "");
		if (tokens.name !== "div") return false;
		const classes = tokens.attribute("class") ?? "";
		// Elsewhere, a fragment is a part of a slide.
		return CODE_BOX.test(classes) || (this.#isDoxygen && /(?:^|\s)fragment(?:\s|$)/.test(classes));
	}
}

const CODE_BOX = /(?:^|\s)(?:cm-content|CodeMirror-code|view-lines)(?:\s|$)/;
/** Boxes of javadoc that show a declaration as it is laid out. */
export const SIGNATURE = /(?:^|\s)(?:member|type)-signature(?:\s|$)/;
/** Line numbers inside of code, by classes that mean other things elsewhere. */
export const CODE_GUTTER =
	/(?:^|\s)(?:lnt?|line-?numbers?|lines-num|source-line-no|react-syntax-highlighter-line-number|codeLineNumber_\w+)(?:\s|$)/i;
/** Elements that hold one line of code each, whatever their name. */
export const CODE_LINE =
	/(?:^|\s)(?:line|code-line|token-line|cm-line|view-line|CodeMirror-line|react-code-line-contents)(?:\s|$)/;

/**
 * The stack of open elements, with HTML's rules for implied ends. No query walks the stack, and
 * most elements share the `Scope` of their parent, so a million unclosed elements stay cheap.
 */
export class OpenElements<T> {
	readonly #names: string[] = [];
	readonly #values: T[] = [];
	readonly #scopes: Scope[] = [];
	readonly #places = new Map<string, number[]>();
	readonly #onClose: (name: string, value: T, place: number) => void;

	/** `onClose` runs once per element, innermost first, however the element ends. */
	constructor(onClose: (name: string, value: T, place: number) => void) {
		this.#onClose = onClose;
	}

	get length(): number {
		return this.#names.length;
	}

	get innermost(): string | undefined {
		return this.#names.at(-1);
	}

	/** Returns up to `count` values, innermost first. */
	innermostValues(count: number): T[] {
		return this.#values.slice(-count).reverse();
	}

	isOpen(name: string): boolean {
		return (this.#places.get(name)?.length ?? 0) > 0;
	}

	push(name: string, value: T): void {
		const place = this.#names.length;
		this.#names.push(name);
		this.#values.push(value);
		this.#scopes.push(scopeWithin(this.#scope, KINDS.get(name), place));
		const places = this.#places.get(name);
		if (places) places.push(place);
		else this.#places.set(name, [place]);
	}

	/** Also closes all elements inside. Has no effect if the element is out of the end tag's reach. */
	close(name: string): void {
		const place = this.#places.get(name)?.at(-1) ?? -1;
		if (place > this.#reach(name)) this.closeDownTo(place);
	}

	/** Closes elements that a start tag ends: an item ends the open item, a cell the cell, a row the row. */
	endImplied(name: string): void {
		const kind = KINDS.get(name);
		let place = -1;
		if (kind === "item") place = this.#scope.item;
		else if (kind === "cell") place = this.#scope.cell;
		else if (kind === "row" || kind === "rows") place = this.#scope.row;
		if (place !== -1) this.closeDownTo(place);
	}

	closeDownTo(count: number): void {
		while (this.#names.length > count) {
			const name = this.#names.pop() as string;
			const value = this.#values.pop() as T;
			this.#scopes.pop();
			this.#places.get(name)?.pop();
			this.#onClose(name, value, this.#names.length);
		}
	}

	get #scope(): Scope {
		return this.#scopes.at(-1) ?? OUTSIDE;
	}

	/** End tags close only elements above this index: a stray `</div>` in a cell must not end a table. */
	#reach(name: string): number {
		const kind = KINDS.get(name);
		if (kind === "table") return -1;
		const { table, cell } = this.#scope;
		return kind === "cell" || kind === "row" || kind === "rows" ? table : Math.max(cell, table);
	}
}

/** Stack index of the nearest table, row, cell and item, possibly the element itself; -1 if there is none. */
interface Scope {
	readonly table: number;
	readonly row: number;
	readonly cell: number;
	readonly item: number;
}

const OUTSIDE: Scope = { table: -1, row: -1, cell: -1, item: -1 };

function scopeWithin(outer: Scope, kind: Kind | undefined, place: number): Scope {
	if (kind === "table") return { ...OUTSIDE, table: place };
	if (kind === "row") return { ...outer, row: place };
	if (kind === "cell") return { ...outer, cell: place, item: -1 };
	if (kind === "item") return { ...outer, item: place };
	return kind === "list" ? { ...outer, item: -1 } : outer;
}

type Kind = "table" | "rows" | "row" | "cell" | "list" | "item";

const NAMES: Record<Kind, string> = {
	table: "table",
	rows: "thead tbody tfoot",
	row: "tr",
	cell: "td th",
	list: "ul ol dl menu dir",
	item: "li dt dd",
};
const KINDS = new Map(
	Object.entries(NAMES).flatMap(([kind, list]) =>
		list.split(" ").map((name) => [name, kind as Kind] as const),
	),
);
