/** A session around the two `read` tools, pi's own and ours, with only those parts of an agent that they use. */
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import {
	createReadToolDefinition,
	type ExtensionAPI,
	type ExtensionContext,
	SessionManager,
} from "@earendil-works/pi-coding-agent";
import strata from "../../src/extension/index.ts";

/** The arguments of a `read` call. */
export interface ReadArgs {
	path: string;
	offset?: number;
	limit?: number;
}

export interface ReadAnswer {
	content: { type: string; text?: string }[];
	details?: { readcache?: { mode: string; servedHash: string } };
}

/** A `read` call that the model has made and that is about to run. */
export interface PendingRead {
	id: string;
	args: ReadArgs;
}

export interface ReadSession {
	readonly cwd: string;
	readonly manager: SessionManager;
	/** Writes a file of the project. */
	write(path: string, content: string): void;
	/** Everything pi does before a tool runs: the request is observed, the model's call enters the session. */
	ask(args: ReadArgs, options?: { observe?: boolean }): PendingRead;
	/** Our `read`: the part that is timed. */
	read(call: PendingRead, signal?: AbortSignal): Promise<ReadAnswer>;
	/** Pi's own `read`. */
	plainRead(args: ReadArgs): Promise<ReadAnswer>;
	/** The result enters the session. */
	record(call: PendingRead, answer: ReadAnswer): string;
	/** Another tool's call and result enter the session; `effect` is what the tool does. */
	runOther(toolName: string, args: object, text: string, effect?: () => void): Promise<string>;
	/** Waits until the file version behind an answer is in the store. */
	stored(answer: ReadAnswer): Promise<void>;
	/** `ask`, `read`, `record` and `stored` in one. */
	readAndRecord(args: ReadArgs): Promise<ReadAnswer>;
	close(): Promise<void>;
}

type Handler = (event: object, ctx: ExtensionContext) => unknown;
type Tool = { name: string; execute: ReturnType<typeof createReadToolDefinition>["execute"] };

/**
 * Opens a session in a temp folder. Our tool is the one that the extension registers; `pi` is a stand-in that hands
 * out what was registered, so that no agent loop runs inside the timed part. The session manager is pi's.
 */
export async function openReadSession(): Promise<ReadSession> {
	const root = realpathSync(mkdtempSync(join(tmpdir(), "strata-bench-")));
	process.env.PI_CODING_AGENT_DIR = join(root, "agent"); // the user's own settings must not apply
	const cwd = join(root, "home", "project"); // a typical depth of projects
	mkdirSync(cwd, { recursive: true });
	const manager = SessionManager.inMemory(cwd);
	const ctx = contextFor(cwd, manager);

	const handlers = new Map<string, Handler[]>();
	const tools = new Map<string, Tool>();
	strata({
		on: (name: string, handler: Handler) => {
			handlers.set(name, [...(handlers.get(name) ?? []), handler]);
		},
		registerTool: (tool: Tool) => tools.set(tool.name, tool),
		registerCommand: () => {},
		registerEntryRenderer: () => {},
		registerMessageRenderer: () => {},
		appendEntry: (type: string, data: unknown) => manager.appendCustomEntry(type, data),
		getAllTools: () => [],
		getActiveTools: () => [],
		getCommands: () => [],
		getThinkingLevel: () => "off",
		sendMessage: () => {},
		setActiveTools: () => {},
	} as object as ExtensionAPI);
	const ours = tools.get("read");
	if (!ours) throw new Error("The extension has registered no read tool");
	const pis = createReadToolDefinition(cwd);
	const emit = async (name: string, event: object) => {
		let returned: unknown;
		for (const handler of handlers.get(name) ?? [])
			returned = (await handler(event, ctx)) ?? returned;
		return returned as object | undefined;
	};
	await emit("session_start", { reason: "startup" });
	const copiesOf = createCopies();
	let calls = 0;

	const session: ReadSession = {
		cwd,
		manager,
		write(path, content) {
			const file = join(cwd, path);
			mkdirSync(dirname(file), { recursive: true });
			writeFileSync(file, content);
		},
		ask(args, { observe = true } = {}) {
			if (observe) {
				void emit("context_with_system", { messages: copiesOf(session.manager) });
				void emit("message_start", { message: { role: "assistant" } });
			}
			const call = { id: `call-${++calls}`, args };
			appendCall(call.id, "read", args);
			return call;
		},
		async read({ id, args }, signal) {
			return (await ours.execute(id, args, signal, undefined, ctx)) as ReadAnswer;
		},
		async plainRead(args) {
			return (await pis.execute("plain", args, undefined, undefined, ctx)) as ReadAnswer;
		},
		record: ({ id }, answer) => appendResult(id, "read", answer),
		async runOther(toolName, input, text, effect) {
			const id = `call-${++calls}`;
			appendCall(id, toolName, input);
			const call = { toolName, toolCallId: id, input };
			await emit("tool_call", call);
			effect?.();
			const answer: ReadAnswer = { content: [{ type: "text", text }] };
			const changed = await emit("tool_result", { ...call, ...answer, isError: false });
			return appendResult(id, toolName, { ...answer, ...changed });
		},
		async stored({ details }) {
			const meta = details?.readcache;
			if (!meta || meta.mode.startsWith("unchanged")) return;
			const name = `sha256-${meta.servedHash}.txt`;
			const path = join(cwd, ".pi", "readcache", "objects", name);
			for (const start = performance.now(); !existsSync(path); ) {
				if (performance.now() - start > 5_000) throw new Error(`${name} was not stored in 5 s`);
				await setImmediate();
			}
			await setImmediate(); // the writer is notified
		},
		async readAndRecord(args) {
			const call = session.ask(args);
			const answer = await session.read(call);
			session.record(call, answer);
			await session.stored(answer);
			return answer;
		},
		async close() {
			await emit("session_shutdown", { reason: "quit" });
			rmSync(root, { recursive: true, force: true });
		},
	};
	return session;

	function appendCall(id: string, name: string, args: object): void {
		manager.appendMessage({
			role: "assistant",
			content: [{ type: "toolCall", id, name, arguments: { ...args } }],
			api: "anthropic-messages",
			provider: "bench",
			model: "bench",
			usage: noUsage,
			stopReason: "toolUse",
			timestamp: Date.now(),
		});
	}

	function appendResult(toolCallId: string, toolName: string, answer: ReadAnswer): string {
		return manager.appendMessage({
			role: "toolResult",
			toolCallId,
			toolName,
			content: answer.content as { type: "text"; text: string }[],
			...(answer.details && { details: answer.details }),
			isError: false,
			timestamp: Date.now(),
		});
	}
}

/** How our tool answered: a mode of the read cache, or "plain" for a read it leaves to pi. */
export function modeOf(answer: ReadAnswer): string {
	return answer.details?.readcache?.mode ?? "plain";
}

/** Stops the benchmark when an answer is not of the expected kind. */
export function expectMode(answer: ReadAnswer, expected: string): void {
	const mode = modeOf(answer);
	if (mode !== expected) throw new Error(`Expected the answer "${expected}", got "${mode}"`);
}

/**
 * The messages of a request: copies, as in pi, since comparing a text with itself would be too cheap. Each is made once,
 * or garbage of long sessions would be collected during a timed part.
 */
function createCopies() {
	const copies = new WeakMap<object, object>();
	const copyOf = (message: object) => {
		const copy = copies.get(message) ?? structuredClone(message);
		copies.set(message, copy);
		return copy;
	};
	return (manager: SessionManager) => manager.buildSessionContext().messages.map(copyOf);
}

function contextFor(cwd: string, sessionManager: SessionManager): ExtensionContext {
	return {
		cwd,
		sessionManager,
		mode: "print",
		hasUI: false,
		isProjectTrusted: () => true,
		getContextUsage: () => undefined,
		ui: { setStatus: () => {}, notify: () => {} },
	} as object as ExtensionContext;
}

const noUsage = {
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 0,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
