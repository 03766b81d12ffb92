import { type ReadonlySignal, signal } from "@preact/signals";
import type { Data } from "../../protocol/index.ts";

/** The commands that `prompt` understands in a session, fetched on demand. */
export interface CommandList {
	/** Undefined until they are known. */
	readonly commands: ReadonlySignal<readonly Data<"SlashCommand">[] | undefined>;
	/** Fetches them unless they are up to date or in flight. */
	want(): void;
	/** Marks them as out of date. */
	outdate(): void;
}

/** A failed request is repeated by the next `want`. */
export function createCommandList(
	ask: () => Promise<readonly Data<"SlashCommand">[]>,
): CommandList {
	const commands = signal<readonly Data<"SlashCommand">[] | undefined>(undefined);
	let isAsking = false;
	/** Up to date, or in flight and not outdated since. */
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

/** The typed name of a command without its slash; undefined for any other text. */
export function typedName(text: string): string | undefined {
	return /^\/(\S*)$/.exec(text)?.[1];
}

const MOST = 100;

/** The best first: the same name, names that begin so, names with a part that begins so (`pdf` for `skill:pdf`), others that contain it. */
export function fitting(
	commands: readonly Data<"SlashCommand">[],
	typed: string,
): Data<"SlashCommand">[] {
	const sought = typed.toLowerCase();
	const byName = new Map<string, Data<"SlashCommand">>();
	// The session takes the first of two commands of one name.
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

export function completed({ name }: Data<"SlashCommand">): string {
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
