import { RARELY_CLOSED, VOID } from "./element-names.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";

/** Finds out from its tags, as they come, whether a page is an article of a newspaper, magazine or blog. */
export class ArticleSigns {
	/** What the page is in the terms of Open Graph, and when it appeared. */
	#openGraphType: string | undefined;
	#isDated = false;
	/** What schema.org's data on the page is about. */
	readonly #schemaTypes = new Set<string>();
	#codeBlocks = 0;
	#terms = 0;

	/** Whether the page claims to be an article and does not look like documentation. */
	get isArticle(): boolean {
		if (this.#codeBlocks > 1) return false;
		if (this.#isOneOf(CERTAIN)) return true;
		if (this.#terms > 5 || this.#isOneOf(DOCUMENTATION)) return false;
		const isArticle = this.#schemaTypes.has("Article");
		if (this.#openGraphType === undefined) return isArticle;
		// Some sites call every page an article; those have data on a page, and no article in it.
		const isMerePage = !isArticle && !this.#isDated && this.#isOneOf(OTHER_PAGES);
		return this.#openGraphType === "article" && !isMerePage;
	}

	/** The tokenizer stands at the tag of an element that opens. */
	opened(tokens: HtmlTokenizer): void {
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

	#isOneOf(types: readonly string[]): boolean {
		return types.some((type) => this.#schemaTypes.has(type));
	}
}

const CERTAIN = [
	"NewsArticle",
	"OpinionNewsArticle",
	"AnalysisNewsArticle",
	"ReportageNewsArticle",
	"ReviewNewsArticle",
	"BlogPosting",
];
const DOCUMENTATION = ["TechArticle", "APIReference"];
const OTHER_PAGES = ["WebPage", "CollectionPage", "FAQPage", "Product"];

/** The size of a page's tree, counted from its tags. */
export interface PageShape {
	elements: number;
	/** How deep elements are nested, as far as they say where they end. */
	depth: number;
}

/** Counts the tags of a page as they come. */
export class ShapeMeter {
	#elements = 0;
	#depth = 0;
	#deepest = 0;

	get shape(): PageShape {
		return { elements: this.#elements, depth: this.#deepest };
	}

	/** `holdsTags`: what is inside is not raw text, which ends with it. */
	opened(name: string, holdsTags: boolean): void {
		this.#elements++;
		if (holdsTags) this.#step(name, 1);
	}

	closed(name: string): void {
		this.#step(name, -1);
	}

	#step(name: string, by: 1 | -1): void {
		if (VOID.has(name) || RARELY_CLOSED.has(name)) return;
		this.#depth = Math.max(0, this.#depth + by);
		this.#deepest = Math.max(this.#deepest, this.#depth);
	}
}
