import { SessionManager } from "@earendil-works/pi-coding-agent";
import { expect, test } from "vitest";
import { memoizeName } from "../../../src/server/sessions/session-file.ts";
import { fc } from "../../support/property.ts";

type Step = (manager: SessionManager) => void;

/** Everything after which a name may be another one, and some after which it is not. */
const step = fc.oneof(
	fc.constantFrom("one", "two ", " ", "").map(
		(name): Step =>
			(manager) => {
				manager.appendSessionInfo(name);
			},
	),
	fc.constantFrom<Step>(
		(manager) => void manager.appendCustomEntry("other", {}),
		(manager) => manager.resetLeaf(),
		(manager) => {
			const [first] = manager.getEntries();
			if (first) manager.branch(first.id);
		},
		(manager) => void manager.newSession(),
		// As a later pi does with an entry that it could not write.
		(manager) => {
			const { fileEntries } = manager as unknown as { fileEntries: unknown[] };
			if (fileEntries.length > 1) fileEntries.pop();
		},
	),
);

test("a session that remembers its name has the one that pi finds", () => {
	fc.assert(
		fc.property(fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 12 }), (rounds) => {
			const manager = SessionManager.inMemory();
			memoizeName(manager);
			for (const steps of rounds) {
				for (const take of steps) take(manager);
				const found = SessionManager.prototype.getSessionName.call(manager);
				expect(manager.getSessionName()).toBe(found);
			}
		}),
	);
});

test("a pi that keeps its entries elsewhere is asked for the name", () => {
	const manager = SessionManager.inMemory();
	manager.appendSessionInfo("one");
	const elsewhere = { getSessionName: () => manager.getSessionName() } as SessionManager;
	memoizeName(elsewhere);
	expect(elsewhere.getSessionName()).toBe("one");
});
