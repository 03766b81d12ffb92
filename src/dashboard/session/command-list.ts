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
