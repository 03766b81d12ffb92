import {
	type AssistantMessage,
	type FauxResponseStep,
	fauxAssistantMessage,
	fauxProvider,
	fauxText,
	fauxThinking,
	fauxToolCall,
	type Message,
	type Model,
	type Provider,
} from "@earendil-works/pi-ai";
import { type BoundPrompt, createThinkingBinding } from "./bound-thinking.ts";
import { recordProvider } from "./golden.ts";

/** A tool call the scripted model makes. Without an `id` it is `call-1`, `call-2`, … */
export type ScriptedCall = { tool: string; args: Record<string, unknown>; id?: string };

/** One assistant message: text, a tool call, several parts in one message, or pi-ai's own shape. */
export type Answer = string | ScriptedCall | readonly (string | ScriptedCall)[] | AssistantMessage;

/**
 * One request to the model: an answer, a function of the exact context that gives one (it may hold
 * assertions: what it throws fails the run), or the summary of a compaction that pi starts itself.
 */
export type Step =
	| Answer
	| { summary: string }
	| ((context: Message[]) => Answer | Promise<Answer>);

/** A model without a network: it answers from a script and records its requests. */
export interface ScriptedModel {
	readonly provider: Provider;
	readonly model: Model<string>;
	/** Copies of the messages of every request, system messages included, summaries excluded. */
	readonly contexts: Message[][];
	/** Copies of the messages of every request for a compaction or branch summary. */
	readonly summaryRequests: Message[][];
	/** Answers the requests made during `action`; throws unless all steps were asked for, and no more. */
	play<T>(steps: readonly Step[], action: () => Promise<T>): Promise<T>;
	/** Answers each request for a summary made during `action`, if there are any, with `text`. */
	summarise<T>(text: string, action: () => Promise<T>): Promise<T>;
}

// A compaction asks once or twice (history, start of a split turn); the rest is room for pi to change.
const MAX_SUMMARY_REQUESTS = 8;

/** How {@link createScriptedModel} sets a model up. */
export interface ScriptedModelOptions {
	contextWindow: number;
	/** Distinguishes requests for a summary from the others. */
	isSummarising: () => boolean;
	/**
	 * `bound`: every answer thinks, and the model refuses a request in which the prefix of thinking has changed, unless by a
	 * compaction. `free`: every answer thinks. `none`: answers are as scripted.
	 */
	thinking: "bound" | "free" | "none";
}

/** Creates a scripted model. */
export function createScriptedModel(options: ScriptedModelOptions): ScriptedModel {
	const { contextWindow, isSummarising, thinking } = options;
	const faux = fauxProvider({ provider: "faux", models: [{ id: "faux-1", contextWindow }] });
	recordProvider(faux.provider);
	// What pi says of models that bind thinking, under whatever name.
	if (thinking === "bound") {
		Object.assign(faux.getModel(), { compat: { supportsMidConvoEffort: true } });
	}
	const binding = createThinkingBinding();
	/** The summaries of compactions that stood before thinking when it was made, by its signature. */
	const summaries = new Map<string, readonly string[]>();
	const contexts: Message[][] = [];
	const summaryRequests: Message[][] = [];
	let calls = 0;
	const failures: unknown[] = [];

	const toMessage = (answer: Answer, context: Message[]): AssistantMessage => {
		if (typeof answer === "object" && "role" in answer) return answer;
		const parts = Array.isArray(answer) ? answer : [answer as string | ScriptedCall];
		const content = parts.map((part) => {
			if (typeof part === "string") return fauxText(part);
			calls += 1;
			return fauxToolCall(part.tool, part.args, { id: part.id ?? `call-${calls}` });
		});
		const hasCalls = content.some((block) => block.type === "toolCall");
		return fauxAssistantMessage([...thoughts(context), ...content], {
			stopReason: hasCalls ? "toolUse" : "stop",
		});
	};

	const thoughts = (context: Message[]) => {
		if (thinking === "none") return [];
		const thinkingSignature = binding.sign(promptOf(context));
		summaries.set(thinkingSignature, summariesIn(context));
		return [{ ...fauxThinking("Let me think."), thinkingSignature }];
	};

	const checkBinding = (context: Message[]) => {
		if (thinking !== "bound") return;
		for (const { signature, message, changed } of binding.misplacedIn(promptOf(context))) {
			// Pi keeps answers behind a new summary as they are: their thinking is lost, with pi alone too.
			const before = summaries.get(signature) ?? [];
			if (summariesIn(context.slice(0, message)).some((one) => !before.includes(one))) continue;
			throw new Error(
				`The block in message ${message} is bound to a different conversation: ${changed ?? "thinking in the middle"} changed`,
			);
		}
	};

	const answer = async (step: Step, context: Message[]): Promise<AssistantMessage> => {
		const summarising = isSummarising();
		(summarising ? summaryRequests : contexts).push(context);
		const isSummary = typeof step === "object" && "summary" in step;
		if (summarising !== isSummary) {
			const [asked, next] = summarising ? ["a summary", "an answer"] : ["an answer", "a summary"];
			throw new Error(`pi asked for ${asked}, but the next step of the script is ${next}`);
		}
		if (isSummary) return fauxAssistantMessage(step.summary);
		checkBinding(context);
		return toMessage(typeof step === "function" ? await step(context) : step, context);
	};

	const toResponse =
		(step: Step): FauxResponseStep =>
		async ({ messages }) => {
			try {
				return await answer(step, structuredClone(messages));
			} catch (error) {
				failures.push(error); // to pi it is a failed request; play() makes it a failed run
				throw error;
			}
		};

	return {
		provider: faux.provider,
		model: faux.getModel(),
		contexts,
		summaryRequests,
		async play(steps, action) {
			const before = faux.state.callCount;
			failures.length = 0;
			faux.setResponses(steps.map(toResponse));
			const result = await action().finally(() => faux.setResponses([]));
			if (failures.length > 0) throw failures[0];
			const asked = faux.state.callCount - before;
			if (asked !== steps.length) {
				throw new Error(
					`The script has ${steps.length} steps, but the model was asked ${asked} times`,
				);
			}
			return result;
		},
		summarise(text, action) {
			faux.setResponses(
				Array.from({ length: MAX_SUMMARY_REQUESTS }, () => toResponse({ summary: text })),
			);
			return action().finally(() => faux.setResponses([]));
		},
	};
}

/** The parts of pi's messages that the binding covers: no times, no details, no usage. */
function promptOf(context: readonly Message[]): BoundPrompt {
	const messages = context.map((message) => {
		const { role, content } = message;
		const blocks =
			typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
		const rest = blocks.filter(({ type }) => type !== "thinking");
		const call = message.role === "toolResult" ? message.toolCallId : undefined;
		return {
			rest: { role, call, content: rest },
			signatures: blocks.flatMap((block) =>
				block.type === "thinking" ? [String(block.thinkingSignature)] : [],
			),
		};
	});
	return { head: undefined, messages };
}

function summariesIn(context: readonly Message[]): string[] {
	return context
		.map(({ content }) => JSON.stringify(content))
		.filter((text) => text.includes("The conversation history before this point was compacted"));
}
