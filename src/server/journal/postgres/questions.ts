import type { Later } from "../../../core/later.ts";
import {
	type CommandHistoryEntry,
	type CommandHistoryQuery,
	type CommandName,
	interrupted,
	KEY_LIFE_MS,
	type StoredCommand,
	type StreamEvent,
	type StreamName,
} from "../journal.ts";
import type { Uncommitted } from "../uncommitted.ts";
import type { DatabaseReader, FoundCommand } from "./reader.ts";
import type { RecentEvents } from "./recent-events.ts";
import { explained } from "./records.ts";

interface QuestionsOptions {
	readonly uncommitted: Uncommitted;
	readonly reader: DatabaseReader;
	readonly recent: RecentEvents;
	nodeId(): string;
	now(): number;
}

/** Answers from the database, and from records that are on their way into it. */
export class Questions {
	readonly #options: QuestionsOptions;

	constructor(options: QuestionsOptions) {
		this.#options = options;
	}

	async owners(conversations: readonly string[]): Promise<ReadonlyMap<string, string>> {
		const stored = await explained(this.#options.reader.owners(conversations));
		const owners = new Map<string, string>();
		for (const conversation of conversations) {
			const owner = this.#options.uncommitted.owner(conversation, stored.get(conversation));
			if (owner !== undefined) owners.set(conversation, owner);
		}
		return owners;
	}

	async hasOtherOwner(principal: string): Promise<boolean> {
		if (this.#options.uncommitted.hasOtherOwner(principal)) return true;
		return explained(this.#options.reader.hasOtherOwner(principal));
	}

	async find(names: readonly CommandName[]): Promise<(StoredCommand | undefined)[]> {
		const answers = names.map((name) => this.#uncommitted(name));
		const asked = names.filter((name, index) => !answers[index] && !this.#isGone(name));
		if (asked.length > 0) {
			const found = await explained(this.#options.reader.find(asked));
			let next = 0;
			for (const [index, name] of names.entries()) {
				if (asked[next] === name) answers[index] = this.#stored(name, found[next++]);
			}
		}
		return names.map((name, index) => this.#whileItCounts(name, answers[index]));
	}

	#uncommitted(name: CommandName): StoredCommand | undefined {
		const { uncommitted } = this.#options;
		if ("id" in name) return uncommitted.command(name.principal, name.id);
		return uncommitted.byKey(name, name.key);
	}

	/** The keys of a session that is being removed are gone with it. */
	#isGone(name: CommandName): boolean {
		if ("id" in name || name.sessionId === undefined) return false;
		const { principal, sessionId } = name;
		return this.#options.uncommitted.removalEnd({ principal, sessionId }) !== undefined;
	}

	#stored(name: CommandName, found: FoundCommand | undefined): StoredCommand | undefined {
		if ("id" in name || !found) return this.#settled(found);
		// The database may have only the admission of a command whose outcome is in memory.
		return this.#options.uncommitted.command(found.principal, found.id) ?? this.#settled(found);
	}

	/** A key finds a finished command for some time only. */
	#whileItCounts(name: CommandName, found: StoredCommand | undefined): StoredCommand | undefined {
		if ("id" in name || !found || found.elsewhere) return found;
		const since = this.#options.now() - KEY_LIFE_MS;
		return found.finishedAtMs !== undefined && found.finishedAtMs > since ? found : undefined;
	}

	/** A command without outcome runs on another server, or was this one's, and ended without one. */
	#settled(found: FoundCommand | undefined): StoredCommand | undefined {
		if (!found) return undefined;
		const { node, ...command } = found;
		if (command.response) return command;
		if (node === this.#options.nodeId()) return interrupted(command, this.#options.now());
		return { ...command, elsewhere: true, unsaved: true };
	}

	/** At once, if the last events are in memory. */
	events(stream: StreamName, after: number, limit: number): Later<StreamEvent[]> {
		const isGone = this.#options.uncommitted.removalEnd(stream) !== undefined;
		const recent = isGone ? undefined : this.#options.recent.after(stream, after, limit);
		if (!recent) return this.#storedEvents(stream, after, limit);
		const last = recent.at(-1)?.seq ?? after;
		const next = this.#options.uncommitted.events(stream).filter(({ seq }) => seq > last);
		return [...recent, ...next].slice(0, limit);
	}

	async #storedEvents(stream: StreamName, after: number, limit: number): Promise<StreamEvent[]> {
		const uncommitted = this.#options.uncommitted.events(stream);
		const isGone = this.#options.uncommitted.removalEnd(stream) !== undefined;
		const events = isGone ? [] : await explained(this.#options.reader.events(stream, after, limit));
		if (events.length >= limit || uncommitted.length === 0) return events;
		const last = events.at(-1)?.seq ?? after;
		const lastStored = isGone ? 0 : (await explained(this.#options.reader.extent(stream))).last;
		const next = uncommitted.find(({ seq }) => seq > last)?.seq;
		// A page of large events may end early, so the next event may be in the database.
		if (last < lastStored && next !== last + 1) return events;
		for (const event of uncommitted) {
			if (event.seq > last && events.length < limit) events.push(event);
		}
		return events;
	}

	async extent(stream: StreamName): Promise<{ first: number; last: number }> {
		const uncommitted = this.#options.uncommitted.events(stream);
		const removalEnd = this.#options.uncommitted.removalEnd(stream);
		const { first, last } =
			removalEnd === undefined
				? await explained(this.#options.reader.extent(stream))
				: { first: removalEnd && removalEnd + 1, last: removalEnd };
		const oldest = uncommitted[0]?.seq;
		const newest = uncommitted.at(-1)?.seq;
		if (oldest === undefined || newest === undefined) return { first, last };
		const isKept = first > 0 && first <= last;
		return { first: isKept ? first : oldest, last: Math.max(last, newest) };
	}

	async commandHistory(query: CommandHistoryQuery): Promise<CommandHistoryEntry[]> {
		const pending = this.#options.uncommitted.mergeCommandHistory([], {
			...query,
			limit: Infinity,
		});
		const stored = await explained(this.#options.reader.commandHistory(query));
		const known = new Set(pending.map(({ commandId }) => commandId));
		return [...pending, ...stored.filter(({ commandId }) => !known.has(commandId))]
			.sort((a, b) => b.atMs - a.atMs)
			.slice(0, query.limit);
	}
}
