import type {
	ExtensionAPI,
	ExtensionContext,
	SessionStartEvent,
	TurnEndEvent,
	TurnEndEventResult,
} from "@earendil-works/pi-coding-agent";
import type { LoadedConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";

/** What one of the five systems tells the composition root. */
export interface System {
	/** As in the README: "read cache", "paging", … */
	name: string;
	/** On or off, and why, in words for the user. Called at any time after `start`. */
	status(): { on: boolean; why: string };
	/** Called once per session, before its first prompt. */
	start?(session: SessionStart): void | Promise<void>;
	/** What is to enter the session at the end of a turn: edits of what the model sees, and messages. */
	draftsAt?(turnEnd: TurnEndEvent, ctx: ExtensionContext): Promise<Draft[]>;
	/** Closes whatever `start` or later use opened. Called at most once per `start`. */
	stop?(): void | Promise<void>;
}

/** A session that was opened, and why: at the start of pi, anew, resumed, forked, or loaded again. */
export interface SessionStart {
	ctx: ExtensionContext;
	reason: SessionStartEvent["reason"];
}

/** The configuration in force for a session, and where it comes from. */
export type ConfigFor = (ctx: ExtensionContext) => LoadedConfig;

/** An entry that a session takes in at the end of a turn. */
export type Draft = NonNullable<TurnEndEventResult["entries"]>[number];

/** Starts all systems in order: one that fails does not keep the others off. Returns what went wrong, a line each. */
export async function startAll(
	systems: readonly System[],
	session: SessionStart,
): Promise<string[]> {
	const failures: string[] = [];
	for (const system of systems) {
		try {
			await system.start?.(session);
		} catch (error) {
			failures.push(`${system.name} could not be started: ${describeError(error)}`);
		}
	}
	return failures;
}

/** Stops all systems, the last first: one that fails does not keep the others open. Returns what went wrong, a line each. */
export async function stopAll(systems: readonly System[]): Promise<string[]> {
	const failures: string[] = [];
	for (const system of systems.toReversed()) {
		try {
			await system.stop?.();
		} catch (error) {
			failures.push(`${system.name} could not be stopped: ${describeError(error)}`);
		}
	}
	return failures;
}

/**
 * Brings the drafts of all systems into the session, by one handler: pi works the whole session out anew for each. A
 * later system sees what earlier ones have drafted.
 */
export function persistDrafts(pi: ExtensionAPI, systems: readonly System[]): void {
	pi.on("turn_end", async (event, ctx) => {
		// What other extensions have drafted stays: pi takes the list of the last handler.
		let { entries } = event;
		for (const system of systems) {
			const drafts = await system.draftsAt?.({ ...event, entries }, ctx);
			if (drafts && drafts.length > 0) entries = [...entries, ...drafts];
		}
		return entries === event.entries ? undefined : { entries };
	});
}

/** The table that `/strata` prints. */
export function systemsTable(systems: System[], warnings: string[]): string {
	const width = Math.max(0, ...systems.map(({ name }) => name.length));
	const rows = systems.map((system) => {
		const { on, why } = system.status();
		return `${on ? "on " : "off"}  ${system.name.padEnd(width)}  ${why}`;
	});
	const notes = warnings.map((warning) => `warning: ${warning}`);
	return ["pi-strata", ...rows, ...notes].join("\n");
}

/** The one line pi shows at the bottom of its screen. */
export function statusLine(systems: System[]): string {
	const on = systems.filter((system) => system.status().on).map(({ name }) => name);
	return on.length > 0 ? `strata: ${on.join(", ")}` : "strata: nothing on";
}
