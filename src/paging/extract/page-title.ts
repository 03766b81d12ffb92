import { collapsed } from "./inline-text.ts";

/** Titles are shown beside every chunk of a page, so a page does not decide how long they are. */
const MAX_LENGTH = 200;

/** A title on one line and of bounded length; `undefined` if there is nothing in it. */
export function pageTitle(text: string | null | undefined): string | undefined {
	// Bounded before anything else is done to it; the rest of a longer one is not wanted anyway.
	const title = collapsed((text ?? "").slice(0, 10 * MAX_LENGTH)).trim();
	if (title.length <= MAX_LENGTH) return title || undefined;
	const cut = title.slice(0, MAX_LENGTH - 1).replace(/[\ud800-\udbff]$/, "");
	return `${cut.trimEnd()}…`;
}
