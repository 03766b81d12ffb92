import { collapsed } from "./inline-text.ts";

/** A title accompanies every chunk, so the page must not decide its length. */
const MAX_LENGTH = 200;

/** One line; `undefined` if empty. */
export function pageTitle(text: string | null | undefined): string | undefined {
	// Bounds the work on a huge title.
	const title = collapsed((text ?? "").slice(0, 10 * MAX_LENGTH)).trim();
	if (title.length <= MAX_LENGTH) return title || undefined;
	const cut = title.slice(0, MAX_LENGTH - 1).replace(/[\ud800-\udbff]$/, "");
	return `${cut.trimEnd()}…`;
}
