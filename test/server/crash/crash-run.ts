/**
 * Clients change sessions without pause while their server is killed at random moments and started again. Afterwards
 * every command that was acknowledged has happened once, every interrupted one at most once, versions count exactly what
 * was acknowledged, and a subscriber has every event once.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient, webSocketTransport } from "../../../src/protocol/client.ts";
import { createRandom } from "../../readcache/law/random.ts";
import {
	type LoopbackAnthropic,
	modelsJson,
	startLoopbackAnthropic,
} from "../../support/loopback-anthropic.ts";
import { atEnd, removeDir, tempDir } from "../../support/temp.ts";
import { createFate, type Moment } from "./fate.ts";
import { receiveGuests } from "./guests.ts";
import { startMortalServer } from "./mortal-server.ts";
import { type Deed, play } from "./player.ts";
import { verdict } from "./verdict.ts";
import { type WatchedWire, watchWire } from "./watched-wire.ts";

export interface CrashOptions {
	seed: number;
	sessions: number;
	/** For each session. */
	commands: number;
	/** Sessions that are created and deleted meanwhile. */
	guests: number;
	/** How often the server is killed while it works; once more follows at the end. */
	kills: number;
	/** Called for every kill, with what the server was doing. */
	onDeath?(moment: Moment): void;
}

export interface CrashReport {
	done: number;
	interrupted: number;
	deaths: number;
	events: number;
}

/** One run. Throws with the seed when something was lost, doubled or out of order. */
export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
	const { seed, sessions, commands, guests } = options;
	const random = createRandom(seed);
	const folder = tempDir("crash");
	const provider = await startLoopbackAnthropic();
	atEnd(() => provider.close());
	const agentDir = preparedAgentDir(folder, provider);
	const server = await startMortalServer(agentDir);
	const { url } = server;
	const patience = { firstRetryMs: 20, lastRetryMs: 80 };
	const watched = watchWire(webSocketTransport(url));
	const client = createClient({ url, ...patience });
	const watcher = createClient({ transport: watched.transport, ...patience });
	atEnd(() => client.close());
	atEnd(() => watcher.close());

	const names = Array.from({ length: sessions }, (_, index) => `s${index}`);
	for (const sessionId of names) {
		await client.request("create_session", { sessionId, cwd: folder });
		watcher.subscribe(sessionId, () => {}, { after: 0 });
	}
	const answersPerLife = (sessions * commands) / (options.kills + 1);
	const { kills, onDeath } = options;
	const fate = createFate({ server, watched, random, kills, answersPerLife, onDeath });
	const onAnswer = () => fate.answered();
	const fileOf = (sessionId: string) => join(folder, `${sessionId}.txt`);
	const players = names.map((sessionId, index) =>
		play({
			client,
			sessionId,
			random: createRandom(seed + index + 1),
			file: fileOf(sessionId),
			count: commands,
			onAnswer,
		}),
	);
	const visits = receiveGuests({
		client,
		cwd: folder,
		random: createRandom(seed - 1),
		count: guests,
		onAnswer,
	});
	const all = Promise.all([visits, ...players]);
	const [, ...deeds] = await Promise.race([all, server.suicide]);
	await fate.end();

	const faults = [...watched.faults];
	for (const [index, sessionId] of names.entries()) {
		const evidence = { sessionId, deeds: deeds[index] ?? [], file: fileOf(sessionId) };
		faults.push(...(await verdict({ ...evidence, watched, url })));
	}
	if (server.complaints() !== "") faults.push(`it complained: ${server.complaints()}`);
	if (faults.length > 0) throw new Error(`seed ${seed}:\n${faults.slice(0, 30).join("\n")}`);
	// A long test has many runs: none leaves a process or files to the next.
	client.close();
	watcher.close();
	const { deaths } = server;
	await server.kill();
	await provider.close();
	removeDir(folder);
	return { ...reportOf(deeds.flat(), watched, names), deaths };
}

function preparedAgentDir(folder: string, provider: LoopbackAnthropic): string {
	const agentDir = join(folder, "agent");
	mkdirSync(agentDir);
	writeFileSync(join(agentDir, "models.json"), modelsJson(provider.url));
	const settings = { defaultProvider: "loop", defaultModel: "claude-loop" };
	writeFileSync(join(agentDir, "settings.json"), JSON.stringify(settings));
	const answer = (number: number) => ({
		content: [{ type: "text" as const, text: `answer ${number}` }],
		delayMs: number % 30,
	});
	provider.script(Array.from({ length: 9_999 }, (_, number) => answer(number)));
	return agentDir;
}

function reportOf(
	deeds: readonly Deed[],
	watched: WatchedWire,
	names: readonly string[],
): Pick<CrashReport, "done" | "interrupted" | "events"> {
	const count = (outcome: Deed["outcome"]) =>
		deeds.filter((deed) => deed.outcome === outcome).length;
	return {
		done: count("done"),
		interrupted: count("interrupted"),
		events: names.reduce((sum, name) => sum + watched.events(name).size, 0),
	};
}
