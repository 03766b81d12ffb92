import { type LoadedConfig, loadConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { createExcludedValues, type ExcludedValues } from "../core/excluded-values.ts";
import { projectRoot } from "../core/places.ts";
import { property } from "../core/property.ts";
import { createCacheTimer, rulesOf, type SentWith } from "./cache-clock.ts";
import type { Host, HostContext, HostEvents, StartReason } from "./host.ts";
import { createLedger } from "./ledger.ts";
import { createPendingEdits } from "./pending-edits.ts";
import type { SessionView, Spine, System } from "./system.ts";

export function createSession(host: Host, events: HostEvents) {
	let systems: readonly System[] = [];
	let running = false;
	let loaded: { cwd: string; config: LoadedConfig; values?: ExcludedValues } | undefined;
	const timer = createCacheTimer();
	const ledger = createLedger({
		returnedHash: (item) => firstOf(systems, (system) => system.returnedHash?.(item)),
	});
	const edits = createPendingEdits(ledger, host);
	const shown: SessionView["shown"] = {
		shownBy(message) {
			for (const system of systems) {
				const files = system.shownBy?.(message);
				if (system.shownBy && (!files || files.length > 0)) return files;
			}
			return [];
		},
		shownBeside: () => firstOf(systems, (system) => system.shownBeside?.()) ?? NONE,
	};

	const spine: Spine = { host, ledger, edits, at };
	return { ...spine, run };

	/** Inherits from pi's context, whose getters stay lazy: they throw once the session is gone. */
	function at(ctx: HostContext): SessionView {
		const own: Omit<SessionView, keyof HostContext> = {
			ledger,
			edits,
			shown,
			get cache() {
				return timer.at(ctx, () => sentWith(ctx));
			},
			get window() {
				const usage = ctx.getContextUsage();
				return {
					tokens: usage?.tokens ?? undefined,
					size: usage?.contextWindow || Number.MAX_SAFE_INTEGER,
				};
			},
			get loaded() {
				return loadedFor(ctx.cwd).config;
			},
			get config() {
				return loadedFor(ctx.cwd).config.config;
			},
			get values() {
				return valuesFor(ctx.cwd);
			},
		};
		return Object.create(ctx, Object.getOwnPropertyDescriptors(own));
	}

	/** Subscribes once. Systems run in list order, all before the next extension's handlers. */
	function run(
		list: readonly System[],
		onStarted: (session: SessionView, failures: string[]) => void,
	): void {
		systems = list;
		const on = events.on.bind(events) as HostEvents["on"];
		/** One handler per system: pi shows what one throws and continues with the next. */
		const each = <Name extends keyof System>(
			name: Name,
			subscribe: (ask: NonNullable<System[Name]>) => void,
		) => {
			for (const system of systems) {
				const method = system[name];
				if (method) subscribe((method as () => void).bind(system) as never);
			}
		};

		on("session_start", async ({ reason }, ctx) => {
			const failures = await stop();
			running = true;
			loaded = undefined;
			edits.clear();
			const session = at(ctx);
			timer.open(ctx, reason);
			failures.push(...(await startAll(systems, session, reason)));
			onStarted(session, failures);
		});
		on("session_shutdown", async () => {
			const failures = await stop();
			if (failures.length > 0) throw new Error(failures.join("; "));
		});

		on("session_compact", () => timer.noteCompaction());
		each("onCompaction", (ask) => on("session_compact", (_event, ctx) => ask(at(ctx))));
		on("session_tree", () => {
			timer.noteBranch();
			edits.clear();
		});
		each("onBranch", (ask) => on("session_tree", (_event, ctx) => ask(at(ctx))));

		each("onPrompt", (ask) =>
			on("before_agent_start", async ({ prompt }, ctx) => {
				const message = await ask(typeof prompt === "string" ? prompt : undefined, at(ctx));
				return message && { message };
			}),
		);
		each("onRunStart", (ask) => on("agent_start", (_event, ctx) => ask(at(ctx))));
		each("onRunEnd", (ask) => on("agent_end", (_event, ctx) => ask(at(ctx))));

		on("context_with_system", ({ messages }, ctx) => {
			timer.noteRequest(sentWith(ctx, messages), rulesOf(ctx));
		});
		each("onRequest", (ask) =>
			on("context_with_system", async (event, ctx) => {
				const messages = await ask(event.messages, at(ctx));
				if (messages === event.messages) return undefined;
				return { messages: [...messages] as typeof event.messages };
			}),
		);
		on("context_with_system", ({ messages }, ctx) => {
			timer.noteBuilt();
			ledger.observe(ctx.sessionManager, messages);
			if (rulesOf(ctx).bindsThinking) edits.noteBinding(ctx.sessionManager, messages);
		});

		each("onPayload", (ask) =>
			on("before_provider_request", ({ payload }, ctx) => ask(payload, at(ctx))),
		);
		on("before_provider_request", ({ payload }) =>
			timer.notePayload(payload, host.getThinkingLevel()),
		);

		each("onMessage", (ask) => on("message_start", (_event, ctx) => ask(at(ctx))));
		// While the answer streams in, all other extensions are done with the request.
		on("message_start", ({ message }, ctx) => {
			if (message.role === "assistant") ledger.prepare(ctx.sessionManager);
		});

		each("onToolCall", (ask) => on("tool_call", async (event, ctx) => await ask(event, at(ctx))));
		// Any other tool may have written a file with a secret, and a copy of it.
		on("tool_result", ({ toolName }, ctx) => {
			if (toolName !== "read") valuesFor(ctx.cwd).expire();
		});
		each("onToolResult", (ask) => on("tool_result", (event, ctx) => ask(event, at(ctx))));

		let billed: ReturnType<typeof timer.noteAnswer>;
		on("message_end", ({ message }) => {
			billed = timer.noteAnswer(message);
		});
		each("onAnswer", (ask) =>
			on("message_end", async ({ message }, ctx) => {
				if (message.role !== "assistant") return;
				const failed = message.stopReason === "error" || message.stopReason === "aborted";
				await ask({ message, failed, billed }, at(ctx));
			}),
		);

		// A single handler: pi keeps only the last list, and rebuilds the whole session for each.
		const failedTurnEnds = new Set<string>();
		on("turn_end", async (event, ctx) => {
			let { entries } = event;
			for (const system of systems) {
				try {
					const drafts = await system.onTurnEnd?.({ ...event, entries }, at(ctx));
					if (drafts && drafts.length > 0) entries = [...entries, ...drafts];
				} catch (error) {
					failedTurnEnds.add(`${system.name}: ${describeError(error)}`);
				}
			}
			return entries === event.entries ? undefined : { entries };
		});
		// Thrown in `turn_end`, they would drop the drafts of the other systems.
		on("agent_end", () => {
			const failures = [...failedTurnEnds];
			failedTurnEnds.clear();
			if (failures.length > 0) throw new Error(failures.join("; "));
		});

		if (!systems.some(({ read }) => read)) return;
		const guidelines = systems.flatMap(({ readGuideline }) => readGuideline ?? []);
		host.ownRead(async (call, ctx, plain) => {
			for (const system of systems) {
				const answer = await system.read?.(call, at(ctx), plain);
				if (answer) return answer;
			}
			return await plain(call);
		}, guidelines);
	}

	function sentWith(ctx: HostContext, messages?: readonly unknown[]): SentWith {
		const { model } = ctx;
		// Such models take system prompt changes mid-conversation: the prefix before them stays cached.
		const takesChanges = property(model?.compat, "supportsMidConvoSystemMessages") === true;
		const systemMessages = messages?.filter((message) => property(message, "role") === "system");
		return {
			model: `${model?.provider}/${model?.id}`,
			thinking: host.getThinkingLevel(),
			tools: takesChanges ? undefined : JSON.stringify(host.getActiveTools()),
			...(systemMessages && {
				head: JSON.stringify(takesChanges ? systemMessages.slice(0, 1) : systemMessages),
			}),
		};
	}

	function loadedFor(cwd: string): NonNullable<typeof loaded> {
		if (loaded?.cwd !== cwd) {
			loaded = { cwd, config: loadConfig({ agentDir: host.agentDir, cwd }) };
		}
		return loaded;
	}

	function valuesFor(cwd: string): ExcludedValues {
		const current = loadedFor(cwd);
		const { exclude } = current.config.config.readcache;
		current.values ??= createExcludedValues({ root: projectRoot(cwd), exclude });
		return current.values;
	}

	/** Idempotent. */
	async function stop(): Promise<string[]> {
		if (!running) return [];
		running = false;
		return await stopAll(systems);
	}
}

const NONE: readonly [] = [];

export function startAll(systems: readonly System[], session: SessionView, reason: StartReason) {
	return askEach(systems, "started", (system) => system.start?.(session, reason));
}

/** In reverse order. */
export function stopAll(systems: readonly System[]) {
	return askEach(systems.toReversed(), "stopped", (system) => system.stop?.());
}

/** One failure does not keep the others from it. Returns failures. */
async function askEach(
	systems: readonly System[],
	what: "started" | "stopped",
	ask: (system: System) => void | Promise<void>,
): Promise<string[]> {
	const failures: string[] = [];
	for (const system of systems) {
		try {
			await ask(system);
		} catch (error) {
			failures.push(`${system.name} could not be ${what}: ${describeError(error)}`);
		}
	}
	return failures;
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
