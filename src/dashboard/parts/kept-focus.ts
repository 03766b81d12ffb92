const FOCUSABLE = ":is(a[href], button:enabled, input:enabled, select, textarea, [tabindex='0'])";

/** Keeps the focus near its place when the element that has it goes away or is disabled, so that keys go on from there. Call it once. */
export function keepFocus(): void {
	/** What had the focus last, and its ancestors. Empty after a click beside everything. */
	let path: readonly HTMLElement[] = [];
	let isChecking = false;
	const isGone = () =>
		path[0] !== undefined && (!path[0].isConnected || path[0].matches(":disabled"));

	addEventListener("focusin", ({ target }) => {
		path = target instanceof HTMLElement ? pathOf(target) : [];
	});
	addEventListener("pointerdown", () => {
		path = [];
	});
	new MutationObserver(() => {
		if (isChecking || !isGone()) return;
		isChecking = true;
		// After the effects of the new content, which may want the focus themselves.
		requestAnimationFrame(() =>
			setTimeout(() => {
				isChecking = false;
				if (isGone() && document.activeElement === document.body)
					placeNear(path)?.focus({ preventScroll: true });
			}),
		);
	}).observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
}

function pathOf(element: HTMLElement): HTMLElement[] {
	const path = [];
	for (let at: HTMLElement | null = element; at; at = at.parentElement) path.push(at);
	return path;
}

/** The nearest ancestor that takes the focus, or else what does inside of an ancestor, or else `main`. */
function placeNear(path: readonly HTMLElement[]): HTMLElement | null {
	const main = document.getElementById("main");
	const within = path.filter((one) => one !== main && main?.contains(one));
	const above = within.find((one) => one.matches(FOCUSABLE));
	if (above) return above;
	for (const one of within) {
		const inside = one.querySelector<HTMLElement>(FOCUSABLE);
		if (inside) return inside;
	}
	return main;
}
