import type { Page } from "playwright-core";

/** Measures the frames of a page from now on. */
export async function watchFrames(page: Page): Promise<{ longestMs(): Promise<number> }> {
	const watch = await page.evaluateHandle(() => {
		const seen = { longestMs: 0, isOver: false };
		let last = performance.now();
		const next = () => {
			const now = performance.now();
			seen.longestMs = Math.max(seen.longestMs, now - last);
			last = now;
			if (!seen.isOver) requestAnimationFrame(next);
		};
		requestAnimationFrame(next);
		return seen;
	});
	return {
		/** Ends it. */
		longestMs: () =>
			watch.evaluate((seen) => {
				seen.isOver = true;
				return seen.longestMs;
			}),
	};
}

/** Lets a page draw some frames, after which all work that needs no answer of the server is done. */
export async function passFrames(page: Page): Promise<void> {
	await page.evaluate(async () => {
		for (let frames = 0; frames < 12; frames++) {
			await new Promise((resolve) => requestAnimationFrame(resolve));
		}
	});
}
