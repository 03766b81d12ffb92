import { setTimeout as sleep } from "node:timers/promises";
import type { Journal } from "../journal/journal.ts";
import type { RoutedCommand } from "./routes.ts";

interface CommandsInFlightOptions {
	readonly journal: Pick<Journal, "find">;
	/** How long a command waits for one that came in by another server. */
	readonly maxMs: number;
	/** Whether this server's engine runs the command, or is to run it. */
	isHere(command: RoutedCommand): boolean;
	/** Called when the last dependency of a command has ended. */
	onUnblocked(command: RoutedCommand): void;
}

const POLL_MS = 100;

/**
 * Commands of this server's clients without response, by id. A command that depends on one of another server waits
 * here until that has ended: the servers of the two sessions do not know each other's commands.
 */
export class CommandsInFlight {
	readonly #options: CommandsInFlightOptions;
	readonly #byId = new Map<string, RoutedCommand>();

	constructor(options: CommandsInFlightOptions) {
		this.#options = options;
	}

	add(command: RoutedCommand): void {
		const key = keyOf(command);
		if (key !== undefined) this.#byId.set(key, command);
	}

	remove(command: RoutedCommand): void {
		const key = keyOf(command);
		if (key !== undefined && this.#byId.get(key) === command) this.#byId.delete(key);
		for (const dependent of command.dependents ?? []) this.#unblock(dependent, command);
	}

	holdBack(command: RoutedCommand, ids: readonly string[]): void {
		const { principal } = command.client;
		const { isHere } = this.#options;
		const waitsFor: RoutedCommand["waitsFor"] = new Set();
		const unknown: string[] = [];
		for (const id of new Set(ids)) {
			const found = this.#byId.get(idKey(principal, id));
			if (!found) unknown.push(id);
			// One server that has both keeps the order itself.
			if (!found || found.route === command.route || (isHere(found) && isHere(command))) continue;
			waitsFor.add(found);
			found.dependents ??= new Set();
			found.dependents.add(command);
		}
		if (unknown.length > 0) {
			waitsFor.add("elsewhere");
			void this.#whenEnded(principal, unknown).then(() => this.#unblock(command, "elsewhere"));
		}
		if (waitsFor.size > 0) command.waitsFor = waitsFor;
	}

	#unblock(command: RoutedCommand, by: RoutedCommand | "elsewhere"): void {
		command.waitsFor?.delete(by);
		if (command.waitsFor?.size === 0) this.#options.onUnblocked(command);
	}

	/** Waits for commands that came in by other servers. What the journal does not know, the engine refuses. */
	async #whenEnded(principal: string, ids: readonly string[]): Promise<void> {
		const { journal, maxMs } = this.#options;
		const names = ids.map((id) => ({ principal, id }));
		const until = performance.now() + maxMs;
		while (performance.now() < until) {
			const found = await Promise.resolve(journal.find(names)).catch(() => []);
			if (!found.some((command) => command?.elsewhere)) return;
			await sleep(POLL_MS, undefined, { ref: false });
		}
	}
}

function keyOf({ client, frame }: RoutedCommand): string | undefined {
	const { id } = frame.command;
	return id === undefined ? undefined : idKey(client.principal, id);
}

/** A principal's name has no space. */
function idKey(principal: string, id: string): string {
	return `${principal} ${id}`;
}
