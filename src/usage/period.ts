/** Days and weeks in local time. Arithmetic is on calendar days, since some have 23 or 25 hours. */

/** Format: `2026-11-16`. */
export function dayOf(ms: number): string {
	return named(new Date(ms));
}

/** The Monday of the week of a day, in the same format. */
export function weekOf(day: string): string {
	const date = dateOf(day);
	const sinceMonday = (date.getDay() + 6) % 7;
	return named(new Date(date.getFullYear(), date.getMonth(), date.getDate() - sinceMonday));
}

/** Midnight at the beginning of the day that is `daysAgo` days before the one of `nowMs`. */
export function startOfDay(nowMs: number, daysAgo = 0): number {
	const now = new Date(nowMs);
	return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
}

/** From `7d` (today and the six days before) or `2026-11-01`; `undefined` if it is neither. */
export function sinceOf(text: string, nowMs: number): number | undefined {
	const days = /^(\d{1,4})d$/.exec(text)?.[1];
	if (days !== undefined) return Number(days) > 0 ? startOfDay(nowMs, Number(days) - 1) : undefined;
	if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined;
	const date = dateOf(text);
	return named(date) === text ? date.getTime() : undefined; // 2026-02-30 is none
}

function dateOf(day: string): Date {
	const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
	return new Date(year, month - 1, date);
}

function named(date: Date): string {
	const padded = (value: number, length = 2) => String(value).padStart(length, "0");
	return `${padded(date.getFullYear(), 4)}-${padded(date.getMonth() + 1)}-${padded(date.getDate())}`;
}
