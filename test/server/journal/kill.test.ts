import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { SqliteJournal } from "../../../src/server/journal/sqlite-journal.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { startJournal } from "./start-journal.ts";

const CHILD = fileURLToPath(new URL("./journal-child.ts", import.meta.url));

interface Confirmed {
	admitted: Set<string>;
	finished: Set<string>;
	/** By session. */
	version: Map<string, number>;
	seq: Map<string, number>;
}

/** Starts a process that writes; `kill` it, and wait until it is dead and all it said has been heard. */
function startWriter(dataDir: string, round: string, confirmed: Confirmed, writers = 8) {
	const child = spawn(process.execPath, [CHILD, dataDir, round, String(writers)], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	atEnd(() => child.kill("SIGKILL"));
	const lines = createInterface({ input: child.stdout });
	let heard = 0;
	lines.on("line", (line) => {
		// The last line may have been cut by the kill.
		if (!line.endsWith("}")) return;
		const said = JSON.parse(line);
		heard++;
		if (said.admitted) confirmed.admitted.add(said.admitted);
		if (said.finished) confirmed.finished.add(said.finished);
		if (said.version !== undefined) confirmed.version.set(said.sessionId, said.version);
		if (said.seq) confirmed.seq.set(said.sessionId, said.seq);
	});
	return {
		async busy() {
			const before = heard;
			while (heard < before + 50) await delay(5);
		},
		async kill() {
			const closed = once(lines, "close");
			child.kill("SIGKILL");
			await closed;
		},
	};
}

function nothing(): Confirmed {
	return { admitted: new Set(), finished: new Set(), version: new Map(), seq: new Map() };
}

/** Everything that was confirmed is there, all of it or nothing of it, and the events have no hole. */
function check(journal: SqliteJournal, confirmed: Confirmed): void {
	expect(journal.health()).toEqual({ ok: true });
	for (const id of confirmed.admitted) expect(journal.byId("ann", id)).toBeDefined();
	for (const id of confirmed.finished) {
		expect(journal.byId("ann", id)?.response?.success).toBe(true);
	}
	for (const [sessionId, version] of confirmed.version) {
		const kept = journal.recovered.sessions.find(({ id }) => id === sessionId);
		expect(kept?.version).toBeGreaterThanOrEqual(version);
		// An outcome and the version it led to are one transaction.
		const history = journal.commandHistory({ principal: "ann", sessionId, limit: 100_000 });
		const versions = history.flatMap(({ sessionVersion }) => sessionVersion ?? []);
		expect(versions.toSorted((a, b) => a - b)).toEqual(versions.map((_, index) => index));
		expect(kept?.version).toBe(versions.length - 1);
	}
	for (const [sessionId, seq] of confirmed.seq) {
		// Events of a session that was not recorded yet go with it.
		if (!confirmed.version.has(sessionId)) continue;
		const events = journal.events({ principal: "ann", sessionId }, 0, 1_000_000);
		expect(events.length).toBeGreaterThanOrEqual(seq);
		expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
		expect(journal.extent({ principal: "ann", sessionId }).last).toBe(events.length);
	}
}

test("a process killed at any moment loses nothing that was confirmed", {
	tags: "slow",
}, async () => {
	const dataDir = tempDir();
	const confirmed = nothing();
	for (let round = 0; round < 4; round++) {
		const writer = startWriter(dataDir, `r${round}`, confirmed);
		await writer.busy();
		await delay(Math.random() * 60);
		await writer.kill();
		const { journal } = await startJournal({}, dataDir);
		expect(journal.recovered.crashed).toBe(true);
		for (const { response } of journal.recovered.interrupted) {
			expect(response?.code).toBe("interrupted");
		}
		check(journal, confirmed);
		await journal.close();
	}
	expect(confirmed.finished.size).toBeGreaterThan(50);
});

test("two processes on one folder, which should not be, do not damage it", {
	tags: "slow",
}, async () => {
	const dataDir = tempDir();
	const confirmed = nothing();
	const first = startWriter(dataDir, "first", nothing(), 2);
	await first.busy();
	const second = startWriter(dataDir, "second", confirmed, 2);
	await second.busy();
	await Promise.all([first.kill(), second.kill()]);
	const { journal } = await startJournal({}, dataDir);
	expect(journal.health()).toEqual({ ok: true });
	for (const id of confirmed.admitted) expect(journal.byId("ann", id)?.response).toBeDefined();
});
