/**
 * Scales amounts so that they are whole numbers with exactly the given sum. The parts that rounding takes
 * go to the amounts with the largest remainders. Amounts that are all 0 stay 0.
 */
export function apportioned(amounts: readonly number[], total: number): number[] {
	const sum = amounts.reduce((before, amount) => before + amount, 0);
	if (!(sum > 0) || !(total >= 0)) return amounts.map(() => 0);
	const exact = amounts.map((amount) => (amount * total) / sum);
	const whole = exact.map(Math.floor);
	let left = Math.round(total) - whole.reduce((before, amount) => before + amount, 0);
	const byRemainder = exact
		.map((amount, at) => ({ at, remainder: amount - Math.floor(amount) }))
		.sort((a, b) => b.remainder - a.remainder || a.at - b.at);
	for (const { at } of byRemainder) {
		if (left-- <= 0) break;
		whole[at] = (whole[at] ?? 0) + 1;
	}
	return whole;
}
