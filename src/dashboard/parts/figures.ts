import { grouped, short } from "../../text/figures.ts";

export { counted as formatNumberOf, grouped as formatCount, short } from "../../text/figures.ts";

/** Formats an amount: `$0.0123`, `$0.50`, `$1.25`; zero is `$0`. */
export function dollars(amount: number): string {
	if (amount === 0) return "$0";
	const size = Math.abs(amount);
	const digits = decimalsOf(size);
	// Drops trailing zeros, but keeps two decimals.
	const text = size.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, "$1");
	return `${amount < 0 ? "−" : ""}$${text}`;
}

/**
 * Formats the amounts of one column with the same number of decimals, so that they line up. The largest
 * decides: a column that goes beyond a dollar has cents.
 */
export function dollarsAligned(
	amounts: readonly (number | undefined)[],
): (amount: number) => string {
	const largest = Math.max(0, ...amounts.map((amount) => Math.abs(amount ?? 0)));
	const digits = largest === 0 ? 2 : decimalsOf(largest);
	return (amount) => {
		const text = Math.abs(amount).toFixed(digits);
		const sign = amount < 0 ? "−" : "";
		if (amount !== 0 && Number(text) === 0) return `${sign}<$${(10 ** -digits).toFixed(digits)}`;
		return `${sign}$${text}`;
	};
}

/** The same for prices, which may be in tokens. */
export function pricesAligned(prices: readonly Parameters<typeof formatPrice>[0][]) {
	const format = dollarsAligned(prices.map((price) => price.dollars));
	return (price: Parameters<typeof formatPrice>[0]) =>
		price.dollars === undefined ? formatPrice(price) : format(price.dollars);
}

function decimalsOf(size: number): number {
	return size >= 0.995 ? 2 : size >= 0.00095 ? 4 : 6;
}

/** Formats a number of bytes: `950 B`, `12.3 kB`. */
export function bytes(count: number): string {
	const text = short(count);
	return /[kMG]$/.test(text) ? `${text.slice(0, -1)} ${text.slice(-1)}B` : `${text} B`;
}

/** Formats a duration: `340 ms`, `12 s`, `4 min`, `3 h`, `5 d`, `7 mo`, `2 y`. */
export function duration(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 60_000) return `${Math.round(ms / 1000)} s`;
	if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
	if (ms < 86_400_000) return `${Math.round(ms / 3_600_000)} h`;
	const days = Math.round(ms / 86_400_000);
	if (days < 60) return `${days} d`;
	return days < 730 ? `${Math.floor(days / 30.44)} mo` : `${Math.floor(days / 365.25)} y`;
}

/** Formats a past time: `just now`, `4 min ago`. A future time is `just now`, an invalid time `–`. */
export function ago(atMs: number, nowMs: number): string {
	const ms = nowMs - atMs;
	if (!Number.isFinite(ms)) return "–";
	return ms < 10_000 ? "just now" : `${duration(ms)} ago`;
}

export function baseName(path: string): string {
	return path.split(/[\\/]/).filter(Boolean).at(-1) ?? path;
}

export function shortPath(path: string): string {
	const names = path.split(/[\\/]/).filter(Boolean);
	return names.length <= 2 ? path : `…/${names.slice(-2).join("/")}`;
}

export function formatPrice(price: { tokens: number; dollars?: number | undefined }): string {
	return price.dollars === undefined ? `${short(price.tokens)} tokens` : dollars(price.dollars);
}

/** Formats a share (0 to 1): `0 %`, `<1 %`, `42 %`. A small share is not rounded down to zero. */
export function formatShare(share: number): string {
	if (!Number.isFinite(share) || share <= 0) return "0 %";
	return share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`;
}

/** Compares `cost` with `other`: `29 % less`, `12 % more`, `the same`. */
export function formatDifference(cost: number, other: number): string {
	const change = other > 0 ? cost / other - 1 : 0;
	if (Math.abs(change) < 0.0005) return "the same";
	const percent = Math.abs(change) * 100;
	const size = percent < 9.95 ? percent.toFixed(1) : grouped(percent);
	return `${size} % ${change < 0 ? "less" : "more"}`;
}

export function formatLatency(ms: number): string {
	return ms < 9.95 ? `${Number(Math.max(0, ms).toFixed(1))} ms` : duration(ms);
}

/** The server's errors name its commands and fields, for programs. People have the page. */
function plainWords(text: string): string {
	return text
		.replace(/(?:[:;.] ?|,? )[Ss]ee (?:get|list)_\w+(?=$|[.;,])/, "")
		.replace(/^set_\w+: `(\w+)` /, "The $1 ")
		.replace(
			/: set streamingBehavior .*$/,
			": send the message again to queue it, or stop the run first",
		);
}

export function errorMessage(error: unknown): string {
	return plainWords(error instanceof Error ? error.message : String(error));
}
