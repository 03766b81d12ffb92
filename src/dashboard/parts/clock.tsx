/** A time of day, with the date if it is not today. The title has all of it. */
export function Clock({ atMs }: { atMs: number | undefined }) {
	if (atMs === undefined || !Number.isFinite(atMs) || Math.abs(atMs) > MAX_TIME_MS) return null;
	const at = new Date(atMs);
	return (
		<time class="clock number" dateTime={at.toISOString()} title={at.toLocaleString()}>
			{clockText(at, new Date())}
		</time>
	);
}

/** The latest time that a `Date` can hold. */
const MAX_TIME_MS = 8.64e15;

/** Format: `14:05`; on other days `3 May, 14:05`, in other years `3 May 2024`. */
export function clockText(at: Date, now: Date): string {
	const time = `${at.getHours()}:${String(at.getMinutes()).padStart(2, "0")}`;
	if (at.toDateString() === now.toDateString()) return time;
	const day = `${at.getDate()} ${MONTHS[at.getMonth()]}`;
	return at.getFullYear() === now.getFullYear() ? `${day}, ${time}` : `${day} ${at.getFullYear()}`;
}

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
