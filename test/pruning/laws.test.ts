/** What must hold in every session, whatever happens in it: played on pi's own session manager and a real store. */
import { join } from "node:path";
import { fauxAssistantMessage, type Message } from "@earendil-works/pi-ai";
import type { SessionManager } from "@earendil-works/pi-coding-agent";
import { expect, test } from "vitest";
import { type BlobStore, createBlobStore } from "../../src/core/blob-store.ts";
import { type Config, loadConfig } from "../../src/core/config.ts";
import { PIN_ENTRY } from "../../src/core/entry-types.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { rulesFor } from "../../src/economy/rules.ts";
import { prune } from "../../src/pruning/live.ts";
import { Pruner } from "../../src/pruning/pruner.ts";
import { contentOf } from "../../src/pruning/stub.ts";
import { createSurveyor } from "../../src/pruning/survey.ts";
import { fileTouchOf, touchesExcluded } from "../../src/readcache/index.ts";
import { Ledger } from "../../src/session/index.ts";
import { appendCalls, appendResult, newSession, PICTURE } from "../session/sessions.ts";
import { fc } from "../support/property.ts";
import { checkPairs, someText } from "../support/pruning-session.ts";
import { tempDir } from "../support/temp.ts";

type Step =
	| { do: "user" | "answer" | "failure" | "prune" }
	| { do: "calls"; tools: { tool: string; chars: number; as: "text" | "error" | "picture" }[] }
	| { do: "pin"; which: number; pinned: boolean }
	| { do: "compact" | "jump"; to: number };

const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("calls" as const),
			tools: fc.array(
				fc.record({
					tool: fc.constantFrom("read", "read", "bash", "grep", "kota_impact"),
					chars: fc.oneof(fc.nat(1500), fc.nat(40_000)),
					as: fc.constantFrom("text", "text", "text", "error", "picture"),
				}),
				{ minLength: 1, maxLength: 4 },
			),
		}),
	},
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constantFrom("user", "user", "answer", "answer", "failure", "prune", "prune"),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constant("pin" as const),
			which: fc.nat(),
			pinned: fc.boolean(),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.record({
			do: fc.constantFrom("compact" as const, "jump" as const),
			to: fc.nat(),
		}),
	},
);

test("in every session pruning keeps the context valid, touches nothing pinned or recent, loses nothing, and is done at once", {
	tags: "slow",
}, async () => {
	const nowhere = tempDir();
	const settings = loadConfig({ agentDir: nowhere, cwd: nowhere }).config;
	const blobs = createBlobStore({ ...settings.blobs, dir: join(nowhere, "blobs") });
	let prunings = 0;
	await fc.assert(
		fc.asyncProperty(
			fc.array(step, { minLength: 10, maxLength: 40, size: "max" }),
			fc.nat(3),
			async (steps, keepRecentTurns) => {
				const game = createGame(
					{ ...settings, prune: { ...settings.prune, keepRecentTurns } },
					blobs,
				);
				for (const next of steps) await game.play(next);
				await game.play({ do: "prune" });
				prunings += game.pruned();
			},
		),
		{ numRuns: 60 },
	);
	// Without any there would be nothing that could break a law.
	expect(prunings).toBeGreaterThan(200);
});

function createGame(settings: Config, blobs: BlobStore) {
	const session: SessionManager = newSession();
	const ledger = new Ledger();
	const touches = { fileTouchOf, touchesExcluded };
	const survey = createSurveyor({ settings, cwd: "/nowhere", touches });
	/** What the context was at each leaf, as a hash. */
	const shown = new Map<string, string>();
	let serial = 0;
	let pruned = 0;
	session.appendMessage({ role: "user", content: "go", timestamp: 0 });

	return {
		pruned: () => pruned,
		async play(next: Step): Promise<void> {
			if (next.do === "prune") await pruneNow();
			else if (next.do === "jump") jump(next.to);
			else happen(next);
			checkPairs(messagesNow());
			shown.set(session.getLeafId() ?? "", hashBytes(JSON.stringify(messagesNow())));
		},
	};

	function messagesNow(): Message[] {
		return session.buildSessionProjection().messages as Message[];
	}

	function happen(next: Exclude<Step, { do: "prune" | "jump" }>): void {
		switch (next.do) {
			case "user":
				session.appendMessage({ role: "user", content: "on", timestamp: 0 });
				return;
			case "answer":
				appendCalls(session);
				return;
			case "calls": {
				const calls = next.tools.map(({ tool }) => ({ tool, id: `c${serial++}`, args: {} }));
				appendCalls(session, ...calls);
				for (const [at, { id, tool }] of calls.entries()) {
					const { chars = 0, as = "text" } = next.tools[at] ?? {};
					const content = as === "picture" ? PICTURE : someText(serial + at, chars);
					appendResult(session, id, content, { toolName: tool, isError: as === "error" });
				}
				return;
			}
			case "failure":
				session.appendMessage(fauxAssistantMessage("", { stopReason: "error" }));
				return;
			case "pin":
				// Only what is there can be pinned: a compaction may take away a pin that came before its result.
				if (serial > 0)
					session.appendCustomEntry(PIN_ENTRY, {
						toolCallId: `c${next.which % serial}`,
						pinned: next.pinned,
					});
				return;
			case "compact": {
				const kept = session
					.getBranch()
					.filter((entry) => entry.type === "message" && entry.message.role === "user");
				session.appendCompaction("summary", kept[next.to % kept.length]?.id ?? null, 1000);
			}
		}
	}

	function jump(to: number): void {
		const leaves = [...shown.keys()];
		const leaf = leaves[to % leaves.length];
		if (leaf === undefined) return;
		session.branch(leaf);
		expect(hashBytes(JSON.stringify(messagesNow()))).toBe(shown.get(leaf));
	}

	async function pruneNow(): Promise<void> {
		const before = contextNow();
		const { candidates } = decide();
		const batch = await prune(candidates, blobs);
		expect(batch.why).toBeUndefined();
		for (const one of batch.pruned) {
			session.appendContextEdit(one.entryId, { content: contentOf(one.stub) });
		}
		pruned += batch.pruned.length;
		const after = contextNow();
		const gone = new Set(batch.pruned.map(({ entryId }) => entryId));
		// Nothing but those results is another, and each of them is shorter and can be had again.
		expect([...after.keys()]).toEqual([...before.keys()]);
		for (const [id, message] of after) {
			const old = before.get(id);
			if (!gone.has(id)) {
				if (JSON.stringify(message) !== JSON.stringify(old)) expect(message).toEqual(old);
				continue;
			}
			const [text, was] = [textIn(message), textIn(old)];
			expect(text.length).toBeLessThan(was.length);
			const blob = /([0-9a-f]{64})\.txt$/.exec(text)?.[1] ?? "";
			expect(await blobs.load(blob)).toEqual({ kind: "found", text: was });
		}
		for (const id of keptIn(before)) expect(gone.has(id)).toBe(false);
		expect(decide().candidates).toEqual([]);
	}

	function decide() {
		return new Pruner(settings.prune).preview({
			...survey({ ledger, sessionManager: session }),
			editableFrom: 0,
			rules: rulesFor({ provider: "anthropic", id: "claude-opus-4-5" }),
			cold: true,
			contextTokens: 0,
			contextWindow: 200_000,
			ttl: "5m",
		});
	}

	/** The messages by entry. */
	function contextNow(): Map<string, Message> {
		const { entries } = session.buildSessionProjection();
		return new Map(
			entries.flatMap(({ sourceEntry, messages }) =>
				messages.map((message) => [sourceEntry.id, message as Message] as const),
			),
		);
	}

	/** The entries that must stay: pinned, failed, pictures, not answered yet, or recent by turns and tokens. */
	function keptIn(context: Map<string, Message>): string[] {
		const pinned = pinnedNow();
		const kept: string[] = [];
		let isAnswered = false;
		let turnsBack = 0;
		let chars = 0;
		for (const [id, message] of [...context].reverse()) {
			if (message.role === "user") turnsBack++;
			if (message.role === "assistant" && message.stopReason !== "error") isAnswered = true;
			if (message.role !== "toolResult") continue;
			const isPicture = message.content.some(({ type }) => type === "image");
			chars += isPicture ? 4800 : textIn(message).length;
			// A little less than 20,000 tokens: the calls count too.
			const isRecent = turnsBack < settings.prune.keepRecentTurns && chars <= 75_000;
			const isKept = isRecent || !isAnswered || message.isError || isPicture;
			if (isKept || pinned.has(message.toolCallId)) kept.push(id);
		}
		return kept;
	}

	function pinnedNow(): Set<string> {
		const pinned = new Set<string>();
		for (const entry of session.getBranch()) {
			if (entry.type === "message" && entry.message.role === "toolResult") {
				const { toolName, toolCallId } = entry.message;
				if (toolName === "kota_impact") pinned.add(toolCallId);
			}
			if (entry.type !== "custom" || entry.customType !== PIN_ENTRY) continue;
			const pin = entry.data as { toolCallId: string; pinned: boolean };
			if (pin.pinned) pinned.add(pin.toolCallId);
			else pinned.delete(pin.toolCallId);
		}
		return pinned;
	}
}

function textIn(message: Message | undefined): string {
	const content = message?.content;
	if (typeof content === "string" || content === undefined) return content ?? "";
	return content.map((block) => ("text" in block ? block.text : "")).join("\n");
}
