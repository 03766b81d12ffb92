import { existsSync, readFileSync } from "node:fs";
import { type Client, createClient } from "../../../src/protocol/client.ts";
import type { Deed } from "./player.ts";
import type { WatchedWire } from "./watched-wire.ts";

/** All there is to know about one session after the crashes. */
export interface Evidence {
	sessionId: string;
	deeds: readonly Deed[];
	/** Where its `bash` commands left their words. */
	file: string;
	/** Of somebody who was subscribed all the time. */
	watched: WatchedWire;
	url: string;
}

/** What is wrong, in words; nothing when every command took effect as often as its sender was told. */
export async function verdict(evidence: Evidence): Promise<string[]> {
	const { sessionId, deeds, watched } = evidence;
	const client = createClient({ url: evidence.url });
	try {
		const faults: string[] = [];
		const stream = await wholeStream(client, evidence);
		const messages = await userMessages(client, sessionId);
		const lines = linesOf(evidence.file);
		const names = namesIn(stream);
		for (const { word, kind, outcome } of deeds) {
			const places = { name: names, bash: lines, prompt: messages };
			const times = places[kind].filter((found) => found === word).length;
			if (times > 1) faults.push(`${word} (${outcome}) took effect ${times} times`);
			if (times === 0 && outcome === "done") faults.push(`${word} was acknowledged and is lost`);
		}
		const done = deeds.filter(({ outcome }) => outcome === "done");
		const versions = done.map(({ version }) => version);
		const expected = done.map((_, index) => index + 1);
		if (String(versions) !== String(expected)) {
			faults.push(`${sessionId}: the versions were ${versions}`);
		}
		faults.push(...(await lastVersionFaults(client, sessionId, done.length)));
		faults.push(...(await nameFaults(client, sessionId, deeds)));
		faults.push(...runFaults(sessionId, stream));
		await caughtUp(watched, sessionId, stream.length);
		stream.forEach((body, index) => {
			const seen = watched.events(sessionId).get(index + 1);
			// What was joined for a client that lagged is not there one by one.
			if (seen !== undefined && seen !== body) {
				faults.push(`${sessionId}: event ${index + 1} was ${seen} and is now ${body}`);
			}
		});
		return faults;
	} finally {
		client.close();
	}
}

/** Every event there is, from the first on; throws if one is missing. */
async function wholeStream(client: Client, { sessionId, url }: Evidence): Promise<string[]> {
	const bodies: string[] = [];
	// Opens the session, which may have something to say, too.
	await client.request("get_state", { sessionId });
	const last = (await client.request("switch_session", { sessionId })).data.seq;
	const reader = createClient({ url });
	try {
		for await (const frame of reader.stream(sessionId, { after: 0 })) {
			if (frame.type === "event" && frame.seq === undefined) continue; // a dialog, shown again
			if (frame.type !== "event" || frame.seq === undefined) {
				throw new Error(`${sessionId} has no whole stream: ${JSON.stringify(frame)}`);
			}
			bodies.push(JSON.stringify(frame.event));
			if (frame.seq >= last) break;
		}
		return bodies;
	} finally {
		reader.close();
	}
}

/** Every run has an end, before the next begins, whoever died in the middle of it. Nothing is tried again here. */
function runFaults(sessionId: string, stream: readonly string[]): string[] {
	const steps = stream
		.map((body) => String(JSON.parse(body).type))
		.filter((type) => type === "agent_start" || type === "agent_settled");
	const isInTurn = steps.every((type, at) => (type === "agent_start") === (at % 2 === 0));
	return isInTurn && steps.length % 2 === 0 ? [] : [`${sessionId}: its runs were ${steps}`];
}

function namesIn(stream: readonly string[]): string[] {
	return stream.flatMap((body) => {
		const event = JSON.parse(body);
		return event.type === "session_info_changed" ? [event.name] : [];
	});
}

async function userMessages(client: Client, sessionId: string): Promise<string[]> {
	const { data } = await client.request("get_messages", { sessionId });
	return data.messages.flatMap(({ role, content }) => {
		if (role !== "user") return [];
		if (typeof content === "string") return [content];
		return (content as { text?: string }[]).map(({ text = "" }) => text);
	});
}

function linesOf(file: string): string[] {
	return existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
}

/** Only a command that names the version is told whether it is right. */
async function lastVersionFaults(client: Client, sessionId: string, version: number) {
	return client.request("get_state", { sessionId }, { ifSessionVersion: version }).then(
		() => [],
		(error: Error) => [`${sessionId}: ${error.message}`],
	);
}

/** The name is the last one that was acknowledged, or one that was interrupted after it. */
async function nameFaults(client: Client, sessionId: string, deeds: readonly Deed[]) {
	const named = deeds.filter(({ kind }) => kind === "name");
	const lastDone = named.findLastIndex(({ outcome }) => outcome === "done");
	const possible = named.slice(Math.max(0, lastDone)).map(({ word }) => word);
	const { data } = await client.request("get_state", { sessionId });
	const { sessionName = "" } = data;
	if (named.length === 0 || possible.includes(sessionName)) return [];
	return [`${sessionId} is called "${sessionName}", not ${possible.join(" or ")}`];
}

/** Waits until the subscriber has what there is, which may still be on its way. */
async function caughtUp({ events }: WatchedWire, sessionId: string, last: number): Promise<void> {
	while (last > 0 && !events(sessionId).has(last)) {
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}
