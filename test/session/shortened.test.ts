import { expect, test } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import {
	expandReferences,
	Ledger,
	type ResultReference,
	shortenedOf,
} from "../../src/session/index.ts";
import { appendCalls, appendResult, newSession, resultOf } from "./sessions.ts";

const BASE = "one\ntwo\nthree\nfour";
const FULL = "before\ntwo\nthree\nafter";
const SHOWN = "before\n[lines 2-3]\nafter";
const TWO: ResultReference = { line: 2, base: "a", first: 2, last: 3 };

function noteOf(shown = SHOWN, expanded = FULL, references: readonly ResultReference[] = [TWO]) {
	const [original, savedChars] = [hashBytes(expanded), 1];
	const hashes = { shown: hashBytes(shown), expanded: hashBytes(expanded), original };
	return { v: 1, form: 1, ...hashes, savedChars, references };
}

/** A result `a`, and a result `b` that refers to two of its lines. */
function sessionWith(birth: object = noteOf(), text = SHOWN) {
	const session = newSession();
	for (const [id, content, details] of [
		["a", BASE, undefined],
		["b", text, { birth }],
	] as const) {
		appendCalls(session, { id });
		appendResult(session, id, content, { ...(details && { details: details as never }) });
	}
	const ledger = new Ledger({
		returnedHash: ({ toolCallId }) => (toolCallId === "b" ? hashBytes(FULL) : undefined),
	});
	const item = (id: string) => resultOf(ledger.log(session), id);
	return { session, ledger, item, seen: (id: string) => ledger.visibility(item(id)) };
}

test("a shortened result is visible with the lines that it refers to, and its full text is known", () => {
	const { ledger, item, seen } = sessionWith();
	expect(seen("b")).toEqual({ visible: true });
	expect(ledger.fullText(item("b"))).toBe(FULL);
	expect(ledger.fullText(item("a"))).toBe(BASE);
});

test("it is not visible without them, but what stands in it is", () => {
	const { session, ledger, item, seen } = sessionWith();
	session.appendContextEdit(item("a").entryId, { content: "stub" });
	expect(seen("b")).toEqual({ visible: false, why: "base-lost" });
	expect(ledger.ownVisibility(item("b"))).toEqual({ visible: true });
});

test("a request without the earlier result loses the lines, and so does a compaction", () => {
	const { session, ledger, item, seen } = sessionWith();
	const messages = session.buildSessionProjection().messages;
	ledger.observe(
		session,
		messages.filter((message) => !("toolCallId" in message) || message.toolCallId !== "a"),
	);
	expect(seen("b")).toEqual({ visible: false, why: "base-lost" });
	ledger.observe(session, messages);
	expect(seen("b")).toEqual({ visible: true });
	session.appendCompaction("summary", item("b").entryId, 10);
	ledger.observe(session, session.buildSessionProjection().messages);
	expect(seen("b")).toEqual({ visible: false, why: "base-lost" });
});

test("an earlier result whose call id is used again is no base", () => {
	const { session, seen } = sessionWith();
	appendCalls(session, { id: "a" });
	appendResult(session, "a", BASE);
	expect(seen("b")).toEqual({ visible: false, why: "base-lost" });
});

test("a text that another extension has changed after it was shortened proves nothing", () => {
	expect(sessionWith(noteOf(), `${SHOWN}!`).seen("b")).toMatchObject({ why: "rewritten" });
});

test("a note about another text than the tool returned proves nothing", () => {
	const other = "before\ntwo\nthree\nelse";
	expect(sessionWith(noteOf(SHOWN, other)).seen("b")).toMatchObject({ why: "rewritten" });
});

test("a note without references cannot vouch for another text than is shown", () => {
	expect(sessionWith(noteOf(FULL, FULL, []), FULL).seen("b")).toEqual({ visible: true });
	expect(sessionWith(noteOf(SHOWN, FULL, [])).seen("b")).toMatchObject({ visible: false });
});

test.each([
	["lines that differ", { ...TWO, first: 1, last: 2 }],
	["lines behind the end", { ...TWO, first: 4, last: 5 }],
	["a line that the result does not have", { ...TWO, line: 9 }],
	["an unknown call", { ...TWO, base: "x" }],
	["itself", { ...TWO, base: "b" }],
])("a reference to %s is not visible", (_, reference) => {
	const { seen } = sessionWith(noteOf(SHOWN, FULL, [reference]));
	expect(seen("b")).toEqual({ visible: false, why: "base-lost" });
});

test.each([
	["version", { v: 2 }],
	["hash", { shown: "abc" }],
	["size", { savedChars: 0 }],
	["list", { references: {} }],
	["reference", { references: [{ ...TWO, last: 1 }] }],
])("a note with a wrong %s is ignored", (_, wrong) => {
	expect(shortenedOf({ details: { birth: noteOf() } })).toEqual(noteOf());
	expect(shortenedOf({ details: { birth: { ...noteOf(), ...wrong } } })).toBeUndefined();
});

/** A compaction that removes `a`, and what an edit shows of `b` then. */
function compacted(content: string, birth: object = noteOf()) {
	const all = sessionWith(birth);
	all.session.appendCompaction("summary", all.item("b").entryId, 10);
	const { entryId } = all.item("b");
	const edit = (text: string) => all.session.appendContextEdit(entryId, { content: text });
	edit(content);
	return { ...all, edit };
}

test("an edit that shows the lines of its references makes it a result like any other", () => {
	const { item, seen, ledger } = compacted(FULL);
	expect(item("b")).toMatchObject({ text: FULL, returned: FULL, details: {} });
	expect(shortenedOf(item("b"))).toBeUndefined();
	expect(seen("b")).toEqual({ visible: true });
	expect(ledger.fullText(item("b"))).toBe(FULL);
});

test("what was made quiet too keeps the note of its exact text", () => {
	const exact = hashBytes("the exact output");
	const birth = { ...noteOf(), original: exact, savedChars: 100 };
	const { item } = compacted(FULL, birth);
	const savedChars = 100 - (FULL.length - SHOWN.length);
	expect(shortenedOf(item("b"))).toMatchObject({ original: exact, savedChars, references: [] });
});

test("an edit that shows another text hides the result, and so does one after the lines were shown", () => {
	const { seen, edit } = compacted(`${FULL}!`);
	expect(seen("b")).toEqual({ visible: false, why: "edited" });
	edit(FULL);
	expect(seen("b")).toEqual({ visible: true });
	edit("stub");
	expect(seen("b")).toEqual({ visible: false, why: "edited" });
	edit(SHOWN);
	expect(seen("b")).toEqual({ visible: false, why: "base-lost" });
});

test("references to the same result ask for its text once", () => {
	const asked: string[] = [];
	const references = [1, 2, 4].map((first, at) => ({
		line: at + 1,
		base: "a",
		first,
		last: first,
	}));
	const full = expandReferences("-\n-\n-", references, (base) => {
		asked.push(base);
		return BASE;
	});
	expect(full).toBe("one\ntwo\nfour");
	expect(asked).toEqual(["a"]);
});
