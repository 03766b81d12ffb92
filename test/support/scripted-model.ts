import {
	type AssistantMessage,
	type FauxResponseStep,
	fauxAssistantMessage,
	fauxProvider,
	fauxText,
	fauxToolCall,
	type Message,
	type Model,
	type Provider,
} from "@earendil-works/pi-ai";

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

/** A model without a network: it answers from a script and keeps what it was given. */
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

/** Creates a scripted model. `isSummarising` tells the requests for a summary from the others. */
export function createScriptedModel(options: {
	contextWindow: number;
	isSummarising: () => boolean;
}): ScriptedModel {
	const { contextWindow, isSummarising } = options;
	const faux = fauxProvider({ provider: "faux", models: [{ id: "faux-1", contextWindow }] });
	const contexts: Message[][] = [];
	const summaryRequests: Message[][] = [];
	let calls = 0;
	const failures: unknown[] = [];

	const toMessage = (answer: Answer): AssistantMessage => {
		if (typeof answer === "object" && "role" in answer) return answer;
		const parts = Array.isArray(answer) ? answer : [answer as string | ScriptedCall];
		const content = parts.map((part) => {
			if (typeof part === "string") return fauxText(part);
			calls += 1;
			return fauxToolCall(part.tool, part.args, { id: part.id ?? `call-${calls}` });
		});
		const hasCalls = content.some((block) => block.type === "toolCall");
		return fauxAssistantMessage(content, { stopReason: hasCalls ? "toolUse" : "stop" });
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
		return toMessage(typeof step === "function" ? await step(context) : step);
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
