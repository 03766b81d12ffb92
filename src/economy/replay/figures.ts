/** 0.61 or 12.3 */
export function times(ratio: number): string {
	return ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2);
}

export function money(dollars: number | undefined): string {
	return dollars === undefined ? "" : `$${dollars.toFixed(2)}`;
}

export function percent(share: number): string {
	return `${share < 0 ? "−" : "+"}${Math.abs(share * 100).toFixed(2)} %`;
}

/** UTC, as in the session file. */
export function clock(ms: number): string {
	const date = new Date(ms);
	return Number.isNaN(date.getTime()) ? "?" : date.toISOString().slice(0, 19).replace("T", " ");
}

/** `1.23 M`, `45.6 k`, `789` */
export function short(count: number): string {
	if (count < 999.5) return String(Math.round(count));
	const power = UNITS.findIndex((_, at) => count < 999.5 * 1000 ** at);
	const at = power === -1 ? UNITS.length - 1 : power;
	return `${(count / 1000 ** at).toPrecision(3)}${UNITS[at]}`;
}

const UNITS = ["", " k", " M", " G", " T"];
