import { expect, test } from "vitest";
import type { ResponseData } from "../../../src/protocol/index.ts";
import { withServers } from "../../../src/server/cluster/server-views.ts";
import type { Call, Handlers } from "../../../src/server/engine/call.ts";

const info = (sessionId: string, sessionName?: string) => ({
	sessionId,
	...(sessionName !== undefined && { sessionName }),
	cwd: "/work",
	thinkingLevel: "off" as const,
	isStreaming: false,
	messageCount: 0,
	createdAt: new Date(0).toISOString(),
});
const record = (id: string) => ({
	principal: "ann",
	id,
	cwd: "/work",
	createdAtMs: 0,
	settings: {},
});
const server = (id: string) => ({
	id,
	home: id,
	address: `ws://${id}/`,
	workspaces: [],
	takesSessions: true,
	room: 1,
	sessions: 0,
	isSelf: id === "a",
	isLinked: id !== "a",
});

interface Given {
	readonly servers: readonly string[];
	readonly own: readonly ReturnType<typeof info>[];
	readonly there?: Readonly<Record<string, readonly ReturnType<typeof info>[]>>;
	readonly owners: Readonly<Record<string, string | undefined>>;
}

/** What the server `a` lists, as names and servers. */
async function listed({ servers, own, there = {}, owners }: Given) {
	const handlers = { list_sessions: () => ({ data: { sessions: own } }) } as unknown as Handlers;
	const views = withServers(handlers, {
		cluster: () => ({
			servers: () => servers.map(server),
			askAll: async () =>
				Object.entries(there).map(([id, sessions]) => {
					return { id, json: JSON.stringify({ success: true, data: { sessions } }) };
				}),
		}),
		sessionsOf: async () =>
			Object.entries(owners).map(([id, owner]) => ({ record: record(id), owner })),
	});
	const call = { principal: "ann", client: {}, command: { type: "list_sessions" } };
	const { data } = await views.list_sessions(call as unknown as Call<"list_sessions">);
	const { sessions } = data as ResponseData["list_sessions"];
	return Object.fromEntries(
		sessions.map((one) => [one.sessionId, [one.sessionName, one.server] as const]),
	);
}

test("a listed session has the server that has it, and none if it is parked", async () => {
	const found = await listed({
		servers: ["a", "b", "c"],
		own: [info("mine", "at a"), info("parked", "as stored")],
		there: { b: [info("theirs", "at b"), info("parked", "as stored")] },
		owners: { mine: "a", theirs: "b", parked: undefined, silent: "c" },
	});
	expect(found).toEqual({
		mine: ["at a", "ws://a/"],
		theirs: ["at b", "ws://b/"],
		parked: ["as stored", undefined],
		silent: [undefined, "ws://c/"],
	});
});

test("a session that is not stored yet is where it is listed, and one that moved is where it went", async () => {
	const found = await listed({
		servers: ["a", "b"],
		own: [info("new", "at a"), info("moved", "as parked")],
		there: { b: [info("moved", "at b")] },
		owners: { moved: "b" },
	});
	expect(found).toEqual({ new: ["at a", "ws://a/"], moved: ["at b", "ws://b/"] });
});

test("a server that is alone names itself nowhere", async () => {
	const found = await listed({ servers: ["a"], own: [info("s", "at a")], owners: { s: "a" } });
	expect(found).toEqual({ s: ["at a", undefined] });
});
