import { expect, test } from "vitest";
import { CLEARING_ENTRY } from "../../src/core/entry-types.ts";
import { Ledger } from "../../src/session/index.ts";
import { appendCalls, appendResult, newSession, resultOf } from "./sessions.ts";

/** Three results. */
function start() {
	const session = newSession();
	for (const id of ["a", "b", "c"]) {
		appendCalls(session, { id });
		appendResult(session, id, `text of ${id}`);
	}
	const ledger = new Ledger();
	const visible = (from = ledger) =>
		["a", "b", "c"].filter((id) => from.visibility(resultOf(from.log(session), id)).visible);
	return { session, ledger, visible };
}

test("from an entry about clearing on, the results up to its call prove nothing", () => {
	const { session, ledger, visible } = start();
	expect(visible()).toEqual(["a", "b", "c"]);
	session.appendCustomEntry(CLEARING_ENTRY, { v: 1, through: "b", results: 2 });
	expect(visible()).toEqual(["c"]);
	// The request still holds them.
	ledger.observe(session, session.buildSessionProjection().messages);
	expect(visible()).toEqual(["c"]);
	// A new process finds the same.
	expect(visible(new Ledger())).toEqual(["c"]);
});

test("on a branch without the entry they are in view", () => {
	const { session, visible } = start();
	const leaf = session.getLeafId() as string;
	session.appendCustomEntry(CLEARING_ENTRY, { v: 1, through: "a", results: 1 });
	expect(visible()).toEqual(["b", "c"]);
	session.branch(leaf);
	expect(visible()).toEqual(["a", "b", "c"]);
});

test("an entry that names no known call, or ends clearing, changes nothing", () => {
	const { session, visible } = start();
	for (const data of [{ v: 1, through: "x" }, { v: 1, off: "why" }, {}, null, "b"]) {
		session.appendCustomEntry(CLEARING_ENTRY, data);
	}
	expect(visible()).toEqual(["a", "b", "c"]);
});
