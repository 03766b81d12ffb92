import type { SlashCommand } from "../../protocol/index.ts";

/** What is typed of a command's name, without its slash; undefined for a text that is not just that. */
export function typedName(text: string): string | undefined {
	return /^\/(\S*)$/.exec(text)?.[1];
}

/** A list of more than this helps nobody. */
const MOST = 100;

/**
 * The commands that what is typed may become, the likeliest first: that very name, names that begin so, names of which a
 * part begins so (`pdf` for `skill:pdf`), names that have it anywhere.
 */
export function fitting(commands: readonly SlashCommand[], typed: string): SlashCommand[] {
	const sought = typed.toLowerCase();
	const byName = new Map<string, SlashCommand>();
	// Of two commands of one name the session takes the first.
	for (const command of commands) {
		if (!byName.has(command.name)) byName.set(command.name, command);
	}
	return [...byName.values()]
		.map((command) => ({ command, rank: rankOf(command.name.toLowerCase(), sought) }))
		.filter(({ rank }) => rank < NO_FIT)
		.sort((a, b) => a.rank - b.rank || (a.command.name < b.command.name ? -1 : 1))
		.slice(0, MOST)
		.map(({ command }) => command);
}

/** The prompt once a command was chosen: ready for its arguments. */
export function completed({ name }: SlashCommand): string {
	return `/${name} `;
}

const NO_FIT = 4;

function rankOf(name: string, sought: string): number {
	if (name === sought) return 0;
	const at = name.indexOf(sought);
	if (at === 0) return 1;
	if (at === -1) return NO_FIT;
	const beginsPart = [":", "-", "_", "/", "."].some((mark) => name.includes(mark + sought));
	return beginsPart ? 2 : 3;
}
