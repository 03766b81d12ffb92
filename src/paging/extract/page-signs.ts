import { RARELY_CLOSED, VOID } from "./element-names.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";

/** Decides from its tags whether a page is an article of a newspaper, magazine or blog. */
export class ArticleSigns {
	#openGraphType: string | undefined;
	#isDated = false;
	readonly #schemaTypes = new Set<string>();
	#codeBlocks = 0;
	#terms = 0;

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

export interface PageShape {
	elements: number;
	/** Counts only elements that are usually closed. */
	depth: number;
}

export class ShapeMeter {
	#elements = 0;
	#depth = 0;
	#deepest = 0;

	get shape(): PageShape {
		return { elements: this.#elements, depth: this.#deepest };
	}

	/** `holdsTags`: false for raw text, which ends with its element. */
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
