/** Rows laid upon each other: each is the sum of itself and all before it, which is what a stacked chart draws. */
export function stacked(rows: readonly (readonly number[])[]): number[][] {
	const sums: number[] = [];
	return rows.map((row) =>
		row.map((value, at) => {
			const sum = (sums[at] ?? 0) + (Number.isFinite(value) ? value : 0);
			sums[at] = sum;
			return sum;
		}),
	);
}
