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
