import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { countIn, property } from "../../core/property.ts";
import { estimateTokens } from "../../core/tokens.ts";
import { isStub } from "../../pruning/index.ts";
import { textOf } from "../../session/index.ts";

/** Tokens that one of our systems kept out of the context, or took out of it. */
export interface Removed {
	readonly system: "readCache" | "pruning";
	/** The reason, in a word or two. */
	readonly label: string;
	readonly tokens: number;
}

/** What an entry of a session stands for beyond its own text. `entryOf` finds the target of a context edit. */
export function removedBy(
	entry: SessionEntry,
	entryOf: (id: string) => SessionEntry | undefined,
): Removed | undefined {
	if (entry.type === "context_edit") return removedByStub(entry, entryOf(entry.targetId));
	if (entry.type !== "message" || entry.message.role !== "toolResult") return undefined;
	const { details, content } = entry.message;
	const shown = textOf(content);
	if (shown === undefined) return undefined;
	return removedByReadCache(details, shown);
}

/** Answers of the read cache that stand for text shown before, and how they are called here. */
const DERIVED: Readonly<Record<string, string>> = {
	unchanged: "unchanged file",
	unchanged_range: "unchanged lines",
	diff: "diff",
};

function removedByReadCache(details: unknown, shown: string): Removed | undefined {
	const note = property(details, "readcache");
	const label = Object.hasOwn(DERIVED, String(property(note, "mode")))
		? DERIVED[String(property(note, "mode"))]
		: undefined;
	const plainBytes = countIn(note, "plainBytes");
	if (!label || plainBytes === 0) return undefined;
	return {
		system: "readCache",
		label,
		tokens: estimateTokens(Math.max(0, plainBytes - Buffer.byteLength(shown))),
	};
}

function removedByStub(
	edit: SessionEntry & { type: "context_edit" },
	target: SessionEntry | undefined,
): Removed | undefined {
	const stub = textOf(edit.replacement?.content);
	if (!stub || !isStub(stub)) return undefined;
	if (target?.type !== "message" || target.message.role !== "toolResult") return undefined;
	const before = textOf(target.message.content);
	if (before === undefined) return undefined;
	return {
		system: "pruning",
		label: `result of ${target.message.toolName}`,
		tokens: estimateTokens(Math.max(0, before.length - stub.length)),
	};
}
