/** A message of a session file. A result belongs to the call before it. */
export type Said =
	| { role: "user"; text: string; pictures?: readonly Picture[] }
	| { role: "toolResult"; text: string; pictures?: readonly Picture[]; details?: object }
	| { role: "assistant"; text: string; call?: { name: string; path: string } };

/** A picture in a message. */
export interface Picture {
	mimeType: string;
	/** Base64. */
	data: string;
}

const USAGE = {
	input: 1,
	output: 1,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 2,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** The demo's model, which is there. */
const SCRIPTED = { provider: "strata-demo", model: "scripted" };

/** The lines of a session file without its header: a conversation without branches. `model`: whose answers they are. */
export function sessionLines(
	said: readonly Said[],
	{ model = SCRIPTED, usage = USAGE }: { model?: typeof SCRIPTED; usage?: typeof USAGE } = {},
): object[] {
	let calls = 0;
	let tool = "read";
	return said.map((one, at) => {
		if (one.role === "assistant" && one.call) {
			calls++;
			tool = one.call.name;
		}
		return {
			type: "message",
			id: `e${at}`,
			parentId: at === 0 ? null : `e${at - 1}`,
			timestamp: new Date(at * 1000).toISOString(),
			message: {
				...messageOf(one, at, { id: `call-${calls}`, tool }),
				...(one.role === "assistant" && { ...model, usage }),
			},
		};
	});
}

function messageOf(said: Said, at: number, of: { id: string; tool: string }): object {
	const text = { type: "text", text: said.text };
	const pictures = "pictures" in said ? (said.pictures ?? []) : [];
	const content = [text, ...pictures.map((picture) => ({ type: "image", ...picture }))];
	const base = { role: said.role, timestamp: at * 1000, content };
	if (said.role === "user") return base;
	if (said.role === "toolResult") {
		const details = said.details && { details: said.details };
		return { ...base, toolCallId: of.id, toolName: of.tool, isError: false, ...details };
	}
	const { call } = said;
	const block = call && {
		type: "toolCall",
		id: of.id,
		name: call.name,
		arguments: { path: call.path },
	};
	return {
		...base,
		content: block ? [text, block] : [text],
		api: "anthropic-messages",
		stopReason: call ? "toolUse" : "stop",
	};
}
