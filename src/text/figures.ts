/** Format: `12,345`. */
export function grouped(count: number): string {
	const digits = String(Math.round(count));
	if (digits.length < 4) return digits;
	return digits.replace(/\B(?=(?:\d{3})+$)/g, ","); // `toLocaleString` is slower: it takes microseconds
}

/** Format: `1 session`, `1,200 sessions`. */
export function counted(count: number, one: string, many = `${one}s`): string {
	return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** Format: `950`, `12.3k`, `1.2M`. */
export function short(count: number): string {
	const size = Math.abs(count);
	if (size < 999.5) return String(Math.round(count));
	if (size < 999_500) return `${scaled(count / 1000)}k`;
	if (size < 999_500_000) return `${scaled(count / 1e6)}M`;
	return `${scaled(count / 1e9)}G`;
}

/** Format: `$1,234.50`, `$0.042`, `−$0.05`; `<$0.001` for less. */
export function money(dollars: number): string {
	const size = Math.abs(dollars);
	const sign = dollars < 0 ? "−" : "";
	if (size === 0) return "$0.00";
	if (size < 0.0005) return dollars < 0 ? "−<$0.001" : "<$0.001";
	if (size < 0.0995) return `${sign}$${size.toFixed(3)}`;
	const [whole = "", cents] = size.toFixed(2).split(".");
	return `${sign}$${grouped(Number(whole))}.${cents}`;
}

export function megabytes(bytes: number): string {
	return `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

function scaled(value: number): string {
	return Math.abs(value) < 99.95 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0);
}
