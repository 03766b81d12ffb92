import type { Client, ClientError } from "../../../src/protocol/client.ts";
import type { Random } from "../../readcache/law/random.ts";

export interface GuestsOptions {
	client: Client;
	cwd: string;
	random: Random;
	count: number;
	onAnswer(): void;
}

/**
 * Creates sessions, uses each a little and deletes it, `count` times. Throws when the server contradicts itself: a session
 * that is there twice or comes back, or versions that do not count what was done.
 */
export async function receiveGuests(options: GuestsOptions): Promise<void> {
	const { client, cwd, random, count } = options;
	for (let number = 0; number < count; number++) {
		const sessionId = `guest-${number}`;
		const created = await attempt(() => client.request("create_session", { sessionId, cwd }));
		if (created === "interrupted" && !(await isThere(sessionId))) continue;
		if (typeof created === "object") same(created.sessionVersion, 0, `${sessionId} begins`);
		let version = 0;
		for (let step = random.below(3); step > 0; step--) {
			const name = `${sessionId} ${step}`;
			const named = await attempt(() => client.request("set_session_name", { sessionId, name }));
			if (typeof named === "object") same(named.sessionVersion, ++version, `${sessionId} is named`);
		}
		let deleted = await attempt(() => client.request("delete_session", { sessionId }));
		while (deleted === "interrupted" && (await isThere(sessionId))) {
			const ifSessionVersion = version;
			deleted = await attempt(() =>
				client.request("delete_session", { sessionId }, { ifSessionVersion }),
			);
		}
		same(await isThere(sessionId), false, `${sessionId} is there after it was deleted`);
	}

	async function isThere(sessionId: string): Promise<boolean> {
		const { data } = await client.request("list_sessions");
		const found = data.sessions.filter((session) => session.sessionId === sessionId);
		if (found.length > 1) throw new Error(`${sessionId} is there ${found.length} times`);
		return found.length === 1;
	}

	async function attempt<Answer>(request: () => Promise<Answer>): Promise<Answer | "interrupted"> {
		try {
			return await request();
		} catch (error) {
			if ((error as ClientError).code !== "interrupted") throw error;
			return "interrupted";
		} finally {
			options.onAnswer();
		}
	}
}

function same<Value>(value: Value, expected: Value, what: string): void {
	if (value !== expected) throw new Error(`${what}: expected ${expected}, got ${value}`);
}
