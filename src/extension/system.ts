import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

/** What one of the five systems tells the composition root. */
export interface System {
	/** As in the README: "read cache", "paging", … */
	name: string;
	/** On or off, and why, in words for the user. Called at any time after `start`. */
	status(): { on: boolean; why: string };
	/** Called once per session, before its first prompt. */
	start?(session: { ctx: ExtensionContext }): void | Promise<void>;
	/** Closes whatever `start` or later use opened. Called at most once per `start`. */
	stop?(): void | Promise<void>;
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
