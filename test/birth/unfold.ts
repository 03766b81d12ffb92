/**
 * Written from docs/birth.md alone: says what is wrong with a quiet text, line by line, given the lines of
 * the output that it stands for.
 */
export function wrongIn(shown: readonly string[], plain: readonly string[]): string | undefined {
	let at = 0;
	for (const line of shown) {
		const folded = foldedLines(line);
		if (folded === undefined) {
			if (line !== plain[at]) return `line ${at} became ${JSON.stringify(line)}`;
			at++;
			continue;
		}
		const end = at + folded;
		if (end > plain.length - TAIL) return `the tail is folded from line ${at} on`;
		for (; at < end; at++) {
			const wrong = wrongFold(line, plain, at);
			if (wrong !== undefined) return wrong;
		}
	}
	return at === plain.length ? undefined : `lines are missing from ${at} on`;
}

const TAIL = 20;
const NEAR = 2;

/** `undefined` for a line that is no fold. */
function foldedLines(line: string): number | undefined {
	const [start, count = "", more] = line.split(" ");
	return start === "[strata:" && more === "more" ? Number(count.replaceAll(",", "")) : undefined;
}

function wrongFold(fold: string, plain: readonly string[], at: number): string | undefined {
	const [line, above] = [plain[at] as string, plain[at - 1] as string];
	const isEqualFold = fold.includes(" equal to the line above");
	if (isEqualFold && line !== above) return `line ${at} is not equal to the one above`;
	if (withoutNumbers(line) !== withoutNumbers(above)) return `line ${at} has other words`;
	for (let near = at - NEAR; near <= at + NEAR; near++) {
		if (/error|warning/i.test(plain[near] ?? "")) return `line ${at} is near a problem`;
	}
	return isEqualFold ? undefined : wrongNumbers(line, above, plain[at + 1] as string, at);
}

function withoutNumbers(line: string): string {
	return line.replaceAll(/ *\d+/g, "0");
}

/** A number that varies is in a step with its neighbours, or has a unit or total, or is of a time or date. */
function wrongNumbers(line: string, above: string, below: string, at: number) {
	const [before, after] = [above.match(/\d+/g) ?? [], below.match(/\d+/g) ?? []];
	for (const [index, match] of [...line.matchAll(/\d+/g)].entries()) {
		const number = Number(match[0]);
		const isStep = number - Number(before[index]) === Number(after[index]) - number;
		const isMeasured = MEASURED.test(line.slice(match.index));
		if (!isStep && !isMeasured) return `line ${at} is data: ${line}`;
	}
	return undefined;
}

/** The units, totals, times and dates of the game. */
const MEASURED = /^(?:\d+(?: ?(?:%|ms|kB|B)|\/40| of 40)|\d\d?:05:06|\d{4}-11-16)/;
