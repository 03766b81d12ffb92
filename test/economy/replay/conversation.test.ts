import { buildSessionProjection, type SessionEntry } from "@earendil-works/pi-coding-agent";
import { describe, expect, test } from "vitest";
import { createConversationWalk } from "../../../src/economy/replay/conversation.ts";
import { contentHash } from "../../../src/economy/replay/index.ts";
import { PiParser } from "../../../src/importers/pi.ts";
import { fc, runs } from "../../support/property.ts";

describe("the conversation at any place of a session", () => {
	test("is what pi itself would send from there, with compactions, edits and branches", () => {
		fc.assert(
			fc.property(fc.array(move, { minLength: 1, maxLength: 40 }), (moves) => {
				const lines = linesOf(moves);
				const reader = new PiParser(3);
				for (const line of lines) expect(reader.add(line)).toBe("added");
				const walk = createConversationWalk(reader.entries);
				for (const at of visits(lines.length)) {
					expect(walk(at).blocks.map(({ hash }) => hash)).toEqual(sentByPi(lines, at));
				}
			}),
			{ numRuns: runs(200) },
		);
	});
});

type Line = { type: string; id: string; parentId: string | null } & Record<string, unknown>;

/** What is appended, and how far back in the session: 0 is the latest entry. */
const move = fc.record({
	what: fc.constantFrom(
		"user",
		"assistant",
		"aborted",
		"result",
		"note",
		"compaction",
		"edit",
		"drop",
	),
	back: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(10) }),
	target: fc.nat(15),
});

function linesOf(moves: { what: string; back: number; target: number }[]): Line[] {
	const lines: Line[] = [];
	for (const [at, { what, back, target }] of moves.entries()) {
		const parentId = lines[Math.max(0, lines.length - 1 - back)]?.id ?? null;
		const earlier = lines[Math.max(0, lines.length - 1 - target)];
		const base = { id: `e${at}`, parentId, timestamp: "2026-01-01T00:00:00Z" };
		const content = [{ type: "text", text: `text ${at}` }];
		const message = (role: string, more: object = {}) => ({
			...base,
			type: "message",
			message: { role, content, ...more },
		});
		if (what === "user") lines.push(message("user"));
		if (what === "assistant") lines.push(message("assistant", { stopReason: "stop" }));
		if (what === "aborted") lines.push(message("assistant", { stopReason: "aborted" }));
		if (what === "result") lines.push(message("toolResult", { toolCallId: "x" }));
		if (what === "note") lines.push({ ...base, type: "custom_message", content });
		if (what === "compaction") {
			const firstKeptEntryId = earlier?.id ?? base.id;
			lines.push({ ...base, type: "compaction", summary: `text ${at}`, firstKeptEntryId });
		}
		// Pi lets only messages be edited.
		const editable = lines.filter(({ type }) => type === "message" || type === "custom_message");
		const edited = editable[editable.length - 1 - target];
		if (edited && (what === "edit" || what === "drop")) {
			const replacement = what === "edit" ? { content: `text ${at}` } : null;
			lines.push({ ...base, type: "context_edit", targetId: edited.id, replacement });
		}
	}
	return lines;
}

/** Forwards, and then here and there. */
function visits(count: number): number[] {
	const forwards = Array.from({ length: count }, (_, at) => at);
	return [...forwards, ...forwards.filter((at) => at % 3 === 0).reverse(), count - 1].filter(
		(at) => at >= 0,
	);
}

/** Pi's own projection, as the hashes of its texts. Failed answers are left out by pi when it sends. */
function sentByPi(lines: Line[], at: number): string[] {
	const entries = lines as unknown as SessionEntry[];
	const { entries: projected } = buildSessionProjection(entries, lines[at]?.id);
	return projected.flatMap(({ sourceEntry, messages }) =>
		messages.flatMap((message) => {
			if (message.role === "assistant" && message.stopReason === "aborted") return [];
			const part =
				"summary" in message
					? { type: "text", text: message.summary }
					: asPart((message as { content: unknown }).content);
			const own = (sourceEntry as { message?: { content?: unknown } }).message?.content;
			const isEdited =
				part.text !== asPart(own ?? (sourceEntry as { content?: unknown }).content).text;
			const isSummary = message.role === "compactionSummary";
			return [
				contentHash(isSummary ? "summary" : isEdited ? "note" : kindOf(message.role), [part]),
			];
		}),
	);
}

function asPart(content: unknown): { type: string; text: string } {
	if (typeof content === "string") return { type: "text", text: content };
	return (
		(content as { type: string; text: string }[] | undefined)?.[0] ?? { type: "text", text: "" }
	);
}

function kindOf(role: string): string {
	const kinds: Record<string, string> = { user: "user", assistant: "text", toolResult: "result" };
	return kinds[role] ?? "note";
}
