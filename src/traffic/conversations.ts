import { getOrAdd } from "../core/get-or-add.ts";
import {
	type Conversation,
	type Prefix,
	piecesOf,
	type SentRequest,
	sharesCache,
} from "./sent-request.ts";
import { type Comparison, stepOf } from "./step.ts";
import { chainHash, type Head, isByModel, type TracedRequest, type TracePiece } from "./trace.ts";

/** Where a request belongs, and what it is to be compared with. */
export interface Place extends Comparison {
	readonly conversation: Conversation;
	/** The request of the conversation with the longest common start, and its pieces of messages. */
	readonly base?: SentRequest;
	readonly shared: number;
}

interface ConversationLimits {
	readonly maxConversations: number;
	/** Pieces of messages, over all conversations. */
	readonly maxPrefixes: number;
}

const DEFAULT_LIMITS: ConversationLimits = { maxConversations: 256, maxPrefixes: 30_000 };
/** What remains after an eviction, so that not each request evicts. */
const KEPT_SHARE = 0.75;
/** Requests with the same messages; agents repeat one some times. */
const MAX_ENDS = 8;
const MAX_NAMES = 16;
const MAX_HEADS = 8;
/** Models and upstreams of one conversation whose latest requests are known. */
const MAX_CACHES = 4;

/**
 * Sorts requests into conversations by their messages: a request belongs where it extends what was
 * sent before furthest. Tools and system prompt are compared, but a shared one makes no conversation.
 */
export class Conversations {
	readonly #limits: ConversationLimits;
	/** By the hash of their chain. */
	readonly #prefixes = new Map<string, Prefix>();
	/** By the names that agents give; the latest used is last. */
	readonly #named = new Map<string, Set<Conversation>>();
	readonly #all = new Set<Conversation>();

	constructor(limits: Partial<ConversationLimits> = {}) {
		this.#limits = { ...DEFAULT_LIMITS, ...limits };
	}

	/** Whether the conversation with this number in the book is in memory. */
	has(id: number): boolean {
		return [...this.#all].some((one) => one.id === id);
	}

	get size() {
		return { conversations: this.#all.size, prefixes: this.#prefixes.size };
	}

	/** Decides without a change. The conversation is a new one if none fits. */
	place(request: TracedRequest): Place {
		const path = this.#knownPath(request);
		const found = conversationOn(path, request) ?? this.#namesake(request);
		if (!found) {
			const step = request.isPartial ? "partial" : "start";
			return { conversation: begun(request, path), step, shared: 0 };
		}
		const common = path.findLast(({ users }) => users.has(found));
		const base = common?.users.get(found)?.latest;
		const shared = { ...(base && { base }), shared: common?.length ?? 0 };
		return { conversation: found, ...stepOf(found, path, request), ...shared };
	}

	/** Adds a request to the conversation in which it belongs. */
	add(request: TracedRequest, conversation: Conversation): SentRequest {
		const { messages, speaker: _, cacheKey: __, ...rest } = request;
		this.#touch(conversation, request);
		const path = request.isPartial ? [] : this.#extendPath(request);
		const isCaching =
			(request.tokens?.read ?? 0) > 0 ||
			conversation.billed.some((one) => one.isCaching && sharesCache(one, request));
		const sent: SentRequest = {
			...{ ...rest, isCaching },
			head: knownHead(conversation, request.head),
			...{ id: 0, conversation, end: path.at(-1), usedMs: request.startedMs },
		};
		for (const prefix of path) {
			const billed = withLatest(prefix.users.get(conversation)?.billed ?? [], sent);
			prefix.users.set(conversation, { latest: sent, billed });
			for (const used of prefix.ends) {
				const isRead = sent.tokens && used.head.hash === sent.head.hash;
				if (isRead && sharesCache(used, sent)) used.usedMs = Math.max(used.usedMs, sent.startedMs);
			}
		}
		sent.end?.ends.push(sent);
		if (sent.end && sent.end.ends.length > MAX_ENDS) sent.end.ends.shift();
		if (!request.isPartial) {
			conversation.latest = sent;
			conversation.billed = withLatest(conversation.billed, sent);
		}
		this.#evict(conversation);
		return sent;
	}

	#knownPath(request: TracedRequest): Prefix[] {
		const path: Prefix[] = [];
		if (request.isPartial) return path;
		let chain: string = request.format;
		for (const piece of request.messages) {
			chain = chainHash(chain, piece);
			const prefix = this.#prefixes.get(chain);
			if (!prefix) break;
			path.push(prefix);
		}
		return path;
	}

	#extendPath(request: TracedRequest): Prefix[] {
		const path: Prefix[] = [];
		let chain: string = request.format;
		for (const piece of request.messages) {
			chain = chainHash(chain, piece);
			const before = path.at(-1);
			const prefix = getOrAdd(this.#prefixes, chain, () => ({
				...{ before, piece },
				length: (before?.length ?? 0) + 1,
				bytes: (before?.bytes ?? 0) + piece.bytes,
				isLived: before?.isLived === true || isByModel(piece),
				users: new Map(),
				ends: [],
			}));
			path.push(prefix);
		}
		return path;
	}

	/**
	 * The latest used conversation that the agent calls by the same names, with similar tools and the
	 * same instructions: those of a sub-agent that has no name of its own differ.
	 */
	#namesake(request: TracedRequest): Conversation | undefined {
		const name = nameOf(request);
		if (name === undefined) return undefined;
		return [...(this.#named.get(name) ?? [])].findLast(
			(one) => request.isPartial || hasKnownInstructions(one, request),
		);
	}

	#touch(conversation: Conversation, request: TracedRequest): void {
		const { names } = conversation;
		conversation.usedMs = Math.max(conversation.usedMs, request.startedMs);
		this.#all.delete(conversation);
		this.#all.add(conversation);
		const name = nameOf(request);
		if (name !== undefined && names.size < MAX_NAMES) names.add(name);
		for (const name of names) {
			const namesakes = getOrAdd(this.#named, name, () => new Set<Conversation>());
			namesakes.delete(conversation);
			namesakes.add(conversation);
		}
	}

	/** Evicts the conversations that were unused longest, but not `current`. */
	#evict(current: Conversation): void {
		const { maxConversations, maxPrefixes } = this.#limits;
		const isWithin = (share: number) =>
			this.#all.size <= maxConversations * share && this.#prefixes.size <= maxPrefixes * share;
		if (isWithin(1)) return;
		for (const oldest of this.#all) {
			if (isWithin(KEPT_SHARE)) return;
			if (oldest !== current) this.#remove(oldest);
		}
		// One conversation alone is too large: it begins again with its next request.
		if (!isWithin(1)) this.#remove(current);
	}

	#remove(conversation: Conversation): void {
		this.#all.delete(conversation);
		for (const name of conversation.names) {
			this.#named.get(name)?.delete(conversation);
			if (this.#named.get(name)?.size === 0) this.#named.delete(name);
		}
		for (const [chain, prefix] of this.#prefixes) {
			if (!prefix.users.delete(conversation)) continue;
			if (prefix.users.size === 0) this.#prefixes.delete(chain);
			prefix.ends = prefix.ends.filter((sent) => sent.conversation !== conversation);
		}
	}
}

/** The list with a request that has a bill as the latest of its cache. */
function withLatest(billed: readonly SentRequest[], sent: SentRequest): readonly SentRequest[] {
	if (!sent.tokens) return billed;
	const others = billed.filter((one) => !sharesCache(one, sent));
	return [...others.slice(1 - MAX_CACHES), sent];
}

function begun(request: TracedRequest, path: readonly Prefix[]): Conversation {
	const { format, speaker, cacheKey, startedMs } = request;
	const shared = path.findLast(({ isLived }) => isLived);
	// Sessions may share examples of answers: then none is the other's parent.
	const related = [...(shared?.users.keys() ?? [])].filter(
		(one) => speaker.subagent !== undefined || one.speaker.session === speaker.session,
	);
	const parent = latestUsed(related)?.id;
	return {
		...{ id: 0, format, speaker, usedMs: startedMs, names: new Set(), heads: [], billed: [] },
		...(cacheKey && { cacheKey }),
		...(parent && { parent }),
	};
}

/** The agent's names for a conversation; `undefined` if it gives none. */
function nameOf({ format, speaker, cacheKey }: TracedRequest): string | undefined {
	const { agent, session, subagent } = speaker;
	if (session === undefined && cacheKey === undefined) return undefined;
	return JSON.stringify([format, agent, session, subagent, cacheKey]);
}

function conversationOn(path: readonly Prefix[], request: TracedRequest): Conversation | undefined {
	const name = nameOf(request);
	const isSimilar = (head: Head) =>
		isSimilarHead(head, request.head) || (!hasTools(head) && !hasTools(request.head));
	const isFitting = ({ speaker, heads }: Conversation) =>
		speaker.subagent === request.speaker.subagent && heads.some(isSimilar);
	for (const prefix of path.toReversed()) {
		const fitting = [...prefix.users.keys()].filter(isFitting);
		const namesakes = fitting.filter(({ names }) =>
			name === undefined ? names.size === 0 : names.has(name),
		);
		// What follows an observed request belongs to its conversation, whatever name that is resumed
		// under. Sessions may share examples of answers, which follow none.
		const found = prefix.isLived
			? (latestUsed(namesakes) ??
				latestUsed(fitting.filter((one) => isAnswered(path, one, request))))
			: latestUsed(namesakes.filter((one) => hasEndAt(prefix, one)));
		if (found) return found;
	}
	return undefined;
}

function latestUsed(conversations: readonly Conversation[]): Conversation | undefined {
	return conversations.toSorted((a, b) => a.usedMs - b.usedMs).at(-1);
}

/** Whether the request has a whole request of the conversation and an answer of the model to it. */
function isAnswered(
	path: readonly Prefix[],
	conversation: Conversation,
	{ messages }: TracedRequest,
): boolean {
	return path.some((prefix) => {
		const next = messages[prefix.length];
		return next !== undefined && isByModel(next) && hasEndAt(prefix, conversation);
	});
}

/** Whether the tools are similar to those of an earlier request, and the instructions the same. */
function hasKnownInstructions({ heads, latest }: Conversation, request: TracedRequest): boolean {
	const similar = heads.filter((head) => isSimilarHead(head, request.head));
	if (similar.length === 0) return false;
	const { pieces } = request.head;
	// Branches of one conversation may have different ones.
	if (hasSystem(pieces)) {
		return similar.some((head) => instructionsIn(head.pieces) === instructionsIn(pieces));
	}
	return (
		!latest || instructionsIn(piecesOf(latest)) === instructionsIn([...pieces, ...request.messages])
	);
}

function hasSystem(pieces: readonly TracePiece[]): boolean {
	return pieces.some(({ part }) => part === "system");
}

/** The hashes of the system prompt. A format without a field for it sends it as the first messages. */
function instructionsIn(pieces: readonly TracePiece[]): string {
	const system = pieces.filter(({ part }) => part === "system");
	const said = pieces.filter(({ kind }) => kind !== "tool");
	const end = said.findIndex(({ kind }) => kind !== "system");
	const instructions = system.length > 0 || end === -1 ? system : said.slice(0, end);
	return instructions.map(({ hash }) => hash).join(" ");
}

/** Whether a whole request of the conversation ends here. */
function hasEndAt({ ends }: Prefix, conversation: Conversation): boolean {
	return ends.some((sent) => sent.conversation === conversation);
}

/**
 * A title request has other tools or none; a changed tool or system prompt leaves the others. At
 * least half of the pieces must be the same.
 */
function isSimilarHead(one: Head, other: Head): boolean {
	if (one.hash === other.hash) return true;
	const hashes = new Set(one.pieces.map(({ hash }) => hash));
	const same = other.pieces.filter(({ hash }) => hashes.has(hash)).length;
	return same > 0 && same * 2 >= Math.max(one.pieces.length, other.pieces.length);
}

function hasTools({ pieces }: Head): boolean {
	return pieces.some(({ part }) => part === "tools");
}

/** The conversation's own object for an equal head, so that each is in memory once. */
function knownHead({ heads }: Conversation, head: Head): Head {
	const at = heads.findIndex(({ hash }) => hash === head.hash);
	const [known = head] = at === -1 ? [] : heads.splice(at, 1);
	heads.push(known);
	if (heads.length > MAX_HEADS) heads.shift();
	return known;
}
