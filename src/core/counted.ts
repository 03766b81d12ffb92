/** A number with its noun: `1 session`, `12 sessions`; `many` where the plural is not made with an s. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${count} ${count === 1 ? one : many}`;
}
