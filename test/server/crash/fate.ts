import { readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../readcache/law/random.ts";
import type { MortalServer } from "./mortal-server.ts";
import type { WatchedWire } from "./watched-wire.ts";

/** What a server is doing when it is killed. */
export type Moment = "answer" | "session file" | "checkpoint" | "shutdown" | "start" | "rest";

export interface FateOptions {
	server: MortalServer;
	watched: WatchedWire;
	random: Random;
	/** One more follows at the end. */
	kills: number;
	/** On average. */
	answersPerLife: number;
	/** Called for every kill. */
	onDeath?: ((moment: Moment) => void) | undefined;
}

/** Decides when the server dies, and lets it live again. */
export interface Fate {
	/** Called for every answer. */
	answered(): void;
	/** Kills it as often as is left, and once more when everything has been acknowledged. */
	end(): Promise<void>;
}

const MOMENTS = [
	[4, "answer"],
	[3, "session file"],
	[3, "checkpoint"],
	[3, "shutdown"],
] as const;
/** The share of starts that are cut off by the next kill. */
const CUT_STARTS = 0.3;
/** How long a moment that is rare is waited for, in lives. */
const PATIENCE = 3;

export function createFate(options: FateOptions): Fate {
	const { server, watched, random, answersPerLife } = options;
	const dataDir = join(server.agentDir, "strata", "server");
	let left = options.kills;
	let dying: Promise<void> | undefined;
	/** Ends the wait for a moment. */
	let waiting = new AbortController();
	let answersLeft = span();

	function span(): number {
		return Math.ceil(answersPerLife * (0.1 + random.below(100) / 60));
	}

	async function die(): Promise<void> {
		await kill(await reach(random.weighted(MOMENTS)));
		while (left > 0 && random.chance(CUT_STARTS)) await killInStart();
		answersLeft = span();
		dying = undefined;
	}

	/** Resolves at the moment, or with another if that does not come. */
	async function reach(moment: (typeof MOMENTS)[number][1]): Promise<Moment> {
		waiting = new AbortController();
		const { signal } = waiting;
		if (moment === "answer") {
			await delay(random.between(0, 12));
		} else if (moment === "session file") {
			if (!(await nextChange(sessionFolders(), /\.jsonl$/, signal))) return "answer";
		} else if (moment === "checkpoint") {
			// The log goes elsewhere: the file itself changes only when the log is moved into it.
			if (!(await nextChange([dataDir], /^journal\.db$/, signal))) return "answer";
		} else {
			// The log is also moved when the journal is closed, which is among the last things.
			const closes = nextChange([dataDir], /^journal\.db$/, signal);
			server.stop();
			if (random.chance(0.3)) await Promise.race([closes, server.ended()]);
			else await delay(random.between(0, random.pick([10, 100, 400])));
		}
		if (random.chance(0.5)) await delay(random.between(0, 4));
		return moment;
	}

	/** Anywhere in the start, or when it has begun to open its files. */
	async function killInStart(): Promise<void> {
		waiting = new AbortController();
		if (random.chance(0.5)) {
			const opens = nextChange([dataDir], random.pick([/^lock/, /^journal/]), waiting.signal);
			await Promise.race([opens, delay(2 * server.startMs)]);
		} else await delay((server.startMs * random.below(110)) / 100);
		await delay(random.between(0, 30));
		await kill("start");
	}

	async function kill(moment: Moment): Promise<void> {
		waiting.abort();
		if (await server.kill()) {
			left--;
			options.onDeath?.(moment);
		}
		server.revive();
	}

	function sessionFolders(): string[] {
		const place = join(server.agentDir, "sessions");
		return readdirSync(place).map((folder) => join(place, folder));
	}

	return {
		answered() {
			if (random.chance(0.01)) watched.hangUp();
			answersLeft--;
			if (answersLeft <= 0 && left > 0) dying ??= die();
			if (answersLeft < -PATIENCE * answersPerLife) waiting.abort();
		},
		async end() {
			waiting.abort();
			await dying;
			while (left > 0) await killInStart();
			await server.ready();
			await kill("rest");
			await server.ready();
		},
	};
}

/** Whether a file of this name in one of the folders changes before the signal. */
function nextChange(folders: string[], name: RegExp, signal: AbortSignal): Promise<boolean> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve(false);
		signal.addEventListener("abort", () => resolve(false), { once: true });
		for (const folder of folders) {
			watch(folder, { signal }, (_, file) => {
				if (file !== null && name.test(file)) resolve(true);
			});
		}
	});
}
