import { readFileSync } from "node:fs";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { describe, expect, test, vi } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd, tempDir } from "../../support/temp.ts";
import {
	type ConformanceOptions,
	type ConformanceServer,
	startConformanceServer,
} from "../support/conformance-server.ts";
import { createFailingDisk } from "../support/failing-disk.ts";
import { startServe } from "../support/serve-process.ts";
import { type Answer, connectWire, type WireClient } from "../support/wire-client.ts";
import { connectClient } from "../support/ws-client.ts";

async function startServer(options: ConformanceOptions = {}): Promise<ConformanceServer> {
	const server = await startConformanceServer(options);
	atEnd(() => server.stop());
	return server;
}

/** A session with one exchange, followed by a client of its own. */
async function open(server: ConformanceServer, sessionId: string): Promise<TestSession> {
	const session = follow(await connectWire(server.url), sessionId);
	const cwd = tempDir("project");
	await session.ask({ type: "create_session", cwd });
	await session.ask({ type: "subscribe" });
	expect(await session.say("one")).toMatchObject({ success: true });
	return session;
}

/** The same session after a restart. */
async function reopen(server: ConformanceServer, { sessionId }: TestSession): Promise<TestSession> {
	const session = follow(await connectWire(server.url), sessionId);
	await session.ask({ type: "subscribe" });
	return session;
}

type TestSession = ReturnType<typeof follow>;

function follow(client: WireClient, sessionId: string) {
	const ask = (command: { type: string; [field: string]: unknown }) =>
		client.ask({ sessionId, ...command });
	const events = (): Data<"SessionEvent">[] =>
		client.frames.flatMap((frame) => (frame.type === "event" ? frame.event : []));
	return {
		sessionId,
		ask,
		events,
		say: (text: string): Promise<Answer> =>
			ask({ type: "prompt", message: `say ${text}`, waitFor: "settled" }),
		name: (name: string): Promise<Answer> => ask({ type: "set_session_name", name }),
		notices: () =>
			events().flatMap((event) =>
				event.type === "extension_ui_request" && event.method === "notify" ? event.message : [],
			),
		/** What the user has said in the branch in view, and how many trees there are. */
		async view() {
			const { messages } = await data<{ messages: Message[] }>("get_messages");
			const { nodes } = await data<{ nodes: Node[] }>("get_tree", { flat: true });
			const ids = new Set(nodes.map(({ id }) => id));
			return {
				said: messages.filter(({ role }) => role === "user").map(textOf),
				roots: nodes.filter(({ parentId }) => parentId === null || !ids.has(parentId)).length,
			};
		},
		state: () => data<{ sessionFile: string; sessionName?: string }>("get_state"),
	};

	async function data<Data>(type: string, fields: object = {}): Promise<Data> {
		const answer = await ask({ type, ...fields });
		expect(answer).toMatchObject({ success: true });
		return answer.data as never;
	}
}

interface Message {
	role: string;
	content: string | { text: string }[];
}

interface Node {
	id: string;
	parentId: string | null;
}

function textOf({ content }: Message): string {
	return typeof content === "string" ? content : content.map(({ text }) => text).join("");
}

/** Another server with the same agent folder. */
async function startSecond(agentDir: string, dataDir: string) {
	const words = ["--port", "0", "--auth", "none", "--json", "--data-dir", dataDir];
	const { child, exited, ready } = startServe(words, { agentDir });
	const { port } = await ready();
	return {
		client: await connectWire(`ws://127.0.0.1:${port}`),
		async stop() {
			child.kill("SIGKILL");
			await exited;
		},
	};
}

/** The entries of a file in which every line is one. */
function entriesIn(file: string): { id: string }[] {
	const text = readFileSync(file, "utf8");
	expect(text.endsWith("\n")).toBe(true);
	return text
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line));
}

async function seeing(session: TestSession, text: string): Promise<void> {
	await vi.waitFor(() => expect(session.notices().join()).toContain(text), PATIENCE);
}

describe("a session whose file cannot be written for a while", () => {
	test("keeps all that was acknowledged, wherever the disk stops", { tags: "slow" }, async () => {
		const disk = createFailingDisk();
		const server = await startServer({ env: disk.env });
		const faults = [{}, { bytes: 40 }, { after: 1 }, { after: 1, bytes: 40 }];
		const sessions: TestSession[] = [];
		for (const [number, fault] of faults.entries()) {
			const session = await open(server, `s${number}`);
			sessions.push(session);
			disk.fill({ errno: "ENOSPC", ...fault });
			const full = await session.say("two");
			expect(full).toMatchObject({ success: false, code: "not_durable" });
			expect(full.error).toContain("may be lost");
			expect(full.error).not.toContain("/");
			const refused = await session.name("too early");
			expect(refused).toMatchObject({ success: false, code: "wrong_state" });
			expect((await session.view()).said).toContain("say one");
			await seeing(session, "Changes are refused");

			disk.mend();
			expect(await session.say("three")).toMatchObject({ success: true });
			expect(await session.name("in time")).toMatchObject({ success: true });
			await seeing(session, "complete again");
		}
		await server.restart();
		for (const session of sessions) {
			const next = await reopen(server, session);
			const said = ["say one", "say two", "say three"];
			expect(await next.view()).toEqual({ said, roots: 1 });
			const { sessionFile, sessionName } = await next.state();
			expect(sessionName).toBe("in time");
			entriesIn(sessionFile);
		}
	});

	test("says of each change that pi has in memory that it was carried out", {
		tags: "slow",
	}, async () => {
		const disk = createFailingDisk();
		const server = await startServer({ env: disk.env });
		const session = await open(server, "s");
		const changes = [
			{ type: "set_session_name", name: "kept" },
			{ type: "bash", command: "echo done" },
		];
		let sessionVersion = 1;
		for (const change of changes) {
			for (const times of [1, 1_000]) {
				disk.fill({ errno: "ENOSPC", times });
				const answer = await session.ask(change);
				sessionVersion++;
				expect(answer).toMatchObject({ success: false, code: "not_durable", sessionVersion });
				expect(answer.error).toContain("The command was carried out");
				disk.mend();
			}
			await vi.waitFor(async () => {
				expect(await session.ask({ type: "set_auto_retry", enabled: true })).toMatchObject({
					success: true,
				});
			}, PATIENCE);
			sessionVersion++;
		}
		await server.restart();
		const next = await reopen(server, session);
		expect(await next.state()).toMatchObject({ sessionName: "kept" });
		const { data } = await next.ask({ type: "get_entries" });
		expect(JSON.stringify(data).match(/"role":"bashExecution"/g)).toHaveLength(2);
	});

	test("has what was missing when the server stops, if there is room by then", {
		tags: "slow",
	}, async () => {
		const disk = createFailingDisk();
		const server = await startServer({ env: disk.env });
		const session = await open(server, "s");
		disk.fill({ errno: "ENOSPC", bytes: 20 });
		expect(await session.say("two")).toMatchObject({ code: "not_durable" });
		disk.mend();
		await server.restart("SIGTERM");
		const next = await reopen(server, session);
		expect(await next.view()).toEqual({ said: ["say one", "say two"], roots: 1 });
	});

	test("is opened for reading on a full disk, with a name that only its record has", {
		tags: "slow",
	}, async () => {
		const disk = createFailingDisk();
		const server = await startServer({ env: disk.env });
		const session = await open(server, "s");
		disk.fill({ errno: "ENOSPC" });
		expect(await session.name("in the record")).toMatchObject({ code: "not_durable" });
		await server.restart();
		const next = await reopen(server, session);
		expect(await next.state()).toMatchObject({ sessionName: "in the record" });
		expect((await next.view()).said).toEqual(["say one"]);
		expect(await next.say("two")).toMatchObject({ success: false, code: "wrong_state" });
		disk.mend();
		await seeing(next, "complete again");
		await server.restart();
		expect(await (await reopen(server, session)).state()).toMatchObject({
			sessionName: "in the record",
		});
	});

	test("cannot be opened while the system has no room for that, and is not called damaged", {
		tags: "slow",
	}, async () => {
		const disk = createFailingDisk();
		const server = await startServer({ env: disk.env });
		const session = await open(server, "s");
		disk.fill({ errno: "ENOSPC", bytes: 20 });
		expect(await session.say("two")).toMatchObject({ success: false, code: "not_durable" });
		await server.restart();
		const next = await reopen(server, session);
		const refused = await next.ask({ type: "get_state" });
		expect(refused).toMatchObject({ success: false, code: "wrong_state" });
		expect(refused.error).toMatch(/cannot open the session's file now \(ENOSPC.*try again/);
		expect(refused.error).not.toContain("delete");
		disk.mend();
		expect((await next.view()).said).toEqual(["say one"]);
		await seeing(next, "cannot be read and is lost");
	});

	test("writes what is missing by itself when there is room again", {
		tags: "slow",
	}, async () => {
		const disk = createFailingDisk();
		const server = await startServer({ env: disk.env });
		const session = await open(server, "s");
		disk.fill({ errno: "ENOSPC", bytes: 20 });
		expect(await session.name("a name")).toMatchObject({ success: false });
		const fresh = follow(await connectWire(server.url), "fresh");
		await fresh.ask({ type: "create_session", cwd: tempDir("project") });
		expect(await fresh.say("nothing")).toMatchObject({ success: false });
		disk.mend();
		await seeing(session, "complete again");
		expect(await fresh.say("something")).toMatchObject({ success: true });
		await server.restart();
		expect((await (await reopen(server, fresh)).view()).said).toEqual(["say something"]);
		const next = await reopen(server, session);
		expect(await next.state()).toMatchObject({ sessionName: "a name" });
		expect(await next.view()).toEqual({ said: ["say one"], roots: 1 });
	});

	test("keeps all that was acknowledged while another client takes all file descriptors", {
		tags: "slow",
	}, async () => {
		const server = await startServer({ maxFiles: 128 });
		const session = await open(server, "s");
		const taken = await Promise.all(
			Array.from({ length: 500 }, () => connectClient(server.url).catch(() => undefined)),
		);
		const acknowledged = ["say one"];
		for (const text of ["two", "three"]) {
			if ((await session.say(text)).success) acknowledged.push(`say ${text}`);
		}
		expect(await session.name("without descriptors")).toMatchObject({ success: false });
		for (const one of taken) one?.socket.terminate();
		await vi.waitFor(async () => {
			expect(await session.say("four")).toMatchObject({ success: true });
		}, PATIENCE);
		await server.restart("SIGTERM");
		const { said, roots } = await (await reopen(server, session)).view();
		expect(said).toEqual(expect.arrayContaining([...acknowledged, "say four"]));
		expect(roots).toBe(1);
	});
});

describe("a session file that another program writes to", () => {
	/** Pi in another process, as far as the file can tell. */
	function append(file: string, text: string, from?: string): string {
		const manager = SessionManager.open(file);
		if (from !== undefined) manager.branch(from);
		return manager.appendMessage({ role: "user", content: text, timestamp: Date.now() });
	}

	test("is left to it: the session goes on in a copy, and stays there", {
		tags: "slow",
	}, async () => {
		const server = await startServer();
		const session = await open(server, "s");
		const { sessionFile } = await session.state();
		const foreign = append(sessionFile, "said in a terminal");
		expect(await session.say("two")).toMatchObject({ success: true });
		const { sessionFile: copy } = await session.state();
		expect(copy).not.toBe(sessionFile);
		expect(session.events()).toContainEqual(
			expect.objectContaining({ type: "session_replaced", reason: "fork", sessionFile: copy }),
		);
		expect(session.notices().filter((text) => text.includes("Another program"))).toHaveLength(1);
		expect(entriesIn(sessionFile).at(-1)?.id).toBe(foreign);
		append(sessionFile, "and more");
		expect(await session.say("three")).toMatchObject({ success: true });
		await server.restart();
		const next = await reopen(server, session);
		const said = ["say one", "say two", "say three"];
		expect(await next.view()).toEqual({ said, roots: 1 });
		expect(await next.state()).toMatchObject({ sessionFile: copy });
	});

	test("does not take over the view after a restart, and is reported", {
		tags: "slow",
	}, async () => {
		const server = await startServer();
		const branched = await open(server, "branched");
		const continued = await open(server, "continued");
		expect(await branched.say("two")).toMatchObject({ success: true });
		const { sessionFile } = await branched.state();
		append(sessionFile, "in another branch", entriesIn(sessionFile)[1]?.id);
		append((await continued.state()).sessionFile, "behind its end");
		await server.restart("SIGTERM");

		const next = await reopen(server, branched);
		expect((await next.view()).said).toEqual(["say one", "say two"]);
		await seeing(next, "in another branch");
		expect(await next.say("three")).toMatchObject({ success: true });
		const other = await reopen(server, continued);
		expect((await other.view()).said).toEqual(["say one", "behind its end"]);
		await seeing(other, "continues from there");

		await server.restart();
		const last = await reopen(server, branched);
		expect((await last.view()).said).toEqual(["say one", "say two", "say three"]);
	});

	test("is not suspected of what a crash had cut off, also when the session is opened only a start later", {
		tags: "slow",
	}, async () => {
		const server = await startServer();
		const session = await open(server, "s");
		await session.ask({ type: "prompt", message: "ponder" });
		const { sessionFile } = await session.state();
		await vi.waitFor(() => expect(entriesIn(sessionFile)).toHaveLength(8), PATIENCE);
		await server.restart("SIGKILL");
		for (const _time of [1, 2]) await server.restart("SIGTERM");
		const next = await reopen(server, session);
		expect((await next.view()).said).toEqual(["say one", "ponder"]);
		expect(await next.name("the next event")).toMatchObject({ success: true });
		const named = expect.objectContaining({ type: "session_info_changed" });
		await vi.waitFor(() => expect(next.events()).toContainEqual(named), PATIENCE);
		expect(next.notices()).toEqual([]);
	});

	test("does not take over the view after a crash, also where the session's own last entry is missing", {
		tags: "slow",
	}, async () => {
		const disk = createFailingDisk();
		const server = await startServer({ env: disk.env });
		const session = await open(server, "s");
		const { sessionFile } = await session.state();
		disk.fill({ errno: "ENOSPC" });
		expect(await session.say("two")).toMatchObject({ code: "not_durable" });
		append(sessionFile, "in another branch", entriesIn(sessionFile)[1]?.id);
		await server.restart("SIGKILL");
		disk.mend();
		const next = await reopen(server, session);
		expect((await next.view()).said).toEqual(["say one"]);
		await seeing(next, "lacks the last entry");
		await seeing(next, "in another branch");
		expect(await next.say("three")).toMatchObject({ success: true });
		await server.restart();
		const { said } = await (await reopen(server, session)).view();
		expect(said).toEqual(["say one", "say three"]);
	});

	test("may belong to a second server: each keeps its own branch", { tags: "slow" }, async () => {
		const server = await startServer();
		const first = await open(server, "s");
		const { sessionFile: sessionPath } = await first.state();
		const dataDir = tempDir("second");
		const { agentDir } = server.process;
		const running = await startSecond(agentDir, dataDir);
		const second = follow(running.client, "s");
		await second.ask({ type: "load_session", sessionPath });
		for (const text of ["a", "b"]) {
			expect(await first.say(`first ${text}`)).toMatchObject({ success: true });
			expect(await second.say(`second ${text}`)).toMatchObject({ success: true });
		}
		await server.restart();
		const { said } = await (await reopen(server, first)).view();
		expect(said).toEqual(["say one", "say first a", "say first b"]);
		await running.stop();
		const { client } = await startSecond(agentDir, dataDir);
		const { said: saidThere } = await follow(client, "s").view();
		expect(saidThere).toEqual(["say one", "say second a", "say second b"]);
	});
});
