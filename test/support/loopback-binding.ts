/** Thinking that is bound to the exact prefix, as the API checks it on its newest models. */
import {
	type BoundMessage,
	type BoundPrompt,
	createThinkingBinding,
	type Misplaced,
} from "./bound-thinking.ts";
import {
	invalidRequest,
	type LoopbackBlock,
	type LoopbackBody,
	type LoopbackMessage,
} from "./loopback-cache.ts";

/** The API's report about changes of the input. */
export type LoopbackTransformation = { type: "thinking_dropped"; path: string; reason: string };

export type LoopbackBinding = {
	/**
	 * The body as the model sees it, and what was left out. Invalid thinking and all after it is dropped if the request
	 * asks for that, and refused otherwise.
	 */
	accept(body: LoopbackBody): {
		seen: LoopbackBody;
		transformations: LoopbackTransformation[];
		/** Signatures of the thinking that is invalid by itself: thinking that is dropped after it may be valid. */
		misplaced: string[];
	};
	/** A signature for thinking in the answer to this body. */
	sign(body: LoopbackBody, signature?: string): string;
};

/** Models before the check: nothing is bound. Everything else counts as new. */
const FREE_MODELS = /claude-opus-4-|claude-opus-5$/;

export function createLoopbackBinding(): LoopbackBinding {
	const binding = createThinkingBinding();
	return {
		accept(body) {
			const misplaced = FREE_MODELS.test(body.model) ? [] : binding.misplacedIn(promptOf(body));
			const [first] = misplaced;
			if (!first) return { seen: body, transformations: [], misplaced: [] };
			if (!asksToDrop(body)) {
				throw invalidRequest(
					`messages.${first.message}: The block is bound to a different conversation (${changeIn(first)})`,
				);
			}
			const signatures = misplaced.map(({ signature }) => signature);
			return { ...dropFrom(body, first.message), misplaced: signatures };
		},
		sign: (body, signature) => binding.sign(promptOf(body), signature),
	};
}

function changeIn({ changed }: Misplaced): string {
	if (changed === undefined) return "thinking before it is missing";
	return changed < 0 ? "system prompt or tools changed" : `message ${changed} changed`;
}

function asksToDrop({ thinking }: LoopbackBody): boolean {
	const asked = thinking as { block_binding?: { prefix_mismatch_behavior?: unknown } } | undefined;
	return asked?.block_binding?.prefix_mismatch_behavior === "drop_block";
}

function dropFrom(
	body: LoopbackBody,
	first: number,
): { seen: LoopbackBody; transformations: LoopbackTransformation[] } {
	const transformations: LoopbackTransformation[] = [];
	const messages = body.messages.map((message, m) => {
		if (m < first || typeof message.content === "string") return message;
		const content = message.content.filter((block, b) => {
			if (!isThinking(block)) return true;
			const path = `messages.${m}.content.${b}`;
			transformations.push({ type: "thinking_dropped", path, reason: "prefix_binding_mismatch" });
			return false;
		});
		return { ...message, content };
	});
	return { seen: { ...body, messages }, transformations };
}

/** Deferred tools are not in the prefix; breakpoints, the order of tools and the two forms of a text do not count. */
function promptOf({ system, tools = [], messages }: LoopbackBody): BoundPrompt {
	const loaded = tools
		.filter((tool) => tool.defer_loading !== true)
		.map(bare)
		.toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
	return {
		head: { system: system === undefined ? [] : blocksOf(system).map(bare), tools: loaded },
		messages: messages.map(messageOf),
	};
}

function messageOf({ content, ...message }: LoopbackMessage): BoundMessage {
	const blocks = blocksOf(content).map(bare);
	return {
		rest: { ...message, content: blocks.filter((block) => !isThinking(block)) },
		signatures: blocks.filter(isThinking).map(({ signature, data }) => String(signature ?? data)),
	};
}

function blocksOf(content: string | LoopbackBlock[]): LoopbackBlock[] {
	return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function isThinking({ type }: LoopbackBlock): boolean {
	return type === "thinking" || type === "redacted_thinking";
}

/** Without breakpoints, here and in a result's own blocks. */
function bare({ cache_control: _marker, ...block }: LoopbackBlock): LoopbackBlock {
	const { content } = block;
	if (!Array.isArray(content)) return block;
	return { ...block, content: content.map(bare) };
}
