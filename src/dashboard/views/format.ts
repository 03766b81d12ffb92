import { grouped } from "../../text/figures.ts";
import { dollars, duration, short } from "../parts/figures.ts";

export { counted as formatNumberOf, grouped as formatCount } from "../../text/figures.ts";

/** A price in dollars where they are known, else in plain input tokens. */
export function formatPrice(price: { tokens: number; dollars?: number | undefined }): string {
	return price.dollars === undefined ? `${short(price.tokens)} tokens` : dollars(price.dollars);
}

/** A part of a whole, between 0 and 1 or above; something is never shown as nothing: `0 %`, `<1 %`, `42 %`. */
export function formatShare(share: number): string {
	if (!Number.isFinite(share) || share <= 0) return "0 %";
	return share < 0.005 ? "<1 %" : `${Math.round(share * 100)} %`;
}

/** What something costs compared with something else: `29 % less`, `12 % more`, `the same`. */
export function formatDifference(cost: number, other: number): string {
	const change = other > 0 ? cost / other - 1 : 0;
	if (Math.abs(change) < 0.0005) return "the same";
	const percent = Math.abs(change) * 100;
	const size = percent < 9.95 ? percent.toFixed(1) : grouped(percent);
	return `${size} % ${change < 0 ? "less" : "more"}`;
}

/** How long the server took: like a duration, with tenths of the few milliseconds that are usual. */
export function formatLatency(ms: number): string {
	return ms < 9.95 ? `${Number(Math.max(0, ms).toFixed(1))} ms` : duration(ms);
}
