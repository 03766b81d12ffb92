import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { Command, CommandType } from "../../protocol/index.ts";
import { WrittenData } from "../engine/message.ts";
import type { LiveSession } from "./live-session.ts";

/** Inputs of an answer. Compared by identity, so objects must not change in place. */
interface AnswerInputs {
	readonly values: readonly unknown[];
	readonly list: readonly unknown[];
}

interface CachedAnswer {
	readonly owner: object;
	readonly key: string;
	readonly inputs: AnswerInputs;
	readonly data: unknown;
	readonly written: WrittenData;
	readonly bytes: number;
}

/** Default size limit of the cache. The largest answer that the default limits allow fits. */
const DEFAULT_BYTES = 192 * 2 ** 20;
/** Maximum answers per session. A client can invent endless keys, such as values of `since`. */
const MAX_KEYS = 16;

/** LRU cache of answers to reads in idle sessions. */
export class AnswerCache {
	readonly #maxBytes: number;
	/** Least recently used first. */
	readonly #all = new Set<CachedAnswer>();
	readonly #byOwner = new Map<object, Map<string, CachedAnswer>>();
	#bytes = 0;

	constructor(maxBytes = DEFAULT_BYTES) {
		this.#maxBytes = maxBytes;
	}

	get bytes(): number {
		return this.#bytes;
	}

	/** Returns the cached answer if its inputs are the same; otherwise computes and caches it. */
	answer(owner: object, key: string, inputs: AnswerInputs, compute: () => unknown) {
		const cached = this.#byOwner.get(owner)?.get(key);
		if (cached && isSame(cached.inputs, inputs)) {
			this.#all.delete(cached);
			this.#all.add(cached);
			return { data: cached.data, written: cached.written };
		}
		if (cached) this.#drop(cached);
		const data = compute();
		const written = new WrittenData(JSON.stringify(data));
		const list = [...inputs.list];
		// Estimated per UTF-16 unit: two bytes in the string, one in its UTF-8 form.
		const bytes = written.json.length * 3 + list.length * 8;
		this.#store({ owner, key, inputs: { ...inputs, list }, data, written, bytes });
		return { data, written };
	}

	evict(owner: object): void {
		for (const answer of [...(this.#byOwner.get(owner)?.values() ?? [])]) this.#drop(answer);
	}

	#store(answer: CachedAnswer): void {
		if (answer.bytes > this.#maxBytes) return;
		const own = this.#byOwner.get(answer.owner) ?? new Map<string, CachedAnswer>();
		this.#byOwner.set(answer.owner, own.set(answer.key, answer));
		this.#all.add(answer);
		this.#bytes += answer.bytes;
		for (const oldest of this.#all) {
			if (this.#bytes <= this.#maxBytes) break;
			this.#drop(oldest);
		}
		const [first] = own.values();
		if (own.size > MAX_KEYS && first) this.#drop(first);
	}

	#drop(answer: CachedAnswer): void {
		this.#all.delete(answer);
		this.#bytes -= answer.bytes;
		const own = this.#byOwner.get(answer.owner);
		own?.delete(answer.key);
		if (own?.size === 0) this.#byOwner.delete(answer.owner);
	}
}

function isSame(one: AnswerInputs, other: AnswerInputs): boolean {
	return areIdentical(one.values, other.values) && areIdentical(one.list, other.list);
}

function areIdentical(one: readonly unknown[], other: readonly unknown[]): boolean {
	if (one.length !== other.length) return false;
	for (let at = 0; at < one.length; at++) if (!Object.is(one[at], other[at])) return false;
	return true;
}

export function cacheKeyOf(command: Command): string {
	const { id, dependsOn, ifSessionVersion, idempotencyKey, ...read } = command;
	return JSON.stringify(read);
}

/** Returns `undefined` if not cacheable: a working pi changes the last message in place. */
export function answerInputs(
	command: Command,
	{ session, revision }: LiveSession,
): AnswerInputs | undefined {
	if (session.isStreaming || session.isCompacting) return undefined;
	const own = INPUTS[command.type]?.(session);
	return own && { values: [revision, session, ...own.values], list: own.list };
}

const INPUTS: { readonly [Type in CommandType]?: (session: AgentSession) => AnswerInputs } = {
	get_messages: (session) => ({ values: [], list: session.messages }),
	get_tree: entriesOf,
	get_entries: entriesOf,
	get_context_view: contextOf,
	get_context_piece: contextOf,
};

function entriesOf({ sessionManager }: AgentSession): AnswerInputs {
	const values = [sessionManager, sessionManager.getLeafId()];
	return { values, list: sessionManager.getEntries() };
}

/** The inputs that `contextSource` reads. */
function contextOf(session: AgentSession): AnswerInputs {
	const { sessionManager, model, systemPrompt } = session;
	const { values, list } = entriesOf(session);
	const tools = session
		.getAllTools()
		.flatMap(({ name, description, parameters }) => [name, description, parameters]);
	const more = [sessionManager.getCwd(), sessionManager.getHeader(), model, systemPrompt];
	return { values: [...values, ...more, ...session.getActiveToolNames(), ...tools], list };
}
