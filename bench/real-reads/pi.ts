import { property } from "../../src/core/property.ts";
import {
	blocksOf,
	type Entry,
	type FileLine,
	pathToLast,
	type ReadEvent,
	textOf,
} from "./session.ts";

/** The reads of a session of pi, format 1 to 3, on the branch that ends with the last line. */
export function piEvents(lines: readonly Entry[]): ReadEvent[] {
	const path = pathToLast(lines.slice(1), { id: "id", parents: ["parentId"] });
	const calls = new Map<unknown, { answer: string; input: unknown; tool: unknown }>();
	const events: ReadEvent[] = [];
	for (const [at, line] of lines.entries()) {
		if (!path.has(line)) continue;
		if (line.type === "compaction") events.push({ kind: "compaction" });
		const role = property(line.message, "role");
		const content = property(line.message, "content");
		if (role === "assistant") {
			for (const { type, id, name, arguments: input } of blocksOf(content)) {
				if (type === "toolCall") calls.set(id, { answer: String(at), input, tool: name });
			}
		}
		const text = role === "toolResult" ? textOf(content) : undefined;
		const id = property(line.message, "toolCallId");
		const call = calls.get(id);
		if (text === undefined || !call) continue;
		const file = call.tool === "read" ? property(call.input, "path") : undefined;
		const isFile = typeof file === "string" && property(line.message, "isError") !== true;
		events.push({
			kind: "result",
			id: String(id),
			answer: call.answer,
			bytes: Buffer.byteLength(text),
			...(isFile && { read: { path: file, lines: linesFrom(text, offsetOf(call.input)) } }),
		});
	}
	return events;
}

function offsetOf(input: unknown): number {
	const offset = property(input, "offset");
	return typeof offset === "number" && offset > 0 ? offset : 1;
}

/** Pi writes no numbers: lines count from the offset on. After a partial text it says how to read on. */
function linesFrom(text: string, offset: number): FileLine[] {
	const file = text.replace(/\n\n\[[^\n]*Use offset=\d+ to continue\.?\]$/, "");
	return file.split("\n").map((line, at) => ({
		number: offset + at,
		text: line,
		bytes: Buffer.byteLength(line) + 1,
	}));
}
