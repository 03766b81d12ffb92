import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../engine/engine.ts";
import type { Journal, StreamName } from "../journal/journal.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Streams } from "../streams/streams.ts";
import type { Cluster } from "./cluster.ts";

interface HandOverParts {
	readonly engine: Pick<Engine, "isBusy" | "lose">;
	readonly sessions: Pick<Sessions, "names" | "isRunning" | "release">;
	readonly streams: Pick<Streams, "lose">;
	readonly journal: Pick<Journal, "release">;
	readonly cluster: Pick<Cluster, "announceReleased">;
}

const CHECK_MS = 20;

/** Gives sessions up: their records are written, pi is closed, and the other servers are notified. */
async function releaseSessions(
	names: readonly StreamName[],
	{ engine, sessions, streams, journal, cluster }: HandOverParts,
): Promise<void> {
	if (names.length === 0) return;
	engine.lose(names);
	await sessions.release(names);
	await journal.release(names);
	for (const name of names) streams.lose(name);
	cluster.announceReleased(names);
}

/** Gives each session up when nothing runs in it, until none is left or the time is over. Never rejects. */
export async function handOver(ms: number, parts: HandOverParts): Promise<void> {
	const { engine, sessions } = parts;
	const until = performance.now() + ms;
	for (;;) {
		const free = sessions
			.names()
			.filter((name) => !engine.isBusy(name) && !sessions.isRunning(name));
		// What could not be given up is free when this server's row is deleted.
		await releaseSessions(free, parts).catch(() => {});
		if (sessions.names().length === 0 || performance.now() >= until) return;
		await sleep(CHECK_MS);
	}
}
