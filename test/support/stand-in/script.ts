/** What the stand-in's model does, in words that fit every agent's tools. */
export type Step = Turn | Fault;

/** Reads a file, runs a shell command, gives a task to a sub-agent, or answers with a text. */
export type Turn = Act & {
	/** Compresses the answer if the client accepts it. */
	readonly gzip?: boolean;
	/** Pings after the first event, where the wire has them. */
	readonly pings?: number;
};

type Act =
	| { readonly read: string }
	| { readonly shell: string }
	| { readonly delegate: string }
	/** Calls a tool of an MCP server, by the server's name for it. */
	| { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }
	| { readonly say: string };

/**
 * A refusal with the vendor's error body, or a stream whose connection is cut in the middle. The client is expected to
 * send its request again, which takes the next step.
 */
export type Fault =
	| { readonly status: number; readonly retryAfter?: number; readonly gzip?: boolean }
	| { readonly cut: true };

/** The answer to one request. */
export type Reply =
	| { readonly text: string }
	| { readonly call: { readonly name: string; readonly input: ToolInput } };

/** A custom tool takes a text. */
type ToolInput = Readonly<Record<string, unknown>> | string;
type MakeInput = (what: string) => ToolInput;

/** The agents' names for their tools, with the input that each takes. */
const READERS: Readonly<Record<string, MakeInput>> = {
	Read: (path) => ({ file_path: path }),
	read: (path) => ({ filePath: path }),
	read_file: (path) => ({ file_path: path }),
};
const SHELLS: Readonly<Record<string, MakeInput>> = {
	Bash: (command) => ({ command, description: "Counts lines" }),
	bash: (command) => ({ command, description: "Counts lines" }),
	run_shell_command: (command) => ({ command, description: "Counts lines" }),
	exec_command: (cmd) => ({ cmd }),
	shell_command: (command) => ({ command }),
	// Codex runs JavaScript that calls its other tools.
	exec: (cmd) => `text(await tools.exec_command(${JSON.stringify({ cmd })}))`,
};
const DELEGATES: Readonly<Record<string, MakeInput>> = {
	Agent: (prompt) => ({
		description: "Counts notes",
		prompt,
		subagent_type: "general-purpose",
		run_in_background: false,
	}),
	task: (prompt) => ({ description: "Counts notes", prompt, subagent_type: "general" }),
};

/** Whether an agent that offers these tools can follow a script. Title and routing requests offer none. */
export function canAct(tools: readonly string[]): boolean {
	return tools.some((name) => name in SHELLS);
}

/** An agent without a tool for reading gets a shell command. */
export function replyTo(turn: Turn, tools: readonly string[]): Reply {
	if ("say" in turn) return { text: turn.say };
	const reply = callFor(turn, tools);
	if (!reply) throw new Error(`no tool for ${JSON.stringify(turn)} among ${tools.join(", ")}`);
	return reply;
}

function callFor(turn: Exclude<Act, { say: string }>, tools: readonly string[]): Reply | undefined {
	if ("tool" in turn) {
		const { tool, input } = turn;
		const name = tools.find((one) => one === tool || one.endsWith(`_${tool}`));
		return { call: { name: name ?? `mcp__strata__${tool}`, input } };
	}
	if ("delegate" in turn) return callOf(DELEGATES, turn.delegate, tools);
	if ("shell" in turn) return callOf(SHELLS, turn.shell, tools);
	return callOf(READERS, turn.read, tools) ?? callOf(SHELLS, `cat '${turn.read}'`, tools);
}

function callOf(
	known: Readonly<Record<string, MakeInput>>,
	what: string,
	tools: readonly string[],
): Reply | undefined {
	const name = tools.find((tool) => tool in known);
	const input = name === undefined ? undefined : known[name]?.(what);
	return name !== undefined && input !== undefined ? { call: { name, input } } : undefined;
}

/** The smallest value that a JSON schema allows, for requests that want one. */
export function valueFor(schema: unknown): unknown {
	const { type, properties, enum: choices } = Object(schema) as Record<string, unknown>;
	if (Array.isArray(choices)) return choices[0];
	switch (String(type).toLowerCase()) {
		case "object": {
			const fields = Object.entries(Object(properties) as Record<string, unknown>);
			return Object.fromEntries(fields.map(([name, field]) => [name, valueFor(field)]));
		}
		case "array":
			return [];
		case "number":
		case "integer":
			return 1;
		case "boolean":
			return false;
		default:
			return "simple";
	}
}
