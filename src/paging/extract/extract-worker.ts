import { parentPort } from "node:worker_threads";
import { htmlToMarkdown, type PageMarkdown } from "./html-to-markdown.ts";
import { linearHtmlToMarkdown, type PageShape } from "./linear-html.ts";

/** One page to convert. */
export interface ExtractRequest {
	html: string;
	baseUrl: string;
}

/** What the worker says about a page: at once what linear time makes of it, then how it ended. */
export type ExtractReply =
	| { kind: "draft"; markdown: string; title?: string }
	| ({ kind: "done" } & PageMarkdown)
	/** the draft is the answer: looking for the main text would not end in time */
	| { kind: "too_large" }
	| { kind: "failed"; message: string };

/**
 * Beyond these a search for the main text does not end in time: Defuddle takes 0.05 to 0.15 ms an element, and
 * the square of the depth (1,000 nested elements: 4 to 12 s; 2,000 of them: most of a minute).
 */
const MAX_ELEMENTS = 150_000;
const MAX_DEPTH = 1500;

/** The other side of `extractor.ts`: one page at a time, two messages for each. */
parentPort?.on("message", ({ html, baseUrl }: ExtractRequest) => {
	try {
		const page = linearHtmlToMarkdown(html, { baseUrl });
		const { markdown, title } = page;
		reply({ kind: "draft", markdown, ...(title ? { title } : {}) });
		if (isTooLarge(page.shape)) reply({ kind: "too_large" });
		else reply({ kind: "done", ...htmlToMarkdown(html, baseUrl, page) });
	} catch (error) {
		// A stack overflow, for instance; the other side has the draft.
		reply({ kind: "failed", message: String(error) });
	}
});

function isTooLarge({ elements, depth }: PageShape): boolean {
	return elements > MAX_ELEMENTS || depth > MAX_DEPTH;
}

function reply(message: ExtractReply): void {
	parentPort?.postMessage(message);
}
