import type { Client, ClientError } from "../../../src/protocol/client.ts";
import type { Random } from "../../readcache/law/random.ts";

/** A changing command of a session, and what its sender was told. */
export interface Deed {
	kind: "name" | "bash" | "prompt";
	/** In no other command: what shows whether, and how often, this one took effect. */
	word: string;
	/** `interrupted`: the server died over it, so it may have happened or not. */
	outcome: "pending" | "done" | "interrupted";
	/** The session's version after it, if it is done. */
	version?: number;
}

export interface PlayerOptions {
	client: Client;
	sessionId: string;
	random: Random;
	/** Where `bash` commands leave their words, a line each. */
	file: string;
	/** Called for every answer. */
	onAnswer(): void;
}

/** Sends `count` random changing commands to one session, up to six at a time, and returns them in that order. */
export async function play(options: PlayerOptions & { count: number }): Promise<Deed[]> {
	const { sessionId, random, count } = options;
	const deeds: Deed[] = [];
	const inFlight = new Set<Promise<void>>();
	while (deeds.length < count) {
		const way = random.weighted([
			[12, "name"],
			[5, "bash"],
			[2, "prompt to its end"],
			[1, "prompt"],
		] as const);
		const kind = way === "prompt to its end" ? "prompt" : way;
		const deed: Deed = { kind, word: `${sessionId}-${deeds.length}-${kind}`, outcome: "pending" };
		deeds.push(deed);
		const answer = answered(deed, send(way, deed.word, options), options);
		inFlight.add(answer);
		answer.finally(() => inFlight.delete(answer)).catch(() => {}); // whoever waits for it hears of it
		if (way === "prompt" || random.chance(0.1)) await Promise.all(inFlight);
		// Behind a run that nobody waits for, the next prompt would queue in pi, which no journal keeps.
		if (way === "prompt") await idle(options);
		while (inFlight.size >= 6) await Promise.race(inFlight);
	}
	await Promise.all(inFlight);
	return deeds;
}

async function send(
	way: Deed["kind"] | "prompt to its end",
	word: string,
	{ client, sessionId, file }: PlayerOptions,
) {
	if (way === "name") return client.request("set_session_name", { sessionId, name: word });
	if (way === "bash") {
		const answer = await client.request("bash", {
			sessionId,
			command: `echo ${word} >> '${file}'`,
		});
		if (answer.data.exitCode !== 0) throw new Error(`${word}: ${JSON.stringify(answer)}`);
		return answer;
	}
	if (way === "prompt") return client.request("prompt", { sessionId, message: word });
	const answer = await client.request("prompt", { sessionId, message: word, waitFor: "settled" });
	if (answer.data.stopReason !== "stop") throw new Error(`${word}: ${JSON.stringify(answer)}`);
	return answer;
}

async function idle({ client, sessionId }: PlayerOptions): Promise<void> {
	while ((await client.request("get_state", { sessionId })).data.isStreaming) {
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

async function answered(
	deed: Deed,
	answer: Promise<{ sessionVersion?: number }>,
	{ onAnswer }: PlayerOptions,
): Promise<void> {
	try {
		const { sessionVersion } = await answer;
		deed.outcome = "done";
		if (sessionVersion !== undefined) deed.version = sessionVersion;
	} catch (error) {
		if ((error as ClientError).code !== "interrupted") throw error;
		deed.outcome = "interrupted";
	}
	onAnswer();
}
