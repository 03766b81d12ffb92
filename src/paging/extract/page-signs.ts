import { LINE_NUMBER_CLASSES, names, RARELY_CLOSED, SURROUNDINGS, VOID } from "./elements.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";

/** What the tags tell of a page. */
export class PageSigns {
	readonly shape: PageShape = { elements: 0, depth: 0 };
	#depth = 0;
	#openGraphType: string | undefined;
	#isDated = false;
	readonly #schemaTypes = new Set<string>();
	#codeBlocks = 0;
	#terms = 0;

	/** Of a newspaper, magazine or blog. */
	get isArticle(): boolean {
		if (this.#codeBlocks > 1) return false;
		if (this.#isOneOf(CERTAIN)) return true;
		if (this.#terms > 5 || this.#isOneOf(DOCUMENTATION)) return false;
		const isArticle = this.#schemaTypes.has("Article");
		if (this.#openGraphType === undefined) return isArticle;
		// Some sites call every page an article; their data describes a page.
		const isMerePage = !isArticle && !this.#isDated && this.#isOneOf(OTHER_PAGES);
		return this.#openGraphType === "article" && !isMerePage;
	}

	opened(tokens: HtmlTokenizer): void {
		this.shape.elements++;
		// Raw text ends with its element.
		if (tokens.rawText === undefined) this.#step(tokens.name, 1);
		switch (tokens.name) {
			case "pre":
				this.#codeBlocks++;
				break;
			case "dt":
				this.#terms++;
				break;
			case "meta":
				this.#hearMeta(tokens);
				break;
			case "script":
				if (tokens.attribute("type") === "application/ld+json")
					this.#hearData(tokens.rawText ?? "");
		}
	}

	closed(name: string): void {
		this.#step(name, -1);
	}

	#step(name: string, by: 1 | -1): void {
		if (VOID.has(name) || RARELY_CLOSED.has(name)) return;
		this.#depth = Math.max(0, this.#depth + by);
		this.shape.depth = Math.max(this.shape.depth, this.#depth);
	}

	#hearMeta(tokens: HtmlTokenizer): void {
		const name = ["property", "name", "itemprop"]
			.map((attribute) => tokens.attribute(attribute))
			.find((value) => value !== undefined);
		if (name === "og:type") this.#openGraphType ??= tokens.attribute("content")?.toLowerCase();
		if (name === "article:published_time" || name === "datePublished") this.#isDated = true;
	}

	#hearData(json: string): void {
		for (const [, type = ""] of json.matchAll(/"@type"\s*:\s*\[?\s*"(\w+)"/g)) {
			this.#schemaTypes.add(type);
		}
	}

	#isOneOf(types: RegExp): boolean {
		return [...this.#schemaTypes].some((type) => types.test(type));
	}
}

const CERTAIN = /^(?:Opinion|Analysis|Reportage|Review)?NewsArticle$|^BlogPosting$/;
const DOCUMENTATION = /^(?:TechArticle|APIReference)$/;
const OTHER_PAGES = /^(?:WebPage|CollectionPage|FAQPage|Product)$/;

export interface PageShape {
	elements: number;
	/** Counts only elements that are usually closed. */
	depth: number;
}

// Larger pages miss the deadline: Defuddle takes 0.05 to 0.15 ms an element and the square of the
// depth (1,000 levels: 4 to 12 s; 2,000: most of a minute).
const MAX_ELEMENTS = 150_000;
const MAX_DEPTH = 1500;

/** For readers that build a tree. */
export function isTooLarge({ elements, depth }: PageShape): boolean {
	return elements > MAX_ELEMENTS || depth > MAX_DEPTH;
}

/** Whether the element that opens is clutter, or no text at all. */
export function isLeftOut(
	tokens: HtmlTokenizer,
	wholePage: boolean,
	open: { isOpen(name: string): boolean },
): boolean {
	const { name } = tokens;
	if (NEVER_TEXT.has(name)) return true;
	if (name === "footer" && wholePage) return !open.isOpen("blockquote");
	if (name === "nav" && wholePage) return true;
	if (!tokens.hasAttributes) return false;
	if (GUTTERED.has(name) && GUTTER.test(tokens.attribute("class") ?? "")) return true;
	if (!wholePage || ALWAYS_SEEN.has(name)) return false;
	const role = tokens.attribute("role") ?? "";
	return SURROUNDINGS.has(role) || (role !== "tabpanel" && isHidden(tokens));
}

function isHidden(tokens: HtmlTokenizer): boolean {
	const hidden = tokens.attribute("hidden") ?? "until-found";
	// React sends late parts of a page hidden.
	if (hidden !== "until-found") return !tokens.attribute("id")?.startsWith("S:");
	return (
		tokens.attribute("aria-hidden") === "true" || HIDING_STYLE.test(tokens.attribute("style") ?? "")
	);
}

const HIDING_STYLE = /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i;
const GUTTER = new RegExp(`(?:^|\\s)(?:${[...LINE_NUMBER_CLASSES].join("|")})(?:\\s|$)`);

const NEVER_TEXT = names("template svg noscript canvas object select datalist dialog map");
const GUTTERED = names("td pre span div");
/** Pages hide these until their scripts have run. */
const ALWAYS_SEEN = names("html body main article");
