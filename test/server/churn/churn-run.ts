/**
 * Days of use in a short time: sessions are created, used and deleted, clients come, subscribe, hang up or vanish. What
 * the server holds after each round must not grow.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "../../../src/protocol/client.ts";
import { modelsJson, startLoopbackAnthropic } from "../../support/loopback-anthropic.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import {
	type Holdings,
	type InspectedServer,
	startInspectedServer,
} from "../support/inspected-server.ts";
import { connectClient } from "../support/ws-client.ts";

export interface ChurnOptions {
	rounds: number;
	/** Rounds before those that count: code is compiled, caches fill. */
	warmup: number;
	/** In each round. */
	sessions: number;
	connections: number;
}

/** Returns what the server held after each round that counts. */
export async function runChurn(options: ChurnOptions): Promise<Holdings[]> {
	const { rounds, warmup, sessions, connections } = options;
	const folder = tempDir("churn");
	const provider = await startLoopbackAnthropic();
	atEnd(() => provider.close());
	const agentDir = join(folder, "agent");
	mkdirSync(agentDir);
	writeFileSync(join(agentDir, "models.json"), modelsJson(provider.url));
	const settings = { defaultProvider: "loop", defaultModel: "claude-loop" };
	writeFileSync(join(agentDir, "settings.json"), JSON.stringify(settings));
	const server = await startInspectedServer([], { agentDir });
	const held: Holdings[] = [];
	for (let round = 0; round < warmup + rounds; round++) {
		provider.script(Array.from({ length: sessions }, (_, number) => `answer ${number}`));
		await liveThroughSessions(server, { folder, round, count: sessions });
		await comeAndGo(server, connections);
		await left(server);
		if (round >= warmup) held.push(await server.holdings());
	}
	return held;
}

/** Sessions from their creation to their end, each with a prompt, a shell command and a second client that watches. */
async function liveThroughSessions(
	{ url }: InspectedServer,
	{ folder, round, count }: { folder: string; round: number; count: number },
): Promise<void> {
	const client = createClient({ url });
	const watcher = createClient({ url });
	for (let number = 0; number < count; number++) {
		const sessionId = `r${round}-${number}`;
		await client.request("create_session", { sessionId, cwd: folder });
		watcher.subscribe(sessionId, () => {}, { after: 0 });
		await Promise.all([
			client.request("set_session_name", { sessionId, name: sessionId }),
			client.request("prompt", { sessionId, message: "hello", waitFor: "settled" }),
			client.request("get_state", { sessionId }),
			client.request("get_messages", { sessionId }),
		]);
		if (number % 4 === 0) await client.request("bash", { sessionId, command: "echo hello" });
		await client.request("delete_session", { sessionId });
	}
	client.close();
	watcher.close();
}

/** Connections that subscribe, ask, and leave: politely, suddenly, or in the middle of a question. */
async function comeAndGo({ url }: InspectedServer, count: number): Promise<void> {
	const host = createClient({ url });
	const { sessionId } = (await host.request("create_session")).data;
	for (let number = 0; number < count; number++) {
		const { socket, next } = await connectClient(url);
		socket.send(JSON.stringify({ type: "subscribe", id: "s", sessionId, after: 0 }));
		if (number % 3 === 2) {
			socket.terminate();
			continue;
		}
		await next((message) => message.type === "response");
		if (number % 3 === 0) socket.close();
		else socket.terminate();
	}
	await host.request("delete_session", { sessionId });
	host.close();
}

/** Resolves when the server has noticed that everybody is gone. */
async function left({ url }: InspectedServer): Promise<void> {
	for (;;) {
		const text = await (await fetch(`${url.replace("ws:", "http:")}/metrics`)).text();
		if (/^strata_connections 0$/m.test(text)) return;
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

/** The median of a figure over the last third of the rounds, less that over the first. */
export function growth(held: readonly Holdings[], figure: keyof Holdings): number {
	const third = Math.floor(held.length / 3);
	const medianOf = (part: readonly Holdings[]) =>
		part.map((one) => one[figure] ?? 0).toSorted((a, b) => a - b)[part.length >> 1] ?? 0;
	return medianOf(held.slice(-third)) - medianOf(held.slice(0, third));
}
