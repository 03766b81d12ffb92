import { describe, expect, test, vi } from "vitest";
import { SHOWN_EDITS_ENTRY } from "../../src/core/entry-types.ts";
import type { SessionSource } from "../../src/session/messages.ts";
import { type PendingEdit, PendingEdits, recordedEdits } from "../../src/session/pending-edits.ts";

const text = (one: string) => [{ type: "text" as const, text: one }];
const OWNER = "pruning";

/** An edit of a result, which replaces just that text. */
const stub = (name: string): PendingEdit => ({
	owner: OWNER,
	entryId: name,
	sentAs: `call-${name}`,
	original: `text of ${name}`,
	content: text(`(Pruned) ${name}`),
});

/** An edit of an extension's message. */
const rewrite = (name: string, content: PendingEdit["content"]): PendingEdit => ({
	owner: "workset",
	entryId: name,
	sentAs: `message:${name}`,
	content,
});

const result = (name: string, shown = `text of ${name}`) => ({
	role: "toolResult",
	toolCallId: `call-${name}`,
	content: text(shown),
});
const message = (name: string, shown = "old") => ({
	role: "custom",
	details: { id: name },
	content: text(shown),
});

/** Edits of a session that shows these texts, by entry. */
function pendingIn(shown: Record<string, string>, branch: object[] = []) {
	const sent = new Map<string, unknown>();
	const source = { getBranch: () => branch } as unknown as SessionSource;
	const appendEntry = vi.fn();
	const edits = new PendingEdits({ log: () => ({ sent }) as never }, { appendEntry });
	const show = (texts: Record<string, string>) => {
		sent.clear();
		for (const [id, one] of Object.entries(texts)) {
			const isMessage = id.startsWith("m");
			const item = isMessage ? { kind: "customMessage", texts: [one] } : { kind: "toolResult" };
			sent.set(id, { ...item, text: one });
		}
	};
	show(shown);
	return { edits, show, source, appendEntry };
}

describe("a request", () => {
	test("gets the stubs in place of the very texts, and is not touched otherwise", () => {
		const { edits } = pendingIn({});
		const messages = [
			{ role: "user", content: "go" },
			result("a"),
			result("b"),
			result("a", "other"),
		];
		expect(edits.applyTo(messages, OWNER)).toBe(messages);
		edits.add(stub("a"));
		const changed = edits.applyTo(messages, OWNER);
		expect(changed[1]).toEqual(result("a", "(Pruned) a"));
		for (const at of [0, 2, 3]) expect(changed[at]).toBe(messages[at]);
		const others = [result("b")];
		expect(edits.applyTo(others, OWNER)).toBe(others);
		expect(edits.applyTo(messages, "workset")).toBe(messages);
	});

	test("gets another message only where its id is unique, and loses what is taken away", () => {
		const { edits } = pendingIn({});
		edits.add(rewrite("m1", text("new")));
		edits.add(rewrite("m2", null));
		const twice = [message("m1"), message("m1"), message("m2")];
		expect(edits.applyTo(twice, "workset")).toEqual(twice.slice(0, 2));
		expect(edits.applyTo([message("m1"), message("m2")], "workset")).toEqual([
			message("m1", "new"),
		]);
	});

	test("shows the text again once an edit is dropped or its branch left", () => {
		const { edits } = pendingIn({});
		const messages = [result("a"), result("b")];
		edits.add(stub("a"));
		edits.add(stub("b"));
		edits.drop("a");
		expect(edits.applyTo(messages, OWNER)[0]).toBe(messages[0]);
		edits.clear();
		expect(edits.applyTo(messages, OWNER)).toBe(messages);
	});
});

describe("an edit is pending", () => {
	test("until the session shows it, has another text there, or no longer has the entry", () => {
		const { edits, show, source } = pendingIn({
			a: "text of a",
			b: "text of b",
			c: "text of c",
		});
		for (const name of ["a", "b", "c", "d"]) edits.add(stub(name));
		expect(edits.settle(OWNER, source)).toEqual([]);
		expect(edits.unsettled(OWNER, source).map(({ entryId }) => entryId)).toEqual(["a", "b", "c"]);
		expect(edits.get("d")).toBeUndefined(); // it was not in the context
		// Another extension has edited "c".
		show({ a: "(Pruned) a", b: "(Pruned) b", c: "another edit" });
		expect(edits.settle(OWNER, source)).toEqual([stub("a"), stub("b")]);
		expect(edits.settle(OWNER, source)).toEqual([]);
		for (const name of ["a", "b", "c"]) expect(edits.get(name)).toBeUndefined();
	});

	test("whatever else the message says, if it names no text that it replaces", () => {
		const { edits, show, source } = pendingIn({ m1: "old", m2: "old" });
		const [one, two] = [rewrite("m1", text("new")), rewrite("m2", null)];
		edits.add(one);
		edits.add(two);
		show({ m1: "of another extension", m2: "old" });
		expect(edits.settle("workset", source)).toEqual([]);
		show({ m1: "new" });
		expect(edits.settle("workset", source)).toEqual([one, two]);
	});
});

describe("edits that a request shows are recorded", () => {
	test("once, for all systems together", () => {
		const branch: object[] = [];
		const { edits, source, appendEntry } = pendingIn({ a: "text of a", m1: "old" }, branch);
		edits.add(stub("a"));
		edits.add(rewrite("m1", text("new")));
		const messages = [result("a"), message("m1")];
		const edited = edits.applyTo(edits.applyTo(messages, OWNER), "workset");
		edits.noteBinding(source, messages);
		expect(appendEntry).not.toHaveBeenCalled();
		edits.noteBinding(source, edited);
		const data = {
			v: 1,
			edits: [
				["a", stub("a").content],
				["m1", text("new")],
			],
		};
		expect(appendEntry.mock.calls).toEqual([[SHOWN_EDITS_ENTRY, data]]);
		branch.push({ type: "custom", customType: SHOWN_EDITS_ENTRY, data });
		edits.noteBinding(source, edited);
		expect(appendEntry).toHaveBeenCalledTimes(1);
	});

	test("as far as it shows them: a removed message is not in it, and others may have changed a text", () => {
		const { edits, source, appendEntry } = pendingIn({ a: "text of a", m1: "old", m2: "old" });
		edits.add(stub("a"));
		edits.add(rewrite("m1", null));
		edits.add(rewrite("m2", null));
		edits.noteBinding(source, [result("a", "changed by another extension"), message("m2")]);
		expect(appendEntry.mock.calls).toEqual([[SHOWN_EDITS_ENTRY, { v: 1, edits: [["m1", null]] }]]);
	});

	test("only those by hand where no thinking is bound to them", () => {
		const { edits, source, appendEntry } = pendingIn({ a: "text of a", b: "text of b" });
		edits.add(stub("a"));
		edits.add({ ...stub("b"), isExplained: true });
		const edited = edits.applyTo([result("a"), result("b")], OWNER);
		edits.noteBinding(source, edited, false);
		const data = { v: 1, edits: [["b", stub("b").content]] };
		expect(appendEntry.mock.calls).toEqual([[SHOWN_EDITS_ENTRY, data]]);
	});

	test("and each system gets them once for a branch", () => {
		const branch = [recorded(["a", text("1")], ["b", null])];
		const { edits, source } = pendingIn({}, branch);
		edits.add(stub("a"));
		expect([...edits.recorded(OWNER, source)]).toEqual([["b", null]]);
		expect(edits.recorded(OWNER, source).size).toBe(0);
		expect(edits.recorded("workset", source).size).toBe(1);
		edits.clear();
		expect(edits.recorded(OWNER, source).size).toBe(2);
	});
});

const recorded = (...edits: unknown[]) => ({
	type: "custom",
	customType: SHOWN_EDITS_ENTRY,
	data: { v: 1, edits },
});
const recordedIn = (...branch: object[]) => [
	...recordedEdits({ getBranch: () => branch } as never),
];

describe("of the records on a branch", () => {
	test("the latest of an entry counts, until the session has the edit", () => {
		const branch = [recorded(["a", text("1")], ["b", null]), recorded(["a", text("2")])];
		expect(recordedIn(...branch)).toEqual([
			["a", text("2")],
			["b", null],
		]);
		expect(recordedIn(...branch, { type: "context_edit", targetId: "a" })).toEqual([["b", null]]);
	});

	test("a compaction ends all before it", () => {
		const after = recorded(["b", null]);
		expect(recordedIn(recorded(["a", null]), { type: "compaction" }, after)).toEqual([["b", null]]);
	});

	test("damaged ones count as none", () => {
		const damaged = [undefined, 7, ["a"], ["a", [{ type: "image" }]], [1, null], ["a", [null]]];
		expect(recordedIn(recorded(...damaged), { ...recorded(), data: "x" })).toEqual([]);
	});
});

test("a message without an id is known by its type, if no other of that type lacks one", () => {
	const { edits } = pendingIn({});
	const bare = { role: "custom", customType: "toy", content: text("old") };
	const named = { ...bare, details: { id: "m" } };
	edits.add({ owner: "workset", entryId: "m1", sentAs: "type:toy", content: text("new") });
	expect(edits.applyTo([bare, named], "workset")).toEqual([
		{ ...bare, content: text("new") },
		named,
	]);
	const twice = [bare, { ...bare }];
	expect(edits.applyTo(twice, "workset")).toBe(twice);
});
