import { type LoadedConfig, loadConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { ExcludedValues } from "../core/excluded-values.ts";
import { projectRoot } from "../core/places.ts";
import { property } from "../core/property.ts";
import { type BilledRequest, CacheTracker, type PrefixKey, rulesOf } from "./cache-clock.ts";
import type { Host, HostContext, HostEvents, StartReason } from "./host.ts";
import { Ledger } from "./ledger.ts";
import { PendingEdits } from "./pending-edits.ts";
import type { Progress, SessionView, Spine, System } from "./system.ts";

type OnStarted = (session: SessionView, failures: string[]) => void;

/** The loop of one session: passes pi's events to the systems. */
export class Session implements Spine {
	readonly host: Host;
	readonly ledger = new Ledger({
		returnedHash: (item) => firstOf(this.#systems, (system) => system.returnedHash?.(item)),
	});
	readonly edits: PendingEdits;
	readonly #events: HostEvents;
	readonly #shown: SessionView["shown"] = {
		shownBy: (message) => {
			for (const system of this.#systems) {
				const files = system.shownBy?.(message);
				if (system.shownBy && (!files || files.length > 0)) return files;
			}
			return [];
		},
		shownInRequest: () => firstOf(this.#systems, (system) => system.shownInRequest?.()) ?? NONE,
	};
	#systems: readonly System[] = [];
	#running = false;
	#cache = new CacheTracker();
	#loaded: { cwd: string; config: LoadedConfig; values?: ExcludedValues } | undefined;

	constructor(host: Host, events: HostEvents) {
		this.host = host;
		this.edits = new PendingEdits(this.ledger, host);
		this.#events = events;
	}

	/** A bound method. The view inherits pi's lazy getters, which throw after the session has ended. */
	readonly at = (ctx: HostContext): SessionView => {
		const loaded = () => this.#loadedFor(ctx.cwd).config;
		const getters: {
			[Key in Exclude<keyof SessionView, keyof HostContext>]: () => SessionView[Key];
		} = {
			ledger: () => this.ledger,
			edits: () => this.edits,
			shown: () => this.#shown,
			cache: () => this.#cache.clockFor(ctx, () => this.#prefixKey(ctx)),
			window: () => {
				const { tokens, contextWindow } = ctx.getContextUsage() ?? {};
				return { tokens: tokens ?? undefined, size: contextWindow || Number.MAX_SAFE_INTEGER };
			},
			loaded,
			config: () => loaded().config,
			values: () => this.#valuesFor(ctx.cwd),
		};
		const own = Object.entries(getters).map(([key, get]) => [key, { get, enumerable: true }]);
		return Object.create(ctx, Object.fromEntries(own));
	};

	/** Call this once. On each event, systems run in list order, all before the next extension's handlers. */
	run(systems: readonly System[], onStarted: OnStarted): void {
		this.#systems = systems;
		const on = this.#events.on.bind(this.#events) as HostEvents["on"];
		this.#onLifecycle(on, onStarted);
		this.#onRequests(on);
		this.#onTools(on);
		this.#onAnswers(on);
		this.#onProgress(on);
		this.#onTurnEnds(on);
		this.#ownRead();
	}

	#onLifecycle(on: HostEvents["on"], onStarted: OnStarted): void {
		on("session_start", async ({ reason }, ctx) => {
			const failures = await this.#stop();
			this.#running = true;
			this.#loaded = undefined;
			this.edits.clear();
			const session = this.at(ctx);
			this.#cache = new CacheTracker({ entries: ctx.sessionManager.getEntries(), reason });
			failures.push(...(await startAll(this.#systems, session, reason)));
			onStarted(session, failures);
		});
		on("session_shutdown", async () => throwAll(await this.#stop()));

		this.#each("onBeforeCompaction", (ask) =>
			on("session_before_compact", (_event, ctx) => ask(this.at(ctx))),
		);
		on("session_compact", () => this.#cache.noteCompaction());
		this.#each("onCompaction", (ask) => on("session_compact", (_event, ctx) => ask(this.at(ctx))));
		on("session_tree", () => {
			this.#cache.noteBranch();
			this.edits.clear();
		});
		this.#each("onBranch", (ask) => on("session_tree", (_event, ctx) => ask(this.at(ctx))));

		this.#each("onInput", (ask) =>
			on("input", async ({ text, images = [], source, streamingBehavior }, ctx) => {
				if (streamingBehavior !== undefined) return undefined; // part of a run
				const input = { text, hasImages: images.length > 0, isTyped: source === "interactive" };
				const isSent = await ask(input, this.at(ctx));
				return isSent ? undefined : { action: "handled" };
			}),
		);
		this.#each("onPrompt", (ask) =>
			on("before_agent_start", async ({ prompt }, ctx) => {
				const text = typeof prompt === "string" ? prompt : undefined;
				const message = await ask(text, this.at(ctx));
				return message && { message };
			}),
		);
		this.#each("onRunStart", (ask) => on("agent_start", (_event, ctx) => ask(this.at(ctx))));
		this.#each("onRunEnd", (ask) => on("agent_end", (_event, ctx) => ask(this.at(ctx))));
	}

	#onRequests(on: HostEvents["on"]): void {
		on("context_with_system", ({ messages }, ctx) => {
			this.#cache.noteRequest(this.#prefixKey(ctx, messages), rulesOf(ctx));
		});
		this.#each("onRequest", (ask) =>
			on("context_with_system", async (event, ctx) => {
				const messages = await ask(event.messages, this.at(ctx));
				if (messages === event.messages) return undefined;
				return { messages: [...messages] as typeof event.messages };
			}),
		);
		on("context_with_system", ({ messages }, ctx) => {
			this.#cache.noteBuilt();
			this.ledger.observe(ctx.sessionManager, messages);
			this.edits.noteBinding(ctx.sessionManager, messages, rulesOf(ctx).bindsThinking);
		});
		this.#each("onPayload", (ask) =>
			on("before_provider_request", ({ payload }, ctx) => ask(payload, this.at(ctx))),
		);
		on("before_provider_request", ({ payload }) =>
			this.#cache.notePayload(payload, this.host.getThinkingLevel()),
		);
	}

	#onTools(on: HostEvents["on"]): void {
		this.#each("onToolCall", (ask) =>
			on("tool_call", async (event, ctx) => await ask(event, this.at(ctx))),
		);
		// Any tool except `read` may have written a file with a secret, or a copy of the secret.
		on("tool_result", ({ toolName }, ctx) => {
			if (toolName !== "read") this.#valuesFor(ctx.cwd).expire();
		});
		this.#each("onToolResult", (ask) =>
			on("tool_result", (event, ctx) => ask(event, this.at(ctx))),
		);
	}

	#onAnswers(on: HostEvents["on"]): void {
		this.#each("onMessage", (ask) => on("message_start", (_event, ctx) => ask(this.at(ctx))));
		// When the answer starts to stream in, all other extensions are done with the request.
		on("message_start", ({ message }, ctx) => {
			if (message.role === "assistant") this.ledger.prepare(ctx.sessionManager);
		});
		// Since pi 1.5, and unknown to the types of earlier versions.
		this.#each("onStreamEvent", (ask) =>
			on("provider_stream_event" as "message_update", (event, ctx) =>
				ask(property(event, "data"), this.at(ctx)),
			),
		);
		let billed: BilledRequest | undefined;
		on("message_end", ({ message }) => {
			billed = this.#cache.noteAnswer(message);
		});
		this.#each("onAnswer", (ask) =>
			on("message_end", async ({ message }, ctx) => {
				if (message.role !== "assistant") return;
				const failed = message.stopReason === "error" || message.stopReason === "aborted";
				await ask({ message, failed, billed }, this.at(ctx));
			}),
		);
	}

	/** A view of the session is made only on demand: an answer has thousands of words. */
	#onProgress(on: HostEvents["on"]): void {
		this.#each("onProgress", (ask) => {
			const report = (progress: Progress, ctx: HostContext) => ask(progress, () => this.at(ctx));
			on("agent_start", (_event, ctx) => report({ kind: "run", isRunning: true }, ctx));
			on("agent_settled", (_event, ctx) => report({ kind: "run", isRunning: false }, ctx));
			on("message_start", ({ message }, ctx) => {
				if (message.role === "assistant") report({ kind: "answer", answer: message }, ctx);
			});
			on("message_update", ({ message, assistantMessageEvent: delta }, ctx) => {
				if (message.role === "assistant") report({ kind: "answer", answer: message, delta }, ctx);
			});
			on("message_end", ({ message }, ctx) => {
				if (message.role === "assistant") report({ kind: "answered" }, ctx);
			});
			on("tool_execution_start", (call, ctx) => report({ kind: "call", call }, ctx));
			on("tool_execution_update", ({ partialResult: output, ...call }, ctx) =>
				report({ kind: "call", call, output }, ctx),
			);
			on("tool_execution_end", ({ result, isError, ...call }, ctx) => {
				const [content, details] = [property(result, "content"), property(result, "details")];
				report({ kind: "called", call, ended: { content, details, isError } }, ctx);
			});
		});
	}

	/** One handler for all systems: pi uses only the last returned list, and rebuilds the session for each. */
	#onTurnEnds(on: HostEvents["on"]): void {
		const failed = new Set<string>();
		on("turn_end", async (event, ctx) => {
			let { entries } = event;
			for (const system of this.#systems) {
				try {
					const added = await system.onTurnEnd?.({ ...event, entries }, this.at(ctx));
					if (added && added.length > 0) entries = [...entries, ...added];
				} catch (error) {
					failed.add(`${system.name}: ${describeError(error)}`);
				}
			}
			return entries === event.entries ? undefined : { entries };
		});
		// If these errors were thrown in `turn_end`, the entries of the other systems would be lost.
		on("agent_end", () => {
			const failures = [...failed];
			failed.clear();
			throwAll(failures);
		});
	}

	#ownRead(): void {
		const systems = this.#systems;
		if (!systems.some(({ read }) => read)) return;
		const guidelines = systems.flatMap(({ readGuideline }) => readGuideline ?? []);
		this.host.ownRead(async (call, ctx, plain) => {
			for (const system of systems) {
				const answer = await system.read?.(call, this.at(ctx), plain);
				if (answer) return answer;
			}
			return await plain(call);
		}, guidelines);
	}

	/** One handler per system: pi reports a handler's error and continues with the next handler. */
	#each<Name extends keyof System>(name: Name, subscribe: (ask: Required<System>[Name]) => void) {
		for (const system of this.#systems) {
			const method = system[name];
			if (method) subscribe((method as () => void).bind(system) as never);
		}
	}

	#prefixKey(ctx: HostContext, messages?: readonly unknown[]): PrefixKey {
		const { model } = ctx;
		// Some models accept system prompt changes mid-conversation; the prefix before a change stays cached.
		const takesChanges = property(model?.compat, "supportsMidConvoSystemMessages") === true;
		const systemMessages = messages?.filter((message) => property(message, "role") === "system");
		return {
			model: `${model?.provider}/${model?.id}`,
			thinking: this.host.getThinkingLevel(),
			tools: takesChanges ? undefined : JSON.stringify(this.host.getActiveTools()),
			...(systemMessages && {
				head: JSON.stringify(takesChanges ? systemMessages.slice(0, 1) : systemMessages),
			}),
		};
	}

	#loadedFor(cwd: string) {
		if (this.#loaded?.cwd !== cwd) {
			this.#loaded = { cwd, config: loadConfig({ agentDir: this.host.agentDir, cwd }) };
		}
		return this.#loaded;
	}

	#valuesFor(cwd: string): ExcludedValues {
		const current = this.#loadedFor(cwd);
		const { exclude } = current.config.config.readcache;
		current.values ??= new ExcludedValues({ root: projectRoot(cwd), exclude });
		return current.values;
	}

	/** Idempotent. */
	async #stop(): Promise<string[]> {
		if (!this.#running) return [];
		this.#running = false;
		return await stopAll(this.#systems);
	}
}

const NONE: readonly [] = [];

export function startAll(systems: readonly System[], session: SessionView, reason: StartReason) {
	return askEach(systems, "started", (system) => system.start?.(session, reason));
}

/** Stops the systems in reverse order. */
export function stopAll(systems: readonly System[]) {
	return askEach(systems.toReversed(), "stopped", (system) => system.stop?.());
}

/** Asks every system, even after a failure. Returns all failures. */
async function askEach(
	systems: readonly System[],
	action: "started" | "stopped",
	ask: (system: System) => void | Promise<void>,
): Promise<string[]> {
	const failures: string[] = [];
	for (const system of systems) {
		try {
			await ask(system);
		} catch (error) {
			failures.push(`${system.name} could not be ${action}: ${describeError(error)}`);
		}
	}
	return failures;
}

function throwAll(failures: readonly string[]): void {
	if (failures.length > 0) throw new Error(failures.join("; "));
}

function firstOf<Value>(
	systems: readonly System[],
	ask: (system: System) => Value | undefined,
): Value | undefined {
	for (const system of systems) {
		const answer = ask(system);
		if (answer !== undefined) return answer;
	}
	return undefined;
}
