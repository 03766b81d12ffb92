import { property } from "../../src/core/property.ts";
import {
	blocksOf,
	type Entry,
	type FileLine,
	pathToLast,
	type ReadEvent,
	textOf,
} from "./session.ts";

/** The reads of a Claude Code transcript: its main thread, on the branch that ends with the last line. */
export function claudeCodeEvents(all: readonly Entry[]): ReadEvent[] {
	const lines = conversationOf(all);
	const path = pathToLast(lines, { id: "uuid", parents: ["parentUuid", "logicalParentUuid"] });
	// Blocks and results of one answer are not in one chain: an answer counts if any line of it does.
	const answers = new Set([...path].map(answerOf));
	const calls = new Map<unknown, { answer: string; file?: string }>();
	const events: ReadEvent[] = [];
	for (const line of lines) {
		const answer = answerOf(line);
		const blocks = blocksOf(property(line.message, "content"));
		if (answer !== undefined && answers.has(answer)) {
			for (const block of blocks.filter(({ type }) => type === "tool_use")) {
				const file = block.name === "Read" ? property(block.input, "file_path") : undefined;
				calls.set(block.id, { answer, ...(typeof file === "string" && { file }) });
			}
		}
		for (const block of blocks.filter(({ type }) => type === "tool_result")) {
			const call = calls.get(block.tool_use_id);
			const text = textOf(block.content);
			if (!call || text === undefined) continue;
			const shown = call.file === undefined || block.is_error ? [] : numberedLines(text);
			events.push({
				kind: "result",
				id: String(block.tool_use_id),
				answer: call.answer,
				bytes: Buffer.byteLength(text),
				...(call.file !== undefined &&
					shown.length > 0 && { read: { path: call.file, lines: shown } }),
			});
		}
		if (path.has(line) && line.subtype === "compact_boundary") events.push({ kind: "compaction" });
		if (path.has(line) && line.subtype === "microcompact_boundary") {
			const ids = property(line.microcompactMetadata, "compactedToolIds");
			events.push({ kind: "cleared", results: Array.isArray(ids) ? ids.map(String) : [] });
		}
	}
	return events;
}

/** Lines that have a place in the tree, once each; sub-agents have contexts of their own. */
function conversationOf(lines: readonly Entry[]): Entry[] {
	const known = new Set<unknown>();
	return lines.filter(({ uuid, isSidechain }) => {
		if (typeof uuid !== "string" || isSidechain === true || known.has(uuid)) return false;
		known.add(uuid);
		return true;
	});
}

/** One answer is written as several lines with the same id. */
function answerOf({ type, message }: Entry): string | undefined {
	const id = type === "assistant" ? property(message, "id") : undefined;
	return typeof id === "string" ? id : undefined;
}

/** The lines of a file in the text of a `Read`: `    12→text`, or a tab for the arrow. Reminders have no numbers. */
function numberedLines(text: string): FileLine[] {
	return text.split("\n").flatMap((line) => {
		const found = /^ *(\d+)[→\t](.*)$/s.exec(line);
		if (!found) return [];
		const [, number, shown = ""] = found;
		return [{ number: Number(number), text: shown, bytes: Buffer.byteLength(line) + 1 }];
	});
}
