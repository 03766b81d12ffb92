import { type ReadonlySignal, signal } from "@preact/signals";
import type { SlashCommand } from "../../protocol/index.ts";

/** The commands that `prompt` understands in a session. They are asked for when somebody first wants one. */
export interface CommandList {
	/** Undefined until they are known; older ones stay until newer ones are there. */
	readonly commands: ReadonlySignal<readonly SlashCommand[] | undefined>;
	/** Somebody may choose one now. Asks, unless what is known still holds or a question is under way. */
	want(): void;
	/** They may be others now: whoever wants one next makes it ask again. */
	outdate(): void;
}

/** Nothing is asked before the first `want`. A question that fails is asked again by the next one. */
export function createCommandList(ask: () => Promise<readonly SlashCommand[]>): CommandList {
	const commands = signal<readonly SlashCommand[] | undefined>(undefined);
	let isAsking = false;
	/** Nothing has changed since the latest question. */
	let holds = false;

	async function want(): Promise<void> {
		if (holds || isAsking) return;
		isAsking = true;
		holds = true;
		try {
			commands.value = await ask();
		} catch {
			holds = false; // a prompt box without proposals is still a prompt box
			return;
		} finally {
			isAsking = false;
		}
		// They changed while the question was under way.
		void want();
	}

	return {
		commands,
		want: () => void want(),
		outdate() {
			holds = false;
		},
	};
}

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
