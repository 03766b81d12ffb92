import { countIn, isRecord, property } from "../core/property.ts";
import { answerOf } from "./answer.ts";
import type { AnswerFold, Format, Usage, WireAnswer } from "./format.ts";
import type { JsonSpan } from "./json-span.ts";
import { nameOf } from "./piece.ts";
import { listOf, PieceList, parsed, settings, textOf } from "./piece-list.ts";

const PATH = /\/models\/([^/:]+):(streamGenerateContent|generateContent)$/;

/** Google's Gemini API. The path names the model. */
export const gemini: Format = {
	name: "gemini",
	matches: (path) => PATH.test(path),
	request(body, path) {
		const list = new PieceList();
		for (const tools of listOf(body.get("tools"))) {
			const declarations = listOf(tools.members().get("functionDeclarations"));
			const spans = declarations.length > 0 ? declarations : [tools];
			for (const span of spans) {
				const tool = span.value;
				list.addTool(span, tool, property(tool, "name") ?? Object.keys(Object(tool))[0]);
			}
		}
		const system = body.get("systemInstruction") ?? body.get("system_instruction");
		for (const span of partsOf(system)) {
			list.add("system", { kind: "system", label: "system prompt", span, value: span.value });
		}
		for (const [at, content] of listOf(body.get("contents")).entries()) {
			addContent(list, content, at);
		}
		const generation = parsed(body.get("generationConfig"));
		return {
			model: decoded(PATH.exec(path)?.[1] ?? textOf(body.get("model")) ?? ""),
			pieces: list.pieces,
			settings: settings({
				thinking: property(generation, "thinkingConfig"),
				textFormat: property(generation, "responseSchema"),
				toolChoice: parsed(body.get("toolConfig")),
			}),
		};
	},
	usage: usageOf,
	answer: () => new GeminiAnswer(),
};

function partsOf(content: JsonSpan | undefined): JsonSpan[] {
	if (!content?.isObject) return listOf(content);
	return listOf(content.members().get("parts"));
}

function addContent(list: PieceList, content: JsonSpan, at: number): void {
	const role = content.isObject ? textOf(content.members().get("role")) : undefined;
	const who = `${nameOf(role) ?? "user"} message ${at + 1}`;
	for (const span of partsOf(content)) {
		const value = span.value;
		const [call, result] = [property(value, "functionCall"), property(value, "functionResponse")];
		const added = { span, value, role };
		if (isRecord(call)) {
			list.addCall(added, { id: call.id, name: call.name, input: call.args, who });
		} else if (isRecord(result)) {
			list.addResult(added, { id: result.id, name: result.name, who });
		} else {
			const isThought = property(value, "thought") === true;
			const kind = isThought ? "thinking" : role === "model" ? "text" : "user";
			list.add("messages", { kind, label: who, ...added });
		}
	}
}

function decoded(name: string): string {
	try {
		return decodeURIComponent(name);
	} catch {
		return name; // a broken escape stays as it is
	}
}

class GeminiAnswer implements AnswerFold {
	#id: unknown;
	#model: unknown;
	#usage: Record<string, unknown> | undefined;
	#error: string | undefined;
	#isDone = false;

	needs(): boolean {
		return true; // every event has the sums so far
	}

	add(event: unknown): void {
		if (Array.isArray(event)) {
			for (const one of event) this.add(one); // the answer of a stream without `alt=sse`
			return;
		}
		if (!isRecord(event)) return;
		if (isRecord(event.error)) this.#error = nameOf(event.error.status) ?? "error";
		this.#id ??= event.responseId;
		this.#model ??= event.modelVersion;
		if (isRecord(event.usageMetadata)) this.#usage = event.usageMetadata;
		const candidates = Array.isArray(event.candidates) ? event.candidates : [];
		const isBlocked = property(event.promptFeedback, "blockReason") !== undefined;
		const hasEnd = candidates.some((one) => property(one, "finishReason") !== undefined);
		if (isBlocked || hasEnd) this.#isDone = true;
	}

	end(isWhole: boolean): WireAnswer {
		return answerOf({
			isDone: this.#isDone && isWhole,
			...{ id: this.#id, model: this.#model, error: this.#error },
			usage: this.#usage && usageOf(this.#usage),
		});
	}
}

/** `promptTokenCount` includes what was read; thoughts are billed beside the candidates. */
function usageOf(usage: unknown): Usage {
	const read = countIn(usage, "cachedContentTokenCount");
	const prompt = countIn(usage, "promptTokenCount") + countIn(usage, "toolUsePromptTokenCount");
	const reasoning = countIn(usage, "thoughtsTokenCount");
	return {
		input: Math.max(0, prompt - read),
		read,
		write: 0,
		writeOneHour: 0,
		output: countIn(usage, "candidatesTokenCount") + reasoning,
		reasoning,
	};
}
