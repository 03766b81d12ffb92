/** Colours of a terminal, by what they mean. */
export interface Colours {
	heading(text: string): string;
	path(text: string): string;
	place(text: string): string;
	match(text: string): string;
	good(text: string): string;
	warning(text: string): string;
	bad(text: string): string;
	/** Less important text. */
	soft(text: string): string;
}

const CODES: Readonly<Record<keyof Colours, readonly [on: number, off: number]>> = {
	heading: [1, 22],
	path: [35, 39],
	place: [32, 39],
	match: [1, 22],
	good: [32, 39],
	warning: [33, 39],
	bad: [31, 39],
	soft: [2, 22],
};

const plain = (text: string) => text;

/** With `isColoured` false, every text stays as it is. */
export function coloursFor(isColoured: boolean | undefined): Colours {
	const entries = Object.entries(CODES).map(([name, [on, off]]) => [
		name,
		isColoured ? (text: string) => `\u001b[${on}m${text}\u001b[${off}m` : plain,
	]);
	return Object.fromEntries(entries);
}

/** NO_COLOR comes first, then FORCE_COLOR; otherwise a terminal gets colours. */
export function wantsColours(env: NodeJS.ProcessEnv, isTerminal: boolean): boolean {
	if (env.NO_COLOR) return false;
	const forced = env.FORCE_COLOR;
	if (forced !== undefined && forced !== "") return forced !== "0" && forced !== "false";
	return isTerminal && env.TERM !== "dumb";
}
