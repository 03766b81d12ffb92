import { property } from "../core/property.ts";
import type { Data } from "../protocol/index.ts";
import type { PartialAnswer } from "../session/index.ts";

type ReportedMessage = Data<"ReportedMessage">;

/** Less than the server accepts in one report: a slow one must not hold up the next. */
const MAX_CHARACTERS = 32 * 1024;
/** Text of an answer beyond it is not reported. The session file has it when the answer is complete. */
export const MAX_ANSWER_CHARACTERS = 1024 * 1024;
const MAX_BLOCKS = 100;
const MAX_NAME = 256;
const MAX_OUTPUT_CHARACTERS = 8 * 1024;

/**
 * What an answer has beyond `has`, the characters that the server knows of each block, as far as it fits into one report.
 * `jsonOf`: the arguments of a call as far as they are written.
 */
export function answerReport(
	answer: PartialAnswer,
	has: readonly number[],
	jsonOf: (index: number) => string,
): ReportedMessage {
	const blocks: ReportedMessage["blocks"] = [];
	let left = MAX_CHARACTERS;
	for (const [index, block] of answer.content.slice(0, MAX_BLOCKS).entries()) {
		const { kind, text, ...call } = readBlock(block, () => jsonOf(index));
		const from = has[index] ?? 0;
		const isKnown = index < has.length;
		const rest = text.slice(from, MAX_ANSWER_CHARACTERS);
		if (isKnown && rest === "") continue;
		if (left <= 0) break;
		const sent = rest.slice(0, left);
		left -= sent.length;
		blocks.push({ index, kind, from, text: sent, ...call });
	}
	const { timestamp, model } = answer;
	return { timestamp, ...(model && { model: clip(model) }), blocks };
}

/** The end of a tool's output so far. */
export function outputTail(partialResult: unknown): string | undefined {
	const content = property(partialResult, "content");
	if (!Array.isArray(content)) return undefined;
	const texts = content.flatMap((block) => {
		const text = property(block, "text");
		return typeof text === "string" ? text : [];
	});
	return texts.join("\n").slice(-MAX_OUTPUT_CHARACTERS);
}

export function clip(name: string): string {
	return name.slice(0, MAX_NAME);
}

function readBlock(block: PartialAnswer["content"][number], json: () => string) {
	switch (block.type) {
		case "thinking":
			return { kind: "thinking" as const, text: block.thinking };
		case "toolCall": {
			const [id, toolName] = [clip(block.id), clip(block.name)];
			const call = { ...(id && { id }), ...(toolName && { toolName }) };
			return { kind: "toolCall" as const, text: json(), ...call };
		}
		default:
			return { kind: "text" as const, text: block.text };
	}
}
