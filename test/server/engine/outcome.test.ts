import { expect, test } from "vitest";
import { WrittenData } from "../../../src/server/engine/message.ts";
import { digestOf, outcomeOf, writtenOutcome } from "../../../src/server/engine/outcome.ts";

const DONE = { type: "response", command: "get_tree", success: true, sessionVersion: 3 } as const;

test("an answer has one digest, whether its data was written before or not", () => {
	const data = { text: 'a "quoted" ä', entries: [1, 2] };
	const written = writtenOutcome(DONE, new WrittenData(JSON.stringify(data)), data);
	const made = outcomeOf({ ...DONE, data });
	expect(written.json).toBe(made.json);
	expect(digestOf(written)).toBe(digestOf(made));
});

test("another answer, or another version of the session, has another digest", () => {
	const first = digestOf(outcomeOf({ ...DONE, data: "one" }));
	expect(digestOf(outcomeOf({ ...DONE, data: "two" }))).not.toBe(first);
	expect(digestOf(outcomeOf({ ...DONE, sessionVersion: 4, data: "one" }))).not.toBe(first);
});
