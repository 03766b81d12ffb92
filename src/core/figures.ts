/** A whole number for people: `12,345`. */
export function grouped(count: number): string {
	const digits = String(Math.round(count));
	if (digits.length < 4) return digits;
	return digits.replace(/\B(?=(?:\d{3})+$)/g, ","); // toLocaleString takes microseconds
}

/** A number with its noun: `1 session`, `1,200 sessions`; `many` where the plural is not made with an s. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** A count in few digits: `1.23 M`, `45.6 k`, `789`. */
export function short(count: number): string {
	if (count < 999.5) return String(Math.round(count));
	const power = UNITS.findIndex((_, at) => count < 999.5 * 1000 ** at);
	const at = power === -1 ? UNITS.length - 1 : power;
	return `${(count / 1000 ** at).toPrecision(3)}${UNITS[at]}`;
}

/** Bytes as `3.5 MB`, of 1024 × 1024 each. */
export function megabytes(bytes: number): string {
	return `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

const UNITS = ["", " k", " M", " G", " T"];
