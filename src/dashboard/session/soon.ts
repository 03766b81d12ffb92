/** A tab in the background draws nothing: then this is how long it takes. */
const HIDDEN_MS = 250;

/** Calls back before the next picture is drawn, or a little later where none is. Returns how to prevent it. */
export function soon(work: () => void): () => void {
	const cancel = () => {
		cancelAnimationFrame(frame);
		clearTimeout(timer);
	};
	const run = () => {
		cancel();
		work();
	};
	const frame = requestAnimationFrame(run);
	const timer = setTimeout(run, HIDDEN_MS);
	return cancel;
}
