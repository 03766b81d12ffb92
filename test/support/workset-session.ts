import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession, ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { vi } from "vitest";
import strata from "../../src/extension/index.ts";
import {
	FREE_MODEL,
	type LoopbackAnthropic,
	type LoopbackModel,
	startLoopbackAnthropic,
} from "./loopback-anthropic.ts";
import { openLoopbackSession } from "./loopback-session.ts";
import type { NamedExtension } from "./pi-runtime.ts";
import { someText } from "./pruning-session.ts";
import { atEnd, tempDir } from "./temp.ts";

/** A copy of a working file in a request. */
export interface CopyInRequest {
	path: string;
	text: string;
}

/** Every text block of a request that says it is a working file, in order. */
export function copiesIn(messages: readonly { content: unknown }[]): CopyInRequest[] {
	return messages.flatMap(({ content }) =>
		(Array.isArray(content) ? content : []).flatMap(({ text }: { text?: unknown }) => {
			const found = COPY.exec(String(text));
			return found ? [{ path: JSON.parse(found[1] ?? ""), text: found[2] ?? "" }] : [];
		}),
	);
}

const COPY = /^<working-file path=("(?:[^"\\]|\\.)*")[^\n]*>\n([\s\S]*)\n<\/working-file>$/;

/** The last copy of each file, which the model takes for its text. */
export function liveIn(messages: readonly { content: unknown }[]): Record<string, string> {
	return Object.fromEntries(copiesIn(messages).map(({ path, text }) => [path, text]));
}

/** How {@link startOnWire} sets pi up. */
export interface WireOptions {
	/** `tiers` of the project's settings. */
	tiers?: Record<string, unknown>;
	/** `prune` of the settings. */
	prune?: Record<string, unknown>;
	model?: LoopbackModel;
	/** Default: pi-strata. */
	extensions?: NamedExtension[];
	folder?: string;
	keepRecentTokens?: number;
	/** Default: read, edit and write. */
	tools?: string[];
	/** With one, commands leave their reports in the session. */
	uiContext?: Partial<ExtensionUIContext>;
}

/** A session against a provider with a prompt cache of its own, and three files of 1,500 tokens each: a, b and c.ts. */
export async function startOnWire(options: WireOptions = {}): Promise<{
	loop: LoopbackAnthropic;
	session: AgentSession;
	write(name: string, text: string): void;
}> {
	const {
		tiers = {},
		prune = {},
		model = {},
		folder = tempDir(),
		keepRecentTokens,
		uiContext,
		tools = ["read", "edit", "write"],
	} = options;
	const { extensions = [{ name: "strata", factory: strata }] } = options;
	vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
	atEnd(() => vi.useRealTimers());
	const loop = await startLoopbackAnthropic({
		cache: { minTokens: 64 },
		now: () => Date.now(),
		thinks: true,
	});
	atEnd(() => loop.close());
	const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
	for (const name of ["a", "b", "c"]) write(`${name}.ts`, someText(name.charCodeAt(0), 6000));
	write("strata.json", JSON.stringify({ tiers, prune, blobs: { dir: join(folder, "blobs") } }));
	const session = await openLoopbackSession({
		loop,
		folder,
		model: { cost: COST, reasoning: true, ...model },
		extensions,
		tools,
		...(keepRecentTokens !== undefined && { keepRecentTokens }),
		...(uiContext && { uiContext }),
	});
	return { loop, session, write };
}

/** A model that does not bind thinking, so that the working set may move content that was sent. */
export const FREE: LoopbackModel = { id: FREE_MODEL };

const COST = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
const START_MS = 1_800_000_000_000;
