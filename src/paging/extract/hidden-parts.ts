import type { PageDocument } from "./page-document.ts";

/** Shows what a page hides only until its scripts have run or a tab is chosen, so that no reader drops it. */
export function showHiddenParts(document: PageDocument): void {
	placeStreamedParts(document);
	for (const panel of document.querySelectorAll('[role="tabpanel"]')) {
		if (panel.querySelector("pre") === null) continue;
		for (const name of ["hidden", "aria-hidden", "style"]) panel.removeAttribute(name);
		panel.setAttribute("class", (panel.getAttribute("class") ?? "").replace(HIDING_CLASS, ""));
	}
}

/**
 * React sends what was not ready in time at the end of the page, hidden as `S:n`; a script moves it to where the
 * template `B:n` is.
 */
function placeStreamedParts(document: PageDocument): void {
	const parts = [...document.querySelectorAll('[hidden][id^="S:"]')];
	if (parts.length === 0) return;
	const templates = [...document.querySelectorAll('template[id^="B:"]')];
	const places = new Map(templates.map((template) => [template.id, template]));
	for (const part of parts) {
		part.removeAttribute("hidden");
		const place = places.get(part.id.replace("S:", "B:"));
		if (place && !part.contains(place)) place.replaceWith(part);
	}
}

const HIDING_CLASS = /(?<!\S)(?:\S+:)?(?:hidden|invisible)(?!\S)/g;
