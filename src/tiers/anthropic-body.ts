import type { PromptMessage } from "./assemble.ts";

/** A text of a request to Anthropic, with or without a cache marker. */
export interface AnthropicBlock {
	readonly type: "text";
	readonly text: string;
	readonly cache_control?: { readonly type: "ephemeral" };
}

/** The two parts of a request to Anthropic that hold the prompt. */
export interface AnthropicBody {
	/** Absent without a system prompt: the provider refuses an empty one. */
	readonly system?: readonly AnthropicBlock[];
	readonly messages: readonly {
		readonly role: "user" | "assistant";
		readonly content: readonly AnthropicBlock[];
	}[];
}

/** The messages of {@link assemble} as Anthropic takes them. Blank texts, which it refuses, are left out. */
export function anthropicBody(messages: readonly PromptMessage[]): AnthropicBody {
	const sent = messages.filter(({ text }) => text.trim() !== "");
	const system = sent.filter(({ role }) => role === "system").map(blockOf);
	return {
		...(system.length > 0 && { system }),
		messages: sent.flatMap((message) =>
			message.role === "system" ? [] : [{ role: message.role, content: [blockOf(message)] }],
		),
	};
}

function blockOf({ text, breakpoint }: PromptMessage): AnthropicBlock {
	return { type: "text", text, ...(breakpoint && { cache_control: { type: "ephemeral" } }) };
}
