// Numbers as people read them, in few characters. The exact value belongs in a `title`.

/** Tokens in at most five characters: `812`, `1.2k`, `123k`, `1.2M`. */
export function formatTokens(tokens: number): string {
	const sign = tokens < 0 ? "−" : "";
	const size = Math.abs(tokens);
	if (size < 999.5) return `${sign}${Math.round(size)}`;
	for (const [unit, letter] of THOUSANDS) {
		const value = size / unit;
		if (value < 9.95) return `${sign}${value.toFixed(1)}${letter}`;
		if (value < 999.5) return `${sign}${Math.round(value)}${letter}`;
	}
	return `${sign}${(size / 1e12).toPrecision(2)}T`;
}

const THOUSANDS = [
	[1e3, "k"],
	[1e6, "M"],
	[1e9, "G"],
] as const;

/** A count with its thousands apart: `12,345`. */
export function formatCount(count: number): string {
	return Math.round(count).toLocaleString("en-US");
}

/** Dollars; small sums keep two digits that say something: `$0.0042`, `$0.31`, `$12.40`. */
export function formatDollars(dollars: number): string {
	const sign = dollars < 0 ? "−" : "";
	const size = Math.abs(dollars);
	if (size === 0) return "$0";
	if (size < 0.00001) return `${sign}<$0.00001`;
	if (size >= 1000) return `${sign}$${formatCount(size)}`;
	if (size >= 0.1) return `${sign}$${size.toFixed(2)}`;
	const shown = Number(size.toPrecision(2)).toLocaleString("en-US", {
		minimumFractionDigits: 2,
		maximumFractionDigits: 6,
	});
	return `${sign}$${shown}`;
}

/** A price in dollars where they are known, else in plain input tokens. */
export function formatPrice(price: { tokens: number; dollars?: number }): string {
	if (price.dollars !== undefined) return formatDollars(price.dollars);
	return `${formatTokens(price.tokens)} tokens`;
}

/** How long something took: `0.4 ms`, `12 ms`, `3.4 s`, `2 min 5 s`, `3 h 20 min`, `4 d 2 h`. */
export function formatDuration(ms: number): string {
	const time = Math.max(0, ms);
	if (time < 9.95) return `${Number(time.toFixed(1))} ms`;
	if (time < 999.5) return `${Math.round(time)} ms`;
	if (time < 9_950) return `${(time / 1000).toFixed(1)} s`;
	const seconds = Math.round(time / 1000);
	if (seconds < 60) return `${seconds} s`;
	if (seconds < 3600) return twoUnits(seconds, [60, "min"], [1, "s"]);
	if (seconds < 86_400) return twoUnits(seconds, [3600, "h"], [60, "min"]);
	return twoUnits(seconds, [86_400, "d"], [3600, "h"]);
}

type Unit = [seconds: number, name: string];

function twoUnits(seconds: number, large: Unit, small: Unit): string {
	const whole = Math.floor(seconds / large[0]);
	const rest = Math.floor((seconds % large[0]) / small[0]);
	return rest === 0 ? `${whole} ${large[1]}` : `${whole} ${large[1]} ${rest} ${small[1]}`;
}

/** How long ago a moment was, in one unit: `just now`, `40 s ago`, `3 min ago`, `2 h ago`, `5 d ago`. */
export function formatAge(sinceMs: number, nowMs: number): string {
	const seconds = Math.floor((nowMs - sinceMs) / 1000);
	if (seconds < 5) return "just now";
	if (seconds < 60) return `${seconds} s ago`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
	if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
	return `${Math.floor(seconds / 86_400)} d ago`;
}

/** Bytes in multiples of 1,024, as memory is counted: `512 B`, `1.5 MB`, `213 MB`. */
export function formatBytes(bytes: number): string {
	let value = bytes;
	let unit = "B";
	for (const next of ["kB", "MB", "GB", "TB"]) {
		if (value < 999.5) break;
		value /= 1024;
		unit = next;
	}
	return `${unit === "B" || value >= 9.95 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

/** A part of a whole, between 0 and 1 or above: `0 %`, `<1 %`, `42 %`, `130 %`. */
export function formatShare(share: number): string {
	if (!Number.isFinite(share) || share <= 0) return "0 %";
	return share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`;
}

/** A number for "of one" and for "of many": `1 miss`, `3 misses`. */
export function formatNumberOf(count: number, one: string, many = `${one}s`): string {
	return `${formatCount(count)} ${count === 1 ? one : many}`;
}
