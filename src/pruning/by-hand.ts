import type { ToolResultItem } from "../session/index.ts";
import { type Candidate, type Conversation, isPrunable, worthwhile } from "./candidates.ts";
import { isStub, LEAST_CHARS } from "./stub.ts";

/** Why a result cannot be replaced or restored now, for the user. */
export interface Refusal {
	readonly refusal: string;
}

const BOUND =
	"the model's thinking is bound to the text before it and would be lost; it works right after a compaction";

/** The result that the user wants replaced by a stub, or why that must not happen. */
export function toDrop(conversation: Conversation, callId: string): Candidate | Refusal {
	const found = find(conversation, callId);
	if ("refusal" in found) return found;
	const { item, at } = found;
	const { messages, results, facts, editableFrom } = conversation;
	const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
	if (item.isError) return refused("errors are kept, so that they are not repeated");
	if (isStub(item.text)) return refused("it is a stub already");
	if (item.text !== item.returned || item.text === undefined) return refused("it is not all text");
	if (!isPrunable(item)) {
		return refused(`it is so short (at most ${LEAST_CHARS} characters) that a stub frees nothing`);
	}
	if (facts.isPinned(item)) return refused("it is pinned; unpin it first");
	if (facts.isExcluded(item)) return refused("it holds text that must not be stored");
	if (at > lastAnswer) return refused("the model has not answered it yet");
	if (at < editableFrom) return refused(BOUND);
	const candidate: Candidate = { item, at, why: "old" };
	const all = [...results.values()];
	const refers = all.some(
		(other) =>
			other !== item && other.text === other.returned && facts.basesOf(other).includes(item),
	);
	if (refers || worthwhile([candidate], all).length === 0) {
		return refused("a later result says that its lines are shown above");
	}
	return candidate;
}

/** The stub that the user wants undone, or why that must not happen. */
export function toRestore(conversation: Conversation, callId: string): ToolResultItem | Refusal {
	const found = find(conversation, callId);
	if ("refusal" in found) return found;
	const { item, at } = found;
	if (!isStub(item.text)) return refused("it is shown in full already");
	if (item.returned === undefined) return refused("it was not all text");
	return at < conversation.editableFrom ? refused(BOUND) : item;
}

function find({ messages, results }: Conversation, callId: string) {
	const own = [...results.values()].filter(({ toolCallId }) => toolCallId === callId);
	const [item] = own;
	if (!item) return refused("no result of this call is in the context");
	// Requests name results by call, so a name that occurs twice means neither.
	if (own.length > 1) return refused("several results have this call id");
	return { item, at: messages.findIndex(({ entryId }) => entryId === item.entryId) };
}

function refused(refusal: string): Refusal {
	return { refusal };
}
