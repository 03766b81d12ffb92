import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ImageContent, Message, TextContent } from "@earendil-works/pi-ai";
import type {
	AgentSession,
	AgentSessionRuntime,
	CompactionResult,
	CompactionSettings,
	CreateAgentSessionRuntimeFactory,
	ExtensionError,
	ExtensionUIContext,
	SessionManager,
} from "@earendil-works/pi-coding-agent";
import { enterAgentDir, leaveAgentDir } from "./agent-dir.ts";
import { createRuntimeFactory, type NamedExtension } from "./pi-runtime.ts";
import { sdk } from "./pi-sdk.ts";
import {
	createScriptedModel,
	type ScriptedModel,
	type ScriptedModelOptions,
	type Step,
} from "./scripted-model.ts";
import { atEnd, removeDir, tempDir } from "./temp.ts";

/** Settings under which results are as tools return them. */
export const BIRTH_OFF = { birth: { mode: "off" } };

/** How {@link startPi} sets pi up. Everything has a default. */
export interface PiOptions {
	/** Extensions in load order. Each factory runs again for every session, as in pi. */
	extensions?: readonly NamedExtension[];
	/** Project folder. Default: a temp folder, removed by `close()`. */
	cwd?: string;
	/** pi's user folder, also what `getAgentDir()` answers. Default: a temp folder, removed by `close()`. */
	agentDir?: string;
	/** The only tools to enable. Default: pi's own choice and all tools of the extensions. */
	tools?: readonly string[];
	/** Keep the session in a file (needed for `resume()` and `restart()`). Default: in memory. */
	persist?: boolean;
	/** Continue this session file; implies `persist`. */
	sessionFile?: string;
	/** Tokens the scripted model accepts. Default: 200 000. */
	contextWindow?: number;
	/** How the scripted model thinks. Default: "bound", as the newest models do. */
	thinking?: ScriptedModelOptions["thinking"];
	/** Default: no automatic compaction, and `compact()` keeps as little as pi can. */
	compaction?: CompactionSettings;
	/** Default: "print", where pi has no user interface and drops `ctx.ui.notify`. */
	mode?: "print" | "json" | "rpc" | "tui";
	/** Answers to dialogs and other UI calls; given in any mode, `ctx.hasUI` is true. */
	uiContext?: Partial<ExtensionUIContext>;
}

/** A tool result as the session stores it, before any context edit. */
export interface StoredResult {
	entryId: string;
	toolCallId: string;
	toolName: string;
	text: string;
	details: unknown;
	isError: boolean;
}

/**
 * Starts a real pi session in this process, with a scripted model in place of a provider. Inside a
 * test it closes itself when the test ends.
 */
export async function startPi(options: PiOptions = {}): Promise<PiHarness> {
	// Otherwise pi fetches model catalogues, ripgrep and fd over the network.
	process.env.PI_OFFLINE = "1";
	const pi = await PiHarness.start(options);
	atEnd(() => pi.close());
	return pi;
}

/** A running pi. The session objects change when pi replaces the session: ask for them each time. */
export class PiHarness {
	readonly cwd: string;
	readonly agentDir: string;
	/** Calls of `ctx.ui.notify`, of all sessions. Empty without a user interface (see `mode`). */
	readonly notifications: { message: string; type: "info" | "warning" | "error" }[] = [];
	/** Custom entries that extensions appended, of all sessions. */
	readonly reports: { customType: string; data: unknown; entryId: string }[] = [];
	/** Errors of extensions. `close()` throws if any is left: take expected ones out (`splice(0)`). */
	readonly errors: ExtensionError[] = [];

	readonly #options: PiOptions;
	readonly #model: ScriptedModel;
	readonly #ownDirs: string[] = [];
	#runtime: AgentSessionRuntime | undefined;
	#createRuntime: CreateAgentSessionRuntimeFactory | undefined;
	#closed = false;

	/** Use {@link startPi}, which also closes it. */
	static async start(options: PiOptions): Promise<PiHarness> {
		const pi = new PiHarness(options);
		// Tests of other systems want results as tools return them. Those of birth bring settings of their own.
		const settings = join(pi.agentDir, "strata.json");
		if (!existsSync(settings)) writeFileSync(settings, JSON.stringify(BIRTH_OFF));
		enterAgentDir(pi.agentDir);
		try {
			await pi.#open(pi.#firstSession());
		} catch (error) {
			leaveAgentDir(pi.agentDir);
			throw error;
		}
		return pi;
	}

	private constructor(options: PiOptions) {
		this.#options = options;
		this.#model = createScriptedModel({
			contextWindow: options.contextWindow ?? 200_000,
			isSummarising: () => this.session.isCompacting,
			thinking: options.thinking ?? "bound",
		});
		this.cwd = options.cwd ?? this.#ownDir("cwd");
		this.agentDir = options.agentDir ?? this.#ownDir("agent");
	}

	/** The messages of every request to the model, in order; summaries are in `summaryRequests`. */
	get contexts(): readonly Message[][] {
		return this.#model.contexts;
	}

	/** The messages of every request for a compaction or branch summary. */
	get summaryRequests(): readonly Message[][] {
		return this.#model.summaryRequests;
	}

	get session(): AgentSession {
		return this.#running().session;
	}

	get sessionManager(): SessionManager {
		return this.session.sessionManager;
	}

	/** The messages of the last request to the model. */
	lastContext(): Message[] {
		const last = this.contexts.at(-1);
		if (!last) throw new Error("The model has not been asked yet");
		return last;
	}

	/** Writes a file of the project, with its folders, and returns its absolute path. */
	write(relativePath: string, content: string | Uint8Array): string {
		const path = join(this.cwd, relativePath);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, content);
		return path;
	}

	/** Sends a prompt and returns once pi is idle. The script must have one step for each request. */
	async run(prompt: string, script: readonly Step[]): Promise<void> {
		await this.#model.play(script, async () => {
			await this.session.prompt(prompt);
			await this.session.waitForIdle();
		});
	}

	/** Runs an extension's command, as "/name arguments"; `script` is for commands that ask the model. */
	async command(line: string, script: readonly Step[] = []): Promise<void> {
		const name = line.replace(/^\//, "").split(/\s/, 1)[0] ?? "";
		if (!this.session.extensionRunner.getCommand(name)) {
			throw new Error(`No extension has the command "/${name}"`); // pi would send it to the model
		}
		await this.run(line, script);
	}

	/** The tool results on the current branch, in order. */
	toolResults(): StoredResult[] {
		return this.sessionManager.getBranch().flatMap((entry) => {
			if (entry.type !== "message" || entry.message.role !== "toolResult") return [];
			const { toolCallId, toolName, content, details, isError } = entry.message;
			return [{ entryId: entry.id, toolCallId, toolName, text: textIn(content), details, isError }];
		});
	}

	/** The text stored for a tool call of the current branch. */
	textOf(toolCallId: string): string {
		const results = this.toolResults();
		const found = results.find((result) => result.toolCallId === toolCallId);
		if (found) return found.text;
		const known = results.map((result) => result.toolCallId).join(", ");
		throw new Error(`No result for tool call "${toolCallId}" on this branch, only for: ${known}`);
	}

	/** The text the last request had for a tool call; undefined if the call's result was not in it. */
	seenTextOf(toolCallId: string): string | undefined {
		for (const message of this.lastContext()) {
			if (message.role === "toolResult" && message.toolCallId === toolCallId) {
				return textIn(message.content);
			}
		}
		return undefined;
	}

	/**
	 * Moves to another entry, as /tree does (a user message: to just before it). With `summary`, the
	 * branch left behind is summarised, and that text is the model's answer.
	 */
	navigate(
		entryId: string,
		options: { summary?: string } = {},
	): ReturnType<AgentSession["navigateTree"]> {
		const { summary } = options;
		if (summary === undefined) return this.session.navigateTree(entryId);
		const navigate = () => this.session.navigateTree(entryId, { summarize: true });
		return this.#model.summarise(summary, navigate);
	}

	/** Compacts, as /compact does. `summary` is the model's answer. */
	compact(summary = "summary of the conversation"): Promise<CompactionResult> {
		return this.#model.summarise(summary, () => this.session.compact());
	}

	/** Edits what the model sees of an entry, from here on; `null` removes it. Returns the edit's entry id. */
	editContext(entryId: string, content: string | (TextContent | ImageContent)[] | null): string {
		const replacement = content === null ? null : { content };
		const editId = this.sessionManager.appendContextEdit(entryId, replacement);
		this.session.refreshContext();
		return editId;
	}

	/** Continues in a copy of the session up to an entry ("at"), or to just before a user message. */
	fork(
		entryId: string,
		position: "at" | "before" = "at",
	): Promise<{ cancelled: boolean; selectedText?: string }> {
		return this.#running().fork(entryId, { position });
	}

	/** Starts an empty session, as /new does. */
	newSession(): Promise<{ cancelled: boolean }> {
		return this.#running().newSession();
	}

	/** Opens a session file, as /resume does; by default the current one. */
	async resume(sessionFile = this.#savedFile()): Promise<{ cancelled: boolean }> {
		return this.#running().switchSession(sessionFile);
	}

	/** Quits pi and starts it again on the current session file, as `pi --continue` does. */
	async restart(): Promise<void> {
		const file = this.#savedFile();
		await this.#running().dispose();
		await this.#open(sdk.SessionManager.open(file));
	}

	/** Ends pi and removes the folders it made. Throws if an extension failed unnoticed. */
	async close(): Promise<void> {
		if (this.#closed) return;
		this.#closed = true;
		try {
			await this.#runtime?.session.abort();
			await this.#runtime?.dispose();
		} finally {
			leaveAgentDir(this.agentDir);
			for (const dir of this.#ownDirs) removeDir(dir);
		}
		if (this.errors.length === 0) return;
		const lines = this.errors.map((e) => `${e.extensionPath} in ${e.event}: ${e.stack ?? e.error}`);
		throw new Error(`Unexpected extension errors:\n${lines.join("\n")}`, { cause: this.errors });
	}

	async #open(sessionManager: SessionManager): Promise<void> {
		const { cwd, agentDir } = this;
		this.#createRuntime ??= await createRuntimeFactory({
			...this.#options,
			agentDir,
			model: this.#model,
			onConflict: (error) => this.errors.push(error),
		});
		const target = { cwd, agentDir, sessionManager };
		this.#runtime = await sdk.createAgentSessionRuntime(this.#createRuntime, target);
		this.#runtime.setRebindSession((session) => this.#bind(session));
		await this.#bind(this.#runtime.session);
	}

	#firstSession(): SessionManager {
		const { sessionFile, persist } = this.#options;
		if (sessionFile) return sdk.SessionManager.open(sessionFile);
		if (!persist) return sdk.SessionManager.inMemory(this.cwd);
		return sdk.SessionManager.create(this.cwd, join(this.agentDir, "sessions"));
	}

	/** As pi's own modes do for each session: subscribe, then start the extensions. */
	async #bind(session: AgentSession): Promise<void> {
		const runtime = this.#running();
		session.subscribe((event) => {
			if (event.type !== "entry_appended" || event.entry.type !== "custom") return;
			const { customType, data, id: entryId } = event.entry;
			this.reports.push({ customType, data, entryId });
		});
		const { mode = "print", uiContext } = this.#options;
		const hasUI = uiContext !== undefined || mode === "rpc" || mode === "tui";
		await session.bindExtensions({
			mode,
			...(hasUI && { uiContext: this.#recordingUi(session) }),
			commandContextActions: {
				waitForIdle: () => session.waitForIdle(),
				newSession: (options) => runtime.newSession(options),
				fork: (entryId, options) => runtime.fork(entryId, options),
				navigateTree: (targetId, options) => session.navigateTree(targetId, options),
				switchSession: (path, options) => runtime.switchSession(path, options),
				reload: () => session.reload(),
			},
			onError: (error) => this.errors.push(error),
		});
	}

	/** pi's own do-nothing interface, plus the answers of the test and a record of notifications. */
	#recordingUi(session: AgentSession): ExtensionUIContext {
		sdk.initTheme("dark");
		const answers = this.#options.uiContext;
		// Own properties only: pi copies the object, so inherited or proxied methods would be lost.
		return {
			...session.extensionRunner.getUIContext(),
			...answers,
			notify: (message, type = "info") => {
				this.notifications.push({ message, type });
				answers?.notify?.(message, type);
			},
		};
	}

	#running(): AgentSessionRuntime {
		if (!this.#runtime || this.#closed) throw new Error("This pi is closed");
		return this.#runtime;
	}

	#savedFile(): string {
		const file = this.session.sessionFile;
		if (file && existsSync(file)) return file;
		throw new Error("No session file yet: start pi with `persist: true` and run a prompt first");
	}

	#ownDir(prefix: string): string {
		const dir = tempDir(prefix);
		this.#ownDirs.push(dir);
		return dir;
	}
}

function textIn(content: readonly (TextContent | ImageContent)[]): string {
	return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
