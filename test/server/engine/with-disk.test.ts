import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { JournalOptions } from "../../../src/server/journal/sqlite-journal.ts";
import type { MemoryJournal } from "../../support/memory-journal.ts";
import { PATIENCE } from "../../support/patience.ts";
import { tempDir } from "../../support/temp.ts";
import { startJournal } from "../journal/start-journal.ts";
import { nameSession as name, response, withSession } from "./harness.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** An engine on a journal with a disk, with a session `s` unless it has one. It keeps nothing in memory. */
async function onDisk(options: Partial<JournalOptions> = {}, dataDir = tempDir()) {
	const { journal } = await startJournal(options, dataDir);
	const started = await withSession({
		// The harness only hands it on.
		journal: journal as unknown as MemoryJournal,
		memory: { names: 0, characters: 0 },
		...(options.now && { now: options.now }),
	});
	await vi.waitFor(() => expect(started.harness.engine.counters().pending).toBe(0), PATIENCE);
	return { ...started, journal, dataDir };
}

/** Waits until a response of that id comes, which takes a disk. */
async function answer({ harness, client }: Awaited<ReturnType<typeof onDisk>>, command: object) {
	client.frames.length = 0;
	await harness.send(client, command);
	const { id } = command as { id: string };
	return vi.waitFor(() => response(client, id), PATIENCE);
}

test("a thousand long answers to reads take little room in the journal", {
	tags: "slow",
}, async () => {
	const started = await onDisk();
	const { harness, client, journal, dataDir } = started;
	client.frames.length = 0;
	harness.on("get_messages", async () => ({ data: "x".repeat(100_000) }));
	const note = vi.spyOn(journal, "note");
	for (let n = 0; n < 1_000; n += 50) {
		const ids = Array.from({ length: 50 }, (_, index) => `r${n + index}`);
		await harness.send(
			client,
			...ids.map((id) => ({ type: "get_messages", sessionId: "s", id, idempotencyKey: id })),
		);
		await vi.waitFor(() => expect(response(client, ids.at(-1) ?? "").success).toBe(true), PATIENCE);
		client.frames.length = 0;
	}
	await journal.flush();
	expect(journal.stats().commands).toBeGreaterThan(1_000);
	const records = note.mock.calls.map(([record]) => JSON.stringify(record).length);
	expect(records).toHaveLength(1_000);
	expect(Math.max(...records)).toBeLessThan(1_000);
	const files = readdirSync(dataDir).map((file) => statSync(join(dataDir, file)).size);
	expect(files.reduce((sum, size) => sum + size, 0)).toBeLessThan(8_000_000);
	expect(journal.stats().bytes).toBeLessThan(2_000_000);
	const again = { type: "get_messages", sessionId: "s", id: "r7", idempotencyKey: "r7" };
	expect(await answer(started, again)).toMatchObject({ success: true, replayed: true });
});

describe("an id that the journal has forgotten", () => {
	test("is new: a change under it runs again, a read too, and who depends on it hears why it is not known", {
		tags: "slow",
	}, async () => {
		const clock = { now: 100 * DAY_MS };
		const first = await onDisk({ now: () => clock.now });
		const read = { type: "get_state", sessionId: "s", id: "read" };
		expect(await answer(first, name("change"))).toMatchObject({ sessionVersion: 1 });
		await answer(first, read);
		expect(await answer(first, name("change"))).toMatchObject({ replayed: true });
		expect(await answer(first, read)).toMatchObject({ replayed: true });
		const depends = (id: string, on: string) => ({ ...name(id), dependsOn: [on] });
		const unknown = await answer(first, depends("early", "never sent"));
		expect(unknown.error).not.toMatch(/forgotten/);

		clock.now += 15 * DAY_MS;
		first.journal.sweep();
		await first.journal.flush();
		for (const id of ["forgotten", "never sent"]) {
			const failure = await answer(first, depends(`on ${id}`, id));
			expect(failure.code).toBe("dependency_unknown");
			expect(failure.error).toMatch(/may have been evicted/);
		}
		const again = await answer(first, name("change"));
		expect(again).toMatchObject({ success: true, sessionVersion: 2 });
		expect(again).not.toHaveProperty("replayed");
		expect(await answer(first, read)).not.toHaveProperty("replayed");
		expect(await answer(first, name("fresh"))).not.toHaveProperty("replayed");
	});

	test("is new after a restart, too, and what was not forgotten is known", {
		tags: "slow",
	}, async () => {
		const clock = { now: 100 * DAY_MS };
		const first = await onDisk({ now: () => clock.now });
		await answer(first, name("old"));
		clock.now += 10 * DAY_MS;
		await answer(first, name("kept"));
		clock.now += 10 * DAY_MS;
		await first.journal.close();
		const next = await onDisk({ now: () => clock.now }, first.dataDir);
		await next.journal.flush();
		expect(await answer(next, name("kept"))).toMatchObject({ replayed: true, sessionVersion: 2 });
		expect(await answer(next, name("old"))).not.toHaveProperty("replayed");
		const failure = await answer(next, { ...name("late"), dependsOn: ["never sent"] });
		expect(failure.error).toMatch(/may have been evicted/);
	});
});
