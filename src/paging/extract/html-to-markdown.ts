import { type LinearMarkdown, linearHtmlToMarkdown } from "./linear-html.ts";
import { defuddled, type Reading, readable } from "./readings.ts";

/** A page as markdown. */
export interface PageMarkdown {
	markdown: string;
	title?: string;
	/** Who found the main text; `"linear"` where neither did and the page's whole text is the better answer. */
	via: Reading["via"];
}

/**
 * Finds the main text of a page and writes it as markdown. Synchronous, without network, and the same for the
 * same input; but its time and stack grow faster than the page, so it belongs in a worker with a deadline.
 *
 * Of an article Readability's reading is taken, which has the least of what surrounds the text. Of all else Defuddle
 * looks first: it is the better one for code, formulae, headings, threads and listings. What it brings is held
 * against all text of the page. If that is suspiciously little, the other is heard too, and if both have missed it
 * (pages of links, mostly) the page is taken as it is. All three are written by the same converter.
 *
 * @param baseUrl the address the page was finally found at; links are absolute against it
 * @param page what the linear converter makes of the page, if that is known already
 */
export function htmlToMarkdown(
	html: string,
	baseUrl: string,
	page: LinearMarkdown = linearHtmlToMarkdown(html, { baseUrl }),
): PageMarkdown {
	const whole: Reading = { via: "linear", markdown: page.markdown, title: page.title };
	const isArticle = page.isArticle && !isDocumentation(baseUrl);
	const readings = [() => defuddled(html, baseUrl, page.mainPart), () => readable(html, baseUrl)];
	if (isArticle) readings.reverse();
	const { markdown, via, title = page.title } = choose(whole, isArticle, readings);
	return { markdown, via, ...(title ? { title } : {}) };
}

/** Whether an address is one of documentation, which often has the metadata of articles. */
function isDocumentation(address: string): boolean {
	const { hostname = "", pathname = "" } = URL.parse(address) ?? {};
	return (
		/^(?:docs?|developers?|api)\./.test(hostname) ||
		/\/(?:docs?|documentation|reference|manual|api)(?:\/|$)/.test(pathname)
	);
}

/**
 * The first reading that holds enough of the page's text, or the longest; the whole page if none of them does and
 * none has a passage of prose. Of an article, the first one with such a passage will do: how much there is around
 * it says nothing. Throws what a reader threw if the others found nothing.
 *
 * The shares are from documentation, articles, listings and threads (`bench/paging-html.ts`): a good reading
 * keeps 0.5 of all text or more, down to 0.2 on pages with much around the article; one that went wrong stays
 * below 0.15 or is a few lines long.
 */
function choose(whole: Reading, isArticle: boolean, readings: (() => Reading)[]): Reading {
	const available = textLength(whole.markdown);
	let best = { ...whole, markdown: "", length: 0 };
	let failure: unknown;
	for (const read of readings) {
		let candidate: Reading;
		try {
			candidate = read();
		} catch (error) {
			failure = error; // the other reader may still do
			continue;
		}
		const length = textLength(candidate.markdown);
		// A little more is more likely to be the page's surroundings than a lost paragraph.
		if (length > 1.2 * best.length) best = { ...candidate, length };
		if (isArticle && hasProse(best.markdown)) break;
		if (best.length >= 0.5 * available) break;
		if (best.length >= 1000 && best.length >= 0.2 * available) break;
	}
	if (best.length === 0) {
		if (failure !== undefined) throw failure;
		return whole;
	}
	const isEnough = best.length >= (best.length < 500 ? 0.5 : 0.15) * available;
	return isEnough || hasProse(best.markdown) ? best : whole;
}

/** Whether there is a passage of sentences, not only headings, links and labels. */
function hasProse(markdown: string): boolean {
	let length = 0;
	for (const line of markdown.split("\n")) {
		// Images first: they may be what a link is around.
		const unlinked = line.replace(IMAGE, "").replace(LINK, "");
		if (unlinked.length >= 40 && /[.!?。！？]/.test(unlinked)) length += unlinked.length;
	}
	return length >= 250;
}

// No label or address goes on past another's beginning: a line of brackets takes no longer than any other.
const IMAGE = /!\[[^[\]]*\]\([^()\s]*\)/g;
const LINK = /\[[^[\]]*\]\([^()\s]*\)/g;

/** How much text there is for a reader: without addresses, marks and white space. */
function textLength(markdown: string): number {
	return markdown.replace(/\]\([^()\s]*\)/g, "").replace(/[\s|*#>`[\]!-]+/g, "").length;
}
