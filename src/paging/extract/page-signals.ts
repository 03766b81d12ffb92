import { CLUTTER_ROLES, LINE_NUMBER_CLASSES, names, RARELY_CLOSED, VOID } from "./elements.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";

/** Signals collected from the tags of a page: is it an article, and how large is its tree? */
export class PageSignals {
	readonly shape: PageShape = { elements: 0, depth: 0 };
	#depth = 0;
	#openGraphType: string | undefined;
	#isDated = false;
	readonly #schemaTypes = new Set<string>();
	#codeBlocks = 0;
	#terms = 0;

	/** Whether the page is from a newspaper, magazine or blog. */
	get isArticle(): boolean {
		if (this.#codeBlocks > 1) return false;
		if (this.#hasSchemaType(CERTAIN)) return true;
		if (this.#terms > 5 || this.#hasSchemaType(DOCUMENTATION)) return false;
		const isArticle = this.#schemaTypes.has("Article");
		if (this.#openGraphType === undefined) return isArticle;
		// Some sites declare every page an article. Their schema types then name the real kind of page.
		const isPlainPage = !isArticle && !this.#isDated && this.#hasSchemaType(OTHER_PAGES);
		return this.#openGraphType === "article" && !isPlainPage;
	}

	onOpen(tokens: HtmlTokenizer): void {
		this.shape.elements++;
		// An element with raw text has already ended.
		if (tokens.rawText === undefined) this.#step(tokens.name, 1);
		if (tokens.name === "pre") this.#codeBlocks++;
		else if (tokens.name === "dt") this.#terms++;
		else if (tokens.name === "meta") this.#readMeta(tokens);
		else if (tokens.name === "script" && tokens.attribute("type") === "application/ld+json")
			this.#readSchemaTypes(tokens.rawText ?? "");
	}

	onClose(name: string): void {
		this.#step(name, -1);
	}

	#step(name: string, by: 1 | -1): void {
		if (VOID.has(name) || RARELY_CLOSED.has(name)) return;
		this.#depth = Math.max(0, this.#depth + by);
		this.shape.depth = Math.max(this.shape.depth, this.#depth);
	}

	#readMeta(tokens: HtmlTokenizer): void {
		const name = ["property", "name", "itemprop"]
			.map((attribute) => tokens.attribute(attribute))
			.find((value) => value !== undefined);
		if (name === "og:type") this.#openGraphType ??= tokens.attribute("content")?.toLowerCase();
		if (name === "article:published_time" || name === "datePublished") this.#isDated = true;
	}

	#readSchemaTypes(json: string): void {
		for (const [, type = ""] of json.matchAll(/"@type"\s*:\s*\[?\s*"(\w+)"/g)) {
			this.#schemaTypes.add(type);
		}
	}

	#hasSchemaType(types: RegExp): boolean {
		return [...this.#schemaTypes].some((type) => types.test(type));
	}
}

const CERTAIN = /^(?:Opinion|Analysis|Reportage|Review)?NewsArticle$|^BlogPosting$/;
const DOCUMENTATION = /^(?:TechArticle|APIReference)$/;
const OTHER_PAGES = /^(?:WebPage|CollectionPage|FAQPage|Product)$/;

export interface PageShape {
	elements: number;
	/** Maximum nesting; counts only elements that are usually closed. */
	depth: number;
}

// Larger pages miss the deadline: Defuddle takes 0.05 to 0.15 ms per element, and its time is quadratic
// in the depth (1,000 levels: 4 to 12 s; 2,000: most of a minute).
const MAX_ELEMENTS = 150_000;
const MAX_DEPTH = 1500;

/** Whether Defuddle and Readability, which build a tree, would miss the deadline. */
export function isTooLarge({ elements, depth }: PageShape): boolean {
	return elements > MAX_ELEMENTS || depth > MAX_DEPTH;
}

/** Whether the element that `tokens` just opened is clutter or has no text to read. */
export function isExcluded(
	tokens: HtmlTokenizer,
	wholePage: boolean,
	open: { isOpen(name: string): boolean },
): boolean {
	const { name } = tokens;
	if (NON_TEXT.has(name)) return true;
	if (name === "footer" && wholePage) return !open.isOpen("blockquote");
	if (name === "nav" && wholePage) return true;
	if (!tokens.hasAttributes) return false;
	if (GUTTERED.has(name) && GUTTER.test(tokens.attribute("class") ?? "")) return true;
	if (!wholePage || ALWAYS_VISIBLE.has(name)) return false;
	const role = tokens.attribute("role") ?? "";
	return CLUTTER_ROLES.has(role) || (role !== "tabpanel" && isHidden(tokens));
}

function isHidden(tokens: HtmlTokenizer): boolean {
	const hidden = tokens.attribute("hidden") ?? "until-found";
	// React sends late parts of a page hidden, with an id like `S:1`.
	if (hidden !== "until-found") return !tokens.attribute("id")?.startsWith("S:");
	return (
		tokens.attribute("aria-hidden") === "true" || HIDING_STYLE.test(tokens.attribute("style") ?? "")
	);
}

const HIDING_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const GUTTER = new RegExp(`(?:^|\\s)(?:${[...LINE_NUMBER_CLASSES].join("|")})(?:\\s|$)`);

const NON_TEXT = names("template svg noscript canvas object select datalist dialog map");
const GUTTERED = names("td pre span div");
/** Some pages hide these elements until their scripts have run, so hiding them is ignored. */
const ALWAYS_VISIBLE = names("html body main article");
