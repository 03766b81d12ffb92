/** A fake of pi with only those parts that the session and its systems use. */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { type Mock, vi } from "vitest";
import type { Host, HostContext } from "../../src/session/host.ts";
import { Session, type SessionView, type System } from "../../src/session/index.ts";
import { tempDir } from "./temp.ts";

/** The session's context, as a test sets it. */
export type FakeContext = Partial<
	Omit<HostContext, "sessionManager" | "modelRegistry" | "model">
> & {
	sessionManager?: object;
	modelRegistry?: object;
	model?: object;
};

/** A session on a fake host that records every call to pi. */
export function fakeSession(context: FakeContext = {}) {
	const handlers = new Map<string, ((event: object, ctx: ExtensionContext) => unknown)[]>();
	const notices: string[] = [];
	const state = { thinking: "off", tools: ["read", "bash"] };
	const host = {
		agentDir: tempDir(),
		readLimits: { maxLines: 2000, maxBytes: 50_000 },
		registerTool: vi.fn(),
		registerCommand: vi.fn(),
		appendEntry: vi.fn(),
		sendMessage: vi.fn(),
		getThinkingLevel: () => state.thinking,
		getActiveTools: () => state.tools,
		setActiveTools: (names: string[]) => (state.tools = names),
		ownRead: vi.fn(),
		otherReadOwner: () => undefined,
		report: vi.fn(),
	} as unknown as Host & Record<"ownRead" | "appendEntry" | "report", Mock>;
	const ctx = {
		cwd: tempDir(),
		model: { provider: "anthropic", id: "claude-opus-4-5", api: "anthropic-messages" },
		hasUI: false,
		mode: "print",
		signal: undefined,
		ui: { notify: (text: string) => notices.push(text), setStatus: () => {} },
		getContextUsage: () => undefined,
		hasPendingMessages: () => false,
		...context,
		modelRegistry: { find: () => undefined, ...context.modelRegistry },
		sessionManager: {
			getSessionId: () => "session",
			getLeafId: () => null,
			getEntries: () => [],
			getBranch: () => [],
			getEntry: () => undefined,
			buildSessionProjection: () => ({ entries: [] }),
			...context.sessionManager,
		},
	} as unknown as ExtensionContext;
	const session = new Session(host, {
		on: (name: string, handler: never) =>
			void handlers.set(name, [...(handlers.get(name) ?? []), handler]),
	} as never);
	return {
		session,
		host,
		ctx,
		state,
		notices,
		view: (): SessionView => session.at(ctx),
		/** Subscribes, and opens the session. */
		async run(systems: readonly System[], reason = "startup"): Promise<void> {
			session.run(systems, () => {});
			await emit("session_start", { reason });
		},
		emit,
	};

	/** Calls the handlers of an event in their order, as pi does. Returns what they returned. */
	async function emit(name: string, event: object): Promise<unknown[]> {
		const results: unknown[] = [];
		let current = event;
		for (const handler of handlers.get(name) ?? []) {
			const result = await handler(current, ctx);
			results.push(result);
			if (result && typeof result === "object" && !Array.isArray(result)) {
				if ("messages" in result) current = { ...current, ...result };
			}
		}
		return results;
	}
}
