import { decodeEntities } from "./entities.ts";
import type { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapse } from "./inline-text.ts";

/** Signals collected from the tags of a page: what it declares about itself. */
export class PageSignals {
	title = "";
	generator = "";
	/** The address of the same content as plain text, if the page names one. */
	source: string | undefined;
	author: string | undefined;
	published: string | undefined;
	codeBlocks = 0;
	terms = 0;
	#openGraphType: string | undefined;
	#isDated = false;
	readonly #schemaTypes = new Set<string>();

	/** Whether the page is from a newspaper, magazine or blog. */
	get isArticle(): boolean {
		if (this.codeBlocks > 1) return false;
		if (this.#hasSchemaType(CERTAIN)) return true;
		if (this.terms > 5 || this.#hasSchemaType(DOCUMENTATION)) return false;
		const isArticle = this.#schemaTypes.has("Article");
		if (this.#openGraphType === undefined) return isArticle;
		// Some sites declare every page an article. Their schema types then name the real kind of page.
		const isPlainPage = !isArticle && !this.#isDated && this.#hasSchemaType(OTHER_PAGES);
		return this.#openGraphType === "article" && !isPlainPage;
	}

	/** What the page declares to be: 0 for nothing, 1 news, 2 post, 3 article, 4 thread or question, 5 product, 6 listing, 7 documentation, 8 page. */
	get kind(): number {
		const kinds = [
			CERTAIN,
			/^BlogPosting$/,
			/^Article$/,
			THREAD,
			/^(?:Product|Offer)$/,
			LISTING,
			DOCUMENTATION,
			/^WebPage$/,
		];
		const found = kinds.findIndex((types) => this.#hasSchemaType(types));
		return found + 1;
	}

	onOpen(tokens: HtmlTokenizer): void {
		const { name } = tokens;
		if (name === "pre") this.codeBlocks++;
		else if (name === "dt") this.terms++;
		else if (name === "meta") this.#readMeta(tokens);
		else if (name === "link" || name === "a") this.#readLink(tokens);
		else if (name === "title" && this.title === "")
			this.title = decodeEntities((tokens.rawText ?? "").slice(0, 500));
		else if (name === "script" && tokens.attribute("type") === "application/ld+json")
			this.#readSchema(tokens.rawText ?? "");
	}

	#readLink(tokens: HtmlTokenizer): void {
		if (this.source !== undefined || !tokens.hasAttributes) return;
		const isSource =
			tokens.name === "link"
				? tokens.attribute("rel") === "alternate" && isPlainAlternate(tokens)
				: RAW_LINK.test(tokens.attribute("data-testid") ?? tokens.attribute("id") ?? "");
		if (isSource) this.source = tokens.attribute("href");
	}

	#readMeta(tokens: HtmlTokenizer): void {
		const name = ["property", "name", "itemprop"]
			.map((attribute) => tokens.attribute(attribute))
			.find((value) => value !== undefined);
		if (name === "generator") this.generator ||= (tokens.attribute("content") ?? "").slice(0, 100);
		if (name === "og:type") this.#openGraphType ??= tokens.attribute("content")?.toLowerCase();
		if (name === "article:published_time" || name === "datePublished") {
			this.#isDated = true;
			this.published ??= shortLine(tokens.attribute("content"));
		}
		if (name === "author" || name === "article:author" || name === "dc.creator")
			this.author ??= personName(tokens.attribute("content"));
	}

	#readSchema(json: string): void {
		for (const [, type = ""] of json.matchAll(/"@type"\s*:\s*\[?\s*"(\w+)"/g)) {
			this.#schemaTypes.add(type);
		}
		this.published ??= shortLine(/"datePublished"\s*:\s*"([^"\\]{4,40})"/.exec(json)?.[1]);
		const author = /"author"\s*:\s*\[?\s*\{[^{}]{0,300}?"name"\s*:\s*"([^"\\]{2,80})"/.exec(
			json,
		)?.[1];
		this.author ??= personName(author);
	}

	#hasSchemaType(types: RegExp): boolean {
		return [...this.#schemaTypes].some((type) => types.test(type));
	}
}

function isPlainAlternate(tokens: HtmlTokenizer): boolean {
	const type = tokens.attribute("type") ?? "";
	return (
		/^text\/(?:x-)?markdown\b/.test(type) ||
		(/^text\/plain\b/.test(type) && SITE_INDEX.test(tokens.attribute("href") ?? ""))
	);
}

/** A site's index for models. Pages name it too, but it stands for the site's first page only. */
export const SITE_INDEX = /\/?llms(?:-full)?\.txt$/;

/** How forges mark the link from a file's page to the file. */
const RAW_LINK = /^raw-(?:button|url)$/;
const CERTAIN = /^(?:Opinion|Analysis|Reportage|Review)?NewsArticle$|^BlogPosting$/;
const DOCUMENTATION = /^(?:TechArticle|APIReference)$/;
const THREAD = /^(?:DiscussionForumPosting|QAPage|Question|Answer|Comment)$/;
const LISTING = /^(?:CollectionPage|ItemList|SearchResultsPage)$/;
const OTHER_PAGES = /^(?:WebPage|CollectionPage|FAQPage|Product)$/;

/** The values are untrusted, and every chunk may carry them: one short line, or nothing. */
function shortLine(text: string | undefined): string | undefined {
	const line = collapse((text ?? "").slice(0, 400)).trim();
	return line !== "" && line.length <= 80 ? line : undefined;
}

/** Some pages name an address instead of a person. */
function personName(text: string | undefined): string | undefined {
	const name = shortLine(text);
	return name !== undefined && !/^https?:/i.test(name) ? name : undefined;
}
