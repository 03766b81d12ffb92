import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { openMarks, Rewriter } from "../../src/savings/index.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { reads, START } from "./played.ts";
import { bodyOf, PATHS } from "./talks.ts";

const [A, B] = ["aa".repeat(16), "bb".repeat(16)];
const body = (count: number) => bodyOf("anthropic", [START, ...reads(1, count)]);

async function opened(folder: string, keepDays = 30) {
	const marks = await openMarks(folder, keepDays);
	atEnd(() => marks.close());
	return marks;
}

async function rewriterOn(folder: string) {
	const rewriter = new Rewriter({ marks: await opened(folder), maxMs: 1e9 });
	return (count: number) => rewriter.rewrite({ path: PATHS.anthropic, body: body(count) });
}

test("only the user can read the store", async () => {
	const folder = join(tempDir(), "savings");
	const marks = await opened(folder);
	marks.put([[A, 1]]);
	for (const name of readdirSync(folder).filter((one) => one.startsWith("marks"))) {
		expect([name, statSync(join(folder, name)).mode & 0o077]).toEqual([name, 0]);
	}
});

test("a mark keeps its version until it is replaced, for every process", async () => {
	const folder = join(tempDir(), "savings");
	const [one, other] = [await opened(folder), await opened(folder)];
	one.put([[A, 1]]);
	other.put([
		[A, 0],
		[B, 0],
	]);
	expect([one, other].map((marks) => [marks.get(A), marks.get(B)])).toEqual([
		[1, 0],
		[1, 0],
	]);
	other.replace([[A, -2]]);
	expect(one.get(A)).toBe(-2);
});

test("marks that were not used for their days are deleted", async () => {
	const folder = join(tempDir(), "savings");
	(await opened(folder)).put([
		[A, 1],
		[B, 1],
	]);
	const database = new DatabaseSync(join(folder, "marks.sqlite"));
	atEnd(() => database.close());
	database.exec(`UPDATE mark SET usedMs = usedMs - 31 * 86400000 WHERE chain = x'${A}'`);
	const marks = await opened(folder);
	expect([marks.get(A), marks.get(B)]).toEqual([undefined, 1]);
});

test("while another process holds the store, new results stay, and later, too", async () => {
	const folder = join(tempDir(), "savings");
	const send = await rewriterOn(folder);
	send(1);
	const database = new DatabaseSync(join(folder, "marks.sqlite"));
	atEnd(() => database.close());
	database.exec("BEGIN IMMEDIATE");
	expect(send(2).savings).toEqual({ tokens: 0, results: 0, kept: "no-store" });
	database.exec("ROLLBACK");
	expect(send(2).body).toBeUndefined();
	expect(send(3).savings?.results).toBe(1);
	expect((await rewriterOn(folder))(2).body).toBeUndefined();
});

test.each([
	["lost", (folder: string) => rmSync(folder, { recursive: true })],
	[
		"damaged",
		(folder: string) => {
			for (const name of readdirSync(folder)) {
				if (name.startsWith("marks")) writeFileSync(join(folder, name), "x".repeat(9000));
			}
		},
	],
])("a store that is %s means plain text up to the last answer", async (_name, spoil) => {
	const folder = join(tempDir(), "savings");
	const marks = await openMarks(folder, 30);
	const before = new Rewriter({ marks, maxMs: 1e9 });
	for (const count of [1, 2, 3]) before.rewrite({ path: PATHS.anthropic, body: body(count) });
	marks.close();
	spoil(folder);
	const send = await rewriterOn(folder).catch(() => undefined);
	if (!send) return; // without a store nothing is rewritten
	const { body: sent, savings } = send(4);
	expect(savings?.results).toBe(1);
	expect(String(sent).match(/\[strata: /g)).toHaveLength(1);
});

test("a store that is deleted while it is used goes on until the process ends", async () => {
	const folder = join(tempDir(), "savings");
	const send = await rewriterOn(folder);
	for (const count of [1, 2]) send(count);
	rmSync(folder, { recursive: true });
	const { body: sent, savings } = send(3);
	expect(savings?.kept === "no-store" || savings?.results === 2).toBe(true);
	// What was sent short is sent short in any case.
	expect(String(sent)).toContain("[strata: ");
});
