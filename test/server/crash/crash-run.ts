/**
 * Clients change sessions without pause while their server is killed at random moments and started again. Afterwards
 * every command that was acknowledged has happened once, every interrupted one at most once, versions count exactly what
 * was acknowledged, and a subscriber has every event once.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createClient, webSocketTransport } from "../../../src/protocol/client.ts";
import { createRandom, type Random } from "../../readcache/law/random.ts";
import {
	type LoopbackAnthropic,
	modelsJson,
	startLoopbackAnthropic,
} from "../../support/loopback-anthropic.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import { receiveGuests } from "./guests.ts";
import { type MortalServer, startMortalServer } from "./mortal-server.ts";
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
	const server = await startMortalServer(preparedAgentDir(folder, provider));
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
	const fate = createFate({ server, watched, random, kills: options.kills, answersPerLife });
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
	return reportOf(deeds.flat(), server, watched, names);
}

interface FateOptions {
	server: MortalServer;
	watched: WatchedWire;
	random: Random;
	kills: number;
	/** On average. */
	answersPerLife: number;
}

/** Kills the server after random numbers of answers, and lets it live again. */
function createFate({ server, watched, random, kills, answersPerLife }: FateOptions) {
	let left = kills;
	let dying: Promise<void> | undefined;
	const span = () => Math.ceil(answersPerLife * (0.1 + random.below(100) / 60));
	let answersLeft = span();

	async function die(): Promise<void> {
		await delay(random.between(0, 12));
		await killOnce();
		// Every now and then it dies again before it has quite come back.
		if (left > 0 && random.chance(0.3)) {
			await delay(random.between(0, 1_500));
			await killOnce();
		}
		answersLeft = span();
		dying = undefined;
	}

	async function killOnce(): Promise<void> {
		left--;
		await server.kill();
		server.revive();
	}

	return {
		answered() {
			if (random.chance(0.01)) watched.hangUp();
			if (--answersLeft <= 0 && left > 0) dying ??= die();
		},
		/** Once more, when everything has been acknowledged. */
		async end() {
			left = 0;
			await dying;
			await killOnce();
			await server.ready();
		},
	};
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
	{ deaths }: MortalServer,
	watched: WatchedWire,
	names: readonly string[],
): CrashReport {
	const count = (outcome: Deed["outcome"]) =>
		deeds.filter((deed) => deed.outcome === outcome).length;
	return {
		done: count("done"),
		interrupted: count("interrupted"),
		deaths,
		events: names.reduce((sum, name) => sum + watched.events(name).size, 0),
	};
}
