import {
	type Conversation,
	leftBy,
	messagesOf,
	type Prefix,
	piecesOf,
	type SentRequest,
	sharesCache,
} from "./sent-request.ts";
import {
	bytesIn,
	firstChange,
	type Head,
	isByModel,
	type TracedRequest,
	type TracePiece,
} from "./trace.ts";

/**
 * How a request follows its conversation. `start`: it is the first. `next`: it extends an earlier
 * one. `branch`: it departs from an earlier one. `edit`: it repeats an earlier one with changes
 * inside. `compaction`: a new, shorter history replaces the old one. `partial`: its start is stored
 * by the provider and was not observed.
 */
export type Step = "start" | "next" | "branch" | "edit" | "compaction" | "partial";

/** How a request follows its conversation, and what it is to be compared with. */
export interface Comparison {
	readonly step: Step;
	/** The request whose cached prompt should have been read; absent if that cannot be known. */
	readonly before?: SentRequest;
	/** If only a part of `before` was sent again: the least tokens of that part. */
	readonly sharedTokens?: number;
	/** The first piece that differs from the request it departs from. */
	readonly changed?: string;
}

/** How a request follows `conversation`. `path` are the prefixes of its messages that are known. */
export function stepOf(
	conversation: Conversation,
	path: readonly Prefix[],
	request: TracedRequest,
): Comparison {
	if (request.isPartial) return { step: "partial" };
	const { latest } = conversation;
	const isCached = (sent: SentRequest) =>
		sent.tokens !== undefined && sent.cachedMs <= request.startedMs;
	const isOwn = (sent: SentRequest) => sharesCache(sent, request);
	const billedIn = (prefix: Prefix) =>
		(prefix.users.get(conversation)?.billed ?? []).filter(isCached);
	// What another model or upstream cached can only be compared with if nothing else can.
	const hasOwn = path.some((prefix) => billedIn(prefix).some(isOwn));
	const billedAt = (prefix: Prefix) => billedIn(prefix).findLast((sent) => !hasOwn || isOwn(sent));
	const whole = [...request.head.pieces, ...request.messages];
	const departure = (from: SentRequest | undefined) => {
		const changed = from && firstChange(piecesOf(from), whole);
		return changed === undefined ? {} : { changed };
	};

	const billed = conversation.billed.filter(isCached);
	const latestBilled = billed.findLast(isOwn) ?? billed.at(-1);
	const common = path.findLast((prefix) => billedAt(prefix) !== undefined);
	const other = common ? billedAt(common) : latestBilled;
	if (other && isEdit(other, common, request)) {
		return { step: "edit", before: other, ...departure(other) };
	}
	if (latest && isCompaction(latest, path, request)) {
		const before = latestBilled && { before: latestBilled };
		return { step: "compaction", ...before, ...departure(latest) };
	}
	const ends = path.flatMap(({ ends }) =>
		ends.filter(
			(sent) => sent.conversation === conversation && isCached(sent) && (!hasOwn || isOwn(sent)),
		),
	);
	const ancestor = deepest(ends, request.head);
	const gone = other && common && removedEnd(other, common, request);
	// Otherwise, if the latest request is no part of this one, the conversation was rewound, or it
	// has two threads.
	const isBranch = !gone && latest !== undefined && !isPartOf(latest, path);
	const step = gone
		? ({ step: "edit", changed: `${gone.label} (gone)` } as const)
		: ({ step: isBranch ? "branch" : "next", ...departure(latest) } as const);
	if (!common || !other || (ancestor && lengthOf(ancestor) >= common.length)) {
		return { ...step, ...(ancestor && { before: ancestor }) };
	}
	return { ...step, before: other, sharedTokens: leastShared(ancestor, other, common) };
}

function lengthOf({ end }: Pick<SentRequest, "end">): number {
	return end?.length ?? 0;
}

/** The longest; of equal ones, the latest with the same head. */
function deepest(sent: readonly SentRequest[], head: Head): SentRequest | undefined {
	const longest = sent.reduce((length, one) => Math.max(length, lengthOf(one)), 0);
	const ends = sent.filter((one) => lengthOf(one) === longest);
	return ends.findLast((one) => one.head.hash === head.hash) ?? ends.at(-1);
}

function isPartOf({ end }: SentRequest, path: readonly Prefix[]): boolean {
	return end === undefined || path[end.length - 1] === end;
}

/**
 * Whether most of what followed the common start is there again, behind a change. If much of it is
 * gone, it was compacted and not edited. Users repeat themselves, so their messages do not count.
 */
function isEdit(
	before: SentRequest,
	common: Prefix | undefined,
	{ messages }: TracedRequest,
): boolean {
	const shared = common?.length ?? 0;
	if (messages.length < lengthOf(before) * KEPT_BY_EDIT) return false;
	const followed = messagesOf(before)
		.slice(shared)
		.filter((piece) => isByModel(piece) || piece.kind === "result");
	const now = new Set(messages.slice(shared).map(({ hash }) => hash));
	const again = followed.filter(({ hash }) => now.has(hash)).length;
	return again > 0 && again * 2 >= followed.length;
}

/** An edit leaves at least this share of the pieces. */
const KEPT_BY_EDIT = 2 / 3;

/**
 * The first piece at the end of `before` that is gone, such as a reminder, if the model's answer
 * follows the rest. If another request ends there, the answer is to that one, and nothing is gone.
 */
function removedEnd(
	before: SentRequest,
	common: Prefix,
	{ messages }: TracedRequest,
): TracePiece | undefined {
	const next = messages[common.length];
	const followed = messagesOf(before).slice(common.length);
	if (!next || !isByModel(next) || followed.some(isByModel)) return undefined;
	const isEnd = common.ends.some(({ conversation }) => conversation === before.conversation);
	return isEnd ? undefined : followed[0];
}

/**
 * Whether a shorter history replaces the latest one, and the start that both share holds nothing
 * that the model wrote. A message of the model right behind that start is an earlier answer, so no compaction.
 */
function isCompaction(
	latest: SentRequest,
	path: readonly Prefix[],
	{ messages }: TracedRequest,
): boolean {
	if (!latest.end?.isLived || path.at(-1)?.isLived || path.length === messages.length) return false;
	const next = messages[path.length];
	const isAnswer = path.length > 0 && next !== undefined && isByModel(next);
	return !isAnswer && bytesIn(messages) < latest.end.bytes;
}

/**
 * The least tokens of the common start of a branch with another one. Between the ends of two
 * requests only bytes are known; tokens may be spread unevenly over them, so half of them count.
 */
function leastShared(
	ancestor: SentRequest | undefined,
	other: SentRequest,
	common: Prefix,
): number {
	const cached = (sent: SentRequest) => {
		const left = leftBy(sent);
		return left ? left.read + left.write : 0;
	};
	const from = ancestor ? cached(ancestor) : 0;
	const headBytes = ancestor ? 0 : bytesIn(other.head.pieces);
	const start = ancestor?.end?.bytes ?? 0;
	const part = headBytes + common.bytes - start;
	const all = headBytes + (other.end?.bytes ?? 0) - start;
	return from + Math.floor(Math.max(0, cached(other) - from) * (part / Math.max(1, all)) * 0.5);
}
