import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** The behaviour of our fake KotaDB: an MCP server over stdio that is well-behaved or broken on demand. */
export interface Behaviour {
	/** A file to which each start and each call is added, for the test to inspect. */
	readonly journal: string;
	/** What each tool does. A tool that is not listed is unknown. */
	readonly tools?: Readonly<Record<string, Reply>>;
	/** The number of first starts that end at once, with exit status 3. */
	readonly crashingStarts?: number;
	/** Never answers the first message. */
	readonly silent?: boolean;
	/** Answers the first message with an unknown version of MCP. */
	readonly version?: string;
	/** Written to standard error and output before anything else. */
	readonly stderr?: string;
	readonly stdout?: string;
	/** Ignores SIGTERM and the end of its input. */
	readonly stubborn?: boolean;
	/** Starts a process of its own, as `bun x` does. */
	readonly hasChild?: boolean;
}

export type Reply =
	/** JSON, as KotaDB gives it: one text block. */
	| { readonly json: unknown; readonly afterMs?: number }
	/** Text that may be anything. */
	| { readonly text: string }
	/** The whole MCP result. */
	| { readonly result: unknown }
	/** A result that is marked as an error. */
	| { readonly error: string }
	/** An error of the protocol. */
	| { readonly protocolError: string }
	/** Ends with exit status 7; only the first `times` times, then it answers. */
	| { readonly crash: true; readonly times?: number; readonly json?: unknown }
	/** Blocks its event loop forever. */
	| { readonly blocks: true }
	/** A text of so many bytes. */
	| { readonly bytes: number };

export type JournalEntry =
	| {
			readonly event: "start";
			readonly pid: number;
			readonly cwd: string;
			readonly env: Record<string, string>;
			/** Earlier ones that were still there. */
			readonly beside: number[];
	  }
	| { readonly event: "child"; readonly pid: number }
	| { readonly event: "call"; readonly tool: string; readonly args: Record<string, unknown> }
	| { readonly event: "answer"; readonly answered: string };

/** The program and arguments that start the server. */
export function mcpKota(behaviour: Behaviour): { command: string; args: string[] } {
	return { command: process.execPath, args: [thisFile, JSON.stringify(behaviour)] };
}

/** What the server has noted so far. */
export function readJournal(path: string): JournalEntry[] {
	if (!existsSync(path)) return [];
	const lines = readFileSync(path, "utf8").split("\n").filter(Boolean);
	return lines.map((line) => JSON.parse(line) as JournalEntry);
}

const thisFile = fileURLToPath(import.meta.url);

function serve(behaviour: Behaviour): void {
	const { journal, crashingStarts = 0, stubborn } = behaviour;
	const note = (entry: JournalEntry) => appendFileSync(journal, `${JSON.stringify(entry)}\n`);
	const env = process.env as Record<string, string>;
	const earlier = readJournal(journal).flatMap((one) => (one.event === "start" ? [one.pid] : []));
	const beside = earlier.filter(isThere);
	note({ event: "start", pid: process.pid, cwd: process.cwd(), env, beside });
	if (behaviour.stderr) process.stderr.write(behaviour.stderr);
	if (behaviour.stdout) process.stdout.write(behaviour.stdout);
	if (earlier.length < crashingStarts) process.exit(3);
	if (behaviour.hasChild) {
		const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
		note({ event: "child", pid: child.pid ?? 0 });
	}
	if (stubborn) {
		process.on("SIGTERM", () => {});
		setInterval(() => {}, 1000);
	}
	const input = createInterface({ input: process.stdin });
	input.on("line", (line) => {
		const message = JSON.parse(line) as Message;
		if (message.method === "initialize" && !behaviour.silent) {
			send(message.id, {
				result: {
					protocolVersion: behaviour.version ?? message.params.protocolVersion,
					capabilities: { tools: {} },
					serverInfo: { name: "mcp-kota", version: "2.2.0" },
				},
			});
		}
		if (message.method === "tools/call") {
			const { name, arguments: args } = message.params as unknown as ToolParams;
			note({ event: "call", tool: name, args });
			answer(message.id, name, behaviour, () => note({ event: "answer", answered: name }));
		}
	});
	input.on("close", () => {
		if (!stubborn && !behaviour.silent) process.exit(0);
	});
}

function isThere(pid: number): boolean {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
}

interface Message {
	readonly id: number;
	readonly method: string;
	readonly params: Record<string, unknown>;
}

interface ToolParams {
	readonly name: string;
	readonly arguments: Record<string, unknown>;
}

function answer(
	id: number,
	tool: string,
	{ journal, tools = {} }: Behaviour,
	noteAnswer: () => void,
): void {
	const reply = tools[tool];
	if (!reply) {
		send(id, { error: { code: -32602, message: `Unknown tool: ${tool}` } });
	} else if ("blocks" in reply) {
		Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
	} else if ("crash" in reply) {
		const calls = readJournal(journal).filter((entry) => "tool" in entry && entry.tool === tool);
		if (calls.length <= (reply.times ?? Number.POSITIVE_INFINITY)) {
			process.stderr.write("Segmentation fault\n");
			process.exit(7);
		}
		send(id, bodyOf({ json: reply.json }));
	} else {
		const afterMs = "afterMs" in reply ? reply.afterMs : 0;
		setTimeout(() => {
			noteAnswer();
			send(id, bodyOf(reply));
		}, afterMs);
	}
}

function bodyOf(reply: Exclude<Reply, { crash: true } | { blocks: true }>): object {
	const text = (words: string) => ({ content: [{ type: "text", text: words }] });
	if ("protocolError" in reply) return { error: { code: -32603, message: reply.protocolError } };
	if ("error" in reply) return { result: { ...text(reply.error), isError: true } };
	if ("text" in reply) return { result: text(reply.text) };
	if ("result" in reply) return { result: reply.result };
	if ("bytes" in reply) return { result: text("x".repeat(reply.bytes)) };
	return { result: text(JSON.stringify(reply.json, undefined, 2)) };
}

function send(id: number, body: object): void {
	process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...body })}\n`);
}

if (process.argv[1] === thisFile) serve(JSON.parse(process.argv[2] ?? "{}") as Behaviour);
