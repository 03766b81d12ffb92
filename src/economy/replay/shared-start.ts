/**
 * How many leading blocks of two requests are the same objects. Requests of a session start like the one before, so
 * a walk through many of them has to look only at what comes behind these.
 */
export function sharedStart(before: readonly unknown[], now: readonly unknown[]): number {
	const most = Math.min(before.length, now.length);
	for (let at = 0; at < most; at++) if (before[at] !== now[at]) return at;
	return most;
}
