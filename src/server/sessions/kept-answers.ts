import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { Command, CommandType } from "../../protocol/index.ts";
import { WrittenData } from "../engine/message.ts";
import type { LiveSession } from "./live-session.ts";

/** Inputs of an answer. Compared by identity, so objects must not change in place. */
interface Basis {
	readonly facts: readonly unknown[];
	readonly list: readonly unknown[];
}

interface KeptAnswer {
	readonly data: unknown;
	readonly written: WrittenData;
}

export interface KeptAnswers {
	/** Returns the cached answer if its basis is the same, else caches that of `make`. */
	answer(of: object, name: string, basis: Basis, make: () => unknown): KeptAnswer;
	forget(of: object): void;
	readonly bytes: number;
}

/** Fits the largest answer sent by default. */
const DEFAULT_BYTES = 192 * 2 ** 20;
/** Per session: a client could invent names without end, such as those of `since`. */
const MAX_NAMES = 16;

/** LRU cache of the answers of idle sessions. */
export function createKeptAnswers(maxBytes = DEFAULT_BYTES): KeptAnswers {
	/** Oldest first. */
	const all = new Set<Entry>();
	const bySession = new Map<object, Map<string, Entry>>();
	let bytes = 0;

	function drop(entry: Entry): void {
		all.delete(entry);
		bytes -= entry.bytes;
		const names = bySession.get(entry.of);
		names?.delete(entry.name);
		if (names?.size === 0) bySession.delete(entry.of);
	}

	function keep(entry: Entry): void {
		if (entry.bytes > maxBytes) return;
		const names = bySession.get(entry.of) ?? new Map<string, Entry>();
		bySession.set(entry.of, names.set(entry.name, entry));
		all.add(entry);
		bytes += entry.bytes;
		for (const oldest of all) {
			if (bytes <= maxBytes) break;
			drop(oldest);
		}
		const [first] = names.values();
		if (names.size > MAX_NAMES && first) drop(first);
	}

	return {
		answer(of, name, basis, make) {
			const known = bySession.get(of)?.get(name);
			if (known && isSame(known.basis.facts, basis.facts) && isSame(known.basis.list, basis.list)) {
				all.delete(known);
				all.add(known);
				return known;
			}
			if (known) drop(known);
			const data = make();
			const written = new WrittenData(JSON.stringify(data));
			const { facts, list } = basis;
			// Up to two bytes per UTF-16 unit, about one for its UTF-8.
			const bytes = written.json.length * 3 + list.length * 8;
			const entry = { of, name, basis: { facts, list: [...list] }, data, written, bytes };
			keep(entry);
			return entry;
		},
		forget(of) {
			for (const entry of [...(bySession.get(of)?.values() ?? [])]) drop(entry);
		},
		get bytes() {
			return bytes;
		},
	};
}

interface Entry extends KeptAnswer {
	readonly of: object;
	readonly name: string;
	readonly basis: Basis;
	readonly bytes: number;
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
	if (one.length !== other.length) return false;
	for (let at = 0; at < one.length; at++) if (!Object.is(one[at], other[at])) return false;
	return true;
}

/** `undefined`: not cacheable. While pi works it changes the last message in place. */
export function basisOf(
	command: Command,
	{ session, revision }: Pick<LiveSession, "session" | "revision">,
): Basis | undefined {
	if (session.isStreaming || session.isCompacting) return undefined;
	const list = BASES[command.type]?.(session);
	return list && { facts: [revision, session, ...list.facts], list: list.list };
}

export function readName(command: Command): string {
	const { id, dependsOn, ifSessionVersion, idempotencyKey, ...read } = command;
	return JSON.stringify(read);
}

const BASES: { readonly [Type in CommandType]?: (session: AgentSession) => Basis } = {
	get_messages: (session) => ({ facts: [], list: session.messages }),
	get_tree: entriesOf,
	get_entries: entriesOf,
	get_context_view: contextOf,
	get_context_piece: contextOf,
};

function entriesOf({ sessionManager }: AgentSession): Basis {
	return { facts: [sessionManager, sessionManager.getLeafId()], list: sessionManager.getEntries() };
}

/** Same inputs as `sourceOf` in `inspector.ts`. */
function contextOf(session: AgentSession): Basis {
	const { sessionManager, model, systemPrompt } = session;
	const { facts, list } = entriesOf(session);
	const tools = session
		.getAllTools()
		.flatMap(({ name, description, parameters }) => [name, description, parameters]);
	const more = [sessionManager.getCwd(), sessionManager.getHeader(), model, systemPrompt];
	return { facts: [...facts, ...more, ...session.getActiveToolNames(), ...tools], list };
}
