/** Conversations in the four wire formats, from one neutral form. */
export type WireName = "anthropic" | "responses" | "chat" | "gemini";

export const WIRES: readonly WireName[] = ["anthropic", "responses", "chat", "gemini"];

export type Turn =
	| { readonly user: string }
	| { readonly answer: string; readonly thinking?: string }
	| {
			readonly id: string;
			readonly tool: string;
			readonly input: Readonly<Record<string, unknown>>;
			/** `undefined`: a picture. */
			readonly output: string | undefined;
			readonly isError?: boolean;
			/** Anthropic: the thinking before the call. */
			readonly thinking?: string;
	  };

export const PATHS: Readonly<Record<WireName, string>> = {
	anthropic: "/v1/messages",
	responses: "/v1/responses",
	chat: "/v1/chat/completions",
	gemini: "/v1beta/models/gemini-3-pro:streamGenerateContent",
};

export const read = (id: string, path: string, output: string): Turn => ({
	...{ id, tool: "read", input: { path }, output },
});

/** Some lines of code, long enough for a reference. */
export function code(name: string, lines = 30): string {
	return Array.from({ length: lines }, (_, at) => `\tconst ${name}${at} = compute("${at}");`).join(
		"\n",
	);
}

/** As an agent sends it. `isMarked`: Anthropic's marker on the last block. */
export function bodyOf(
	wire: WireName,
	turns: readonly Turn[],
	{ isMarked = true, ...more }: { isMarked?: boolean; [field: string]: unknown } = {},
) {
	return Buffer.from(JSON.stringify({ ...BODIES[wire](turns, isMarked), ...more }));
}

type Block = Record<string, unknown>;

const BODIES: Readonly<Record<WireName, (turns: readonly Turn[], isMarked: boolean) => object>> = {
	anthropic(turns, isMarked) {
		const messages = turns.flatMap((turn): { role: string; content: Block[] }[] => {
			if ("user" in turn) return [{ role: "user", content: [{ type: "text", text: turn.user }] }];
			const thought = turn.thinking
				? [{ type: "thinking", thinking: "Hm.", signature: turn.thinking }]
				: [];
			if ("answer" in turn) {
				const content = [...thought, { type: "text", text: turn.answer }];
				return [{ role: "assistant", content }];
			}
			const { id, tool: name, input, output, isError } = turn;
			const content = output ?? [{ type: "image", source: { type: "base64", data: "aGk=" } }];
			const result = { tool_use_id: id, type: "tool_result", content };
			return [
				{ role: "assistant", content: [...thought, { type: "tool_use", id, name, input }] },
				{ role: "user", content: [{ ...result, ...(isError && { is_error: true }) }] },
			];
		});
		const last = messages.at(-1)?.content.at(-1);
		if (last && isMarked) last.cache_control = { type: "ephemeral" };
		const system = [{ type: "text", text: "You are an agent." }];
		return { model: "claude-fable-5-1", messages, system, tools: [{ name: "read" }] };
	},
	responses: (turns) => ({
		model: "gpt-5.6",
		input: turns.flatMap((turn): Block[] => {
			if ("user" in turn) return [{ type: "message", role: "user", content: turn.user }];
			if ("answer" in turn) {
				const content = [{ type: "output_text", text: turn.answer }];
				return [{ type: "message", role: "assistant", content }];
			}
			const { id: call_id, tool: name, input, output } = turn;
			return [
				{ type: "function_call", call_id, name, arguments: JSON.stringify(input) },
				{
					...{ type: "function_call_output", call_id },
					output: output ?? [{ type: "input_image", image_url: "data:" }],
					metadata: { turn: 1 },
				},
			];
		}),
		stream: true,
	}),
	chat: (turns) => ({
		model: "glm-5",
		messages: turns.flatMap((turn): Block[] => {
			if ("user" in turn) return [{ role: "user", content: turn.user }];
			if ("answer" in turn) return [{ role: "assistant", content: turn.answer }];
			const { id, tool: name, input, output } = turn;
			const called = { name, arguments: JSON.stringify(input) };
			const content = output ?? [{ type: "image_url", image_url: { url: "data:" } }];
			return [
				{ role: "assistant", tool_calls: [{ id, type: "function", function: called }] },
				{ role: "tool", tool_call_id: id, content },
			];
		}),
	}),
	gemini: (turns) => ({
		contents: turns.flatMap((turn): Block[] => {
			if ("user" in turn) return [{ role: "user", parts: [{ text: turn.user }] }];
			if ("answer" in turn) return [{ role: "model", parts: [{ text: turn.answer }] }];
			const { id, tool: name, input, output, isError } = turn;
			const response =
				output === undefined
					? { output: "", image: "aGk=" }
					: { [isError ? "error" : "output"]: output };
			return [
				{
					role: "model",
					parts: [{ functionCall: { id, name, args: input }, thoughtSignature: "c2ln" }],
				},
				{ role: "user", parts: [{ functionResponse: { id, name, response } }] },
			];
		}),
	}),
};

/** The results of a body in order, read without any code of ours. */
export function textsIn(wire: WireName, body: Buffer): (string | undefined)[] {
	const parsed = JSON.parse(body.toString("utf8"));
	const all: Block[] = parsed.messages ?? parsed.input ?? parsed.contents;
	const textOf = (content: unknown) => (typeof content === "string" ? content : undefined);
	if (wire === "responses") {
		return all
			.filter(({ type }) => type === "function_call_output")
			.map(({ output }) => textOf(output));
	}
	if (wire === "chat") {
		return all.filter(({ role }) => role === "tool").map(({ content }) => textOf(content));
	}
	if (wire === "gemini") {
		return all
			.flatMap(({ parts }) => parts as Block[])
			.flatMap(({ functionResponse }) => {
				if (!functionResponse) return [];
				const { response } = functionResponse as { response: Block };
				return [
					Object.keys(response).length === 1
						? textOf(response.output ?? response.error)
						: undefined,
				];
			});
	}
	return all
		.flatMap(({ content }) => content as Block[])
		.filter(({ type }) => type === "tool_result")
		.map(({ content }) => textOf(content));
}
