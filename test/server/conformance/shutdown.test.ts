// @module-tag slow
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { tempDir } from "../../support/temp.ts";
import { openSession, transports, useServer } from "../support/conformance-server.ts";
import {
	course,
	finished,
	fresh,
	type Transport,
	type WireClient,
} from "../support/wire-client.ts";

const server = useServer({ limits: ["drainMs=5000"] });

/** What one client had under way when the server was told to stop. */
interface Scene {
	client: WireClient;
	/** A command that ends in time, and one that does not. */
	quick: string;
	slow: string;
	/** Sent afterwards. */
	tardy: string;
}

/** There is such a file as soon as the server has said that it stops. */
const stopping = join(tempDir(), "stopping");

const scenes = new Map<Transport, Scene>();

beforeAll(async () => {
	const prepared = [];
	for (const transport of transports) {
		const client = await server.client(transport);
		const [one, two] = [await openSession(client), await openSession(client)];
		prepared.push({ transport, client, one, two });
	}
	for (const { transport, client, one, two } of prepared) {
		const [quick, slow, tardy] = [fresh("quick"), fresh("slow"), fresh("tardy")];
		client.send(
			{ type: "prompt", id: quick, sessionId: one, message: `/until ${stopping}` },
			{ type: "prompt", id: slow, sessionId: two, message: "/later 60000 x" },
		);
		scenes.set(transport, { client, quick, slow, tardy });
	}
	for (const { client, slow } of scenes.values()) {
		await client.next((frame) => frame.type === "command_started" && frame.data.commandId === slow);
	}
	server.process.child.kill("SIGTERM");
	for (const { client, tardy } of scenes.values()) {
		await client.next((frame) => frame.type === "server_shutdown");
		client.send({ type: "list_sessions", id: tardy });
	}
	writeFileSync(stopping, "");
	for (const { client, slow } of scenes.values()) await client.response(slow);
});

describe.each(transports)("over %s", (transport) => {
	const scene = () => scenes.get(transport) as Scene;

	test("§6 server_shutdown tells every connection why and how long there is", () => {
		const told = scene().client.frames.filter(({ type }) => type === "server_shutdown");
		expect(told).toEqual([
			{ type: "server_shutdown", data: { reason: "received SIGTERM", timeoutMs: 5000 } },
		]);
	});

	test("§7.1 a command that comes while the server stops is refused, without lifecycle events", async () => {
		const { client, tardy } = scene();
		expect(await client.response(tardy)).toMatchObject({
			success: false,
			code: "shutting_down",
			error: expect.any(String),
		});
		expect(course(client, tardy)).toEqual(["response"]);
	});

	test("§7.2 what is under way may end, and what does not end in time is finished as a failure", async () => {
		const { client, quick, slow } = scene();
		expect(await client.response(quick)).toMatchObject({ success: true });
		expect(await client.response(slow)).toMatchObject({ success: false, code: "interrupted" });
		for (const id of [quick, slow]) {
			expect(course(client, id)).toEqual(["accepted", "started", "finished", "response"]);
		}
		expect(finished(client, slow)).toMatchObject({ success: false, code: "interrupted" });
	});
});

test("the process ends in order, also when an extension has left a timer behind", {
	tags: "slow",
}, async () => {
	expect(await server.process.exited).toEqual({ code: 0, signal: null });
});
