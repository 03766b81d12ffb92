import { createBlockModel } from "./block-model.ts";
import { type LeftOut, leftOut } from "./left-out.ts";
import { linearHtmlToMarkdown } from "./linear-html.ts";
import { decideBlocks, keptText } from "./main-text.ts";
import data from "./main-text-model.json" with { type: "json" };
import { SITE_INDEX } from "./page-signals.ts";
import { readPageTree } from "./page-tree.ts";
import { placeStreamedParts } from "./streamed-parts.ts";

export interface PageMarkdown {
	readonly markdown: string;
	readonly title?: string | undefined;
	readonly author?: string | undefined;
	/** When the page says it was published, as it says it. */
	readonly published?: string | undefined;
	readonly leftOut?: LeftOut | undefined;
	/** The address of the same content as plain text, if the page names one. */
	readonly source?: string | undefined;
	/** Where elements with an id begin in the Markdown. */
	readonly anchors?: ReadonlyMap<string, number> | undefined;
}

interface PageOptions {
	/** Write the whole page, also what is around the main text. */
	readonly everything?: boolean | undefined;
}

const model = createBlockModel(data);

/**
 * Finds the main text of a page and writes it as Markdown. Linear in time and memory.
 * @param baseUrl the address after redirects; links become absolute
 */
export function htmlToMarkdown(
	html: string,
	baseUrl: string,
	options: PageOptions = {},
): PageMarkdown {
	const page = placeStreamedParts(html);
	const tree = readPageTree(page);
	const kept = options.everything
		? tree.blocks.map(() => true)
		: decideBlocks(tree, baseUrl, model);
	const keep = options.everything ? undefined : keptText(tree, kept);
	const { markdown, title, anchors } = linearHtmlToMarkdown(page, {
		baseUrl,
		...(keep && { keep }),
	});
	const { author, published, source } = tree.signals;
	const sourceUrl = source === undefined ? undefined : sourceOf(source, baseUrl);
	return {
		markdown,
		anchors,
		...(title && { title }),
		...(sourceUrl && { source: sourceUrl }),
		...(author && { author }),
		...(published && { published }),
		...(!options.everything && { leftOut: leftOut(tree, kept) }),
	};
}

function sourceOf(named: string, baseUrl: string): string | undefined {
	const isSiteIndex = SITE_INDEX.test(named) && URL.parse(baseUrl)?.pathname !== "/";
	return isSiteIndex ? undefined : URL.parse(named, baseUrl)?.href;
}
