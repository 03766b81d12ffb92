import { rmSync } from "node:fs";
import { expect, test } from "vitest";
import { expand } from "../../src/birth/index.ts";
import { restoredEntries, restoreLines, withRestored } from "../../src/birth/restore.ts";
import { PendingEdits } from "../../src/session/pending-edits.ts";
import { appendResult, resultOf } from "../session/sessions.ts";
import { type Answered, startBirth } from "./live-session.ts";
import { output } from "./results.ts";

const TEXT = output(40).join("\n");
const OWN = output(30, "own").join("\n");
const call = (id: string, text: string): Answered => ({
	id,
	tool: "show",
	args: { path: `${id}.txt` },
	text,
});
const later = (text: string) => `later\n${text}`;

/** Expanded by what stands above, as a model would do it. */
function meant(text: string, above: Answered[]): string | undefined {
	return expand(
		text,
		above.map(({ id, tool = "read", args, text: shown }) => ({
			id,
			tool,
			input: args,
			text: shown,
		})),
	);
}

/** A session whose second result refers to the first, and what restoring would do with it. */
async function start() {
	const birth = startBirth();
	const { session, ledger, turn } = birth;
	await turn(call("a", TEXT));
	const [shown = ""] = await turn(call("b", later(TEXT)));
	const recorded: unknown[] = [];
	const edits = new PendingEdits(ledger, { appendEntry: (_type, data) => recorded.push(data) });
	const cache = { rules: { bindsThinking: false }, boundAnswer: undefined as string | undefined };
	const window = { tokens: undefined, size: 200_000 };
	const view = { ledger, edits, sessionManager: session, cache, window } as never;
	const entryOf = (id: string) => resultOf(ledger.log(session), id).entryId;
	/** What the next request shows of a call. */
	const seen = (id: string) => {
		restoreLines(view);
		const messages = withRestored(session.buildSessionProjection().messages, view);
		ledger.observe(session, messages);
		const found = messages.find((one) => "toolCallId" in one && one.toolCallId === id);
		return found && "content" in found ? (found.content as { text: string }[])[0]?.text : undefined;
	};
	/** As at the end of a turn. */
	const persist = () => {
		const entries = restoredEntries(view, []);
		for (const { targetId, replacement } of entries)
			session.appendContextEdit(targetId, replacement);
		return entries.length;
	};
	const compact = () => session.appendCompaction("summary", callEntryOf("b"), 10);
	const callEntryOf = (id: string) =>
		session.getBranch().find((entry) => JSON.stringify(entry).includes(`"id":"${id}"`))?.id ?? "";
	return { ...birth, shown, edits, cache, window, view, entryOf, seen, persist, compact };
}

test("a reference stays while the session shows the result that it means", async () => {
	const { seen, shown, persist } = await start();
	expect(seen("b")).toBe(shown);
	expect(shown).toContain("[strata: lines 1-40 of the output of `show a.txt` above");
	expect(persist()).toBe(0);
});

test("after a compaction the very next request shows the lines, and the session keeps them", async () => {
	const { seen, persist, compact, session, ledger, live } = await start();
	compact();
	expect(seen("b")).toBe(later(TEXT));
	expect(seen("b")).toBe(later(TEXT));
	expect(persist()).toBe(1);
	expect(persist()).toBe(0);
	expect(seen("b")).toBe(later(TEXT));
	expect(ledger.visibility(resultOf(ledger.log(session), "b"))).toEqual({ visible: true });
	expect(live.shortened(session)).toEqual([]);
});

test("later results refer to the lines as they are shown again", async () => {
	const { seen, persist, compact, turn } = await start();
	compact();
	seen("b");
	persist();
	const [shown = ""] = await turn(call("c", `again\n${TEXT}`));
	expect(shown).toMatch(/^again\n\[strata: lines 2-41 of the output of `show b\.txt` above/);
});

test("a reference to lines of such a result is backed after the next compaction too", async () => {
	const { seen, persist, compact, turn, session } = await start();
	compact();
	seen("b");
	persist();
	const [shown = ""] = await turn(call("c", `again\n${TEXT}`));
	expect(shown).toContain("`show b.txt`");
	session.appendCompaction("summary", session.getLeafEntry()?.parentId ?? null, 10);
	expect(seen("c")).toBe(`again\n${TEXT}`);
});

test("what refers to lines below a reference gets its lines when the reference does", async () => {
	const { seen, persist, compact, turn } = await start();
	const mixed = later(`${TEXT}\n${OWN}`);
	const [first = ""] = await turn(call("c", mixed));
	expect(first).toMatch(/\[strata: lines 1-40 of the output of `show a\.txt`/);
	const [second = ""] = await turn(call("d", `again\n${OWN}`));
	expect(second).toMatch(/^again\n\[strata: lines 3-32 of the output of `show c\.txt`/);
	compact();
	// Line 3 of the text that is shown again is another one.
	const shown = [call("c", seen("c") ?? ""), call("d", seen("d") ?? "")] as const;
	expect(shown[0].text).toBe(mixed);
	expect(meant(shown[1].text, [shown[0]])).toBe(`again\n${OWN}`);
	persist();
	expect(meant(seen("d") ?? "", [call("c", seen("c") ?? "")])).toBe(`again\n${OWN}`);
});

test("a reference stays if showing its lines would move those that another one means", async () => {
	const { seen, shown, compact, turn, session } = await start();
	const [first = ""] = await turn(call("c", later(`${TEXT}\n${OWN}`)));
	await turn(call("d", `again\n${OWN}`));
	appendResult(session, "d", "another result of the same call");
	compact();
	expect(seen("c")).toBe(first);
	expect(shown).not.toBe(first);
});

test("a window that is too small for all lines gets the newest, and the others keep their path", async () => {
	const { seen, compact, turn, window, persist } = await start();
	await turn(call("c", `again\n${TEXT}`));
	compact();
	window.size = Math.ceil((TEXT.length / 4) * 15);
	for (let times = 0; times < 2; times++) {
		expect(seen("c")).toBe(`again\n${TEXT}`);
		expect(seen("b")).toMatch(/^later\n\[strata: lines 1-40 .* full text: read .*\.txt\]$/);
		persist();
	}
});

test("a lost store is no hindrance", async () => {
	const { seen, compact, blobDir } = await start();
	rmSync(blobDir, { recursive: true });
	compact();
	expect(seen("b")).toBe(later(TEXT));
});

test("an edit of the result that is referred to shows the lines too", async () => {
	const { seen, session, entryOf } = await start();
	session.appendContextEdit(entryOf("a"), { content: "stub" });
	expect(seen("b")).toBe(later(TEXT));
});

test("a result that thinking is bound to stays as it was sent", async () => {
	const { seen, shown, session, entryOf, cache, turn } = await start();
	await turn(call("c", OWN));
	session.appendContextEdit(entryOf("a"), { content: "stub" });
	cache.boundAnswer = session.getBranch().findLast((one) => one.type === "message")?.id;
	expect(seen("b")).toBe(shown);
});

test("edits that a model has seen are shown again by a process that starts over", async () => {
	const { seen, shown, compact, session, edits, cache, entryOf } = await start();
	compact();
	cache.rules.bindsThinking = true;
	edits.clear();
	const content = [{ type: "text", text: later(TEXT) }];
	session.appendCustomEntry("strata-shown-edits", { v: 1, edits: [[entryOf("b"), content]] });
	const bound = session.appendMessage({ role: "user", content: "go", timestamp: 0 });
	cache.boundAnswer = bound;
	expect(seen("b")).toBe(later(TEXT));
	expect(shown).not.toBe(later(TEXT));
});

test("lines that cannot be proven are not shown", async () => {
	const { seen, compact, session, entryOf } = await start();
	const entry = session.getEntry(entryOf("a"));
	const message = entry?.type === "message" ? entry.message : undefined;
	Object.assign(message ?? {}, {
		content: [{ type: "text", text: TEXT.replace("value", "other") }],
	});
	compact();
	expect(seen("b")).toMatch(/^later\n\[strata: lines /);
});

test("the edits of others win", async () => {
	const { seen, compact, view, entryOf } = await start();
	compact();
	seen("b");
	const others = [{ type: "context_edit", targetId: entryOf("b"), replacement: null }];
	expect(restoredEntries(view, others)).toEqual([]);
});
