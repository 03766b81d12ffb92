import { expect, test, vi } from "vitest";
import type { Link } from "../../../src/server/cluster/link.ts";
import { Router } from "../../../src/server/cluster/router.ts";
import type { Client, Message } from "../../../src/server/engine/message.ts";
import { DEFAULT_LIMITS } from "../../../src/server/limits.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd } from "../../support/temp.ts";

const SERVER = {
	home: "h",
	address: "",
	workspaces: [],
	takesSessions: true,
	room: 9,
	sessions: 0,
};

/** A router whose sessions are all at another server, which answers when a test says so. `away` has no link. */
function createRouter(limits = {}, { awaySession = "", engine = {}, isLast = false } = {}) {
	const forwarded: { number: number; id: string }[] = [];
	const link = {
		isOpen: true,
		peer: "far",
		send: (kind: string, [number]: [number], body: string) => {
			if (kind === "command") forwarded.push({ number, id: JSON.parse(body).id });
		},
	} as unknown as Link;
	const router = new Router({
		engine: {
			connect: () => {},
			disconnect: () => {},
			receive: () => {},
			whenAnswered: async () => {},
			holds: () => false,
			claim: async () => undefined,
			isStopping: isLast,
			...engine,
		},
		journal: { find: (names) => names.map(() => undefined) },
		limits: { ...DEFAULT_LIMITS, ...limits },
		locate: async ({ sessionId }) => ({
			record: { cwd: "/" } as never,
			owner: isLast ? undefined : sessionId === awaySession ? "away" : "far",
		}),
		servers: () => [
			{ ...SERVER, id: "here", takesSessions: !isLast },
			...(isLast ? [] : ["far", "away"].map((id) => ({ ...SERVER, id }))),
		],
		self: () => "here",
		link: (id) => (id === "far" ? link : undefined),
		onClients: () => {},
	});
	atEnd(() => router.close());
	const client = (id: string) => {
		const answers: Message[] = [];
		const made: Client & { gone: boolean; answers: Message[] } = {
			id,
			principal: "ann",
			lifecycle: "none",
			gone: false,
			send: (message) => answers.push(message),
			answers,
		};
		router.connect(made);
		return made;
	};
	const ask = (from: Client, id: string, sessionId: string, more = {}) =>
		router.receive(from, JSON.stringify({ type: "get_state", id, sessionId, ...more }));
	const answer = (id: string) => {
		const { number = 0 } = forwarded.find((one) => one.id === id) ?? {};
		router.onResponse(link, number, JSON.stringify({ type: "response", id, success: true }));
	};
	const ids = () => forwarded.map(({ id }) => id);
	const release = (sessionId: string) => router.onReleased(link, [{ principal: "ann", sessionId }]);
	const move = (id: string) => {
		const { number = 0 } = forwarded.find((one) => one.id === id) ?? {};
		router.onMoved(link, number, "elsewhere");
	};
	const cut = () => router.onLinkClosed(link);
	return { router, client, ask, answer, ids, release, move, cut };
}

test("a command behind one whose client has left is sent, although that one waited for a dependency", async () => {
	const { router, client, ask, ids } = createRouter();
	const [ann, other] = [client("a"), client("b")];
	ask(ann, "slow", "s1");
	await vi.waitFor(() => expect(ids()).toEqual(["slow"]), PATIENCE);
	ask(ann, "waits", "s2", { dependsOn: ["slow"] });
	ask(other, "behind", "s2");
	ann.gone = true;
	router.disconnect(ann);
	await vi.waitFor(() => expect(ids()).toEqual(["slow", "behind"]), PATIENCE);
});

test("what depends on a command of a client that left is not sent without it", async () => {
	const { router, client, ask, answer, ids } = createRouter({}, { awaySession: "s1" });
	const ann = client("a");
	ask(ann, "first", "s1");
	ask(ann, "known", "s3");
	await vi.waitFor(() => expect(ids()).toEqual(["known"]), PATIENCE);
	answer("known");
	ask(ann, "second", "s3", { dependsOn: ["first"] });
	ann.gone = true;
	router.disconnect(ann);
	expect(ids()).toEqual(["known"]);
	expect(router.pending).toBe(0);
});

test("a read is not sent to one server after the other when each is lost with it, and a change is", async () => {
	const { client, ask, answer, ids, cut } = createRouter();
	const ann = client("a");
	ask(ann, "read", "s");
	ask(ann, "change", "s", { type: "set_session_name", name: "n" });
	for (let times = 1; times <= 3; times++) {
		await vi.waitFor(() => expect(ids()).toHaveLength(2 * times), PATIENCE);
		cut();
	}
	expect(ann.answers.map(({ value }) => value)).toMatchObject([{ id: "read", code: "busy" }]);
	await vi.waitFor(() => expect(ids()).toHaveLength(7), PATIENCE);
	expect(ids().at(-1)).toBe("change");
	answer("change");
	expect(ann.answers).toHaveLength(2);
});

test("a command behind one that comes back for a client that left is sent", async () => {
	const { router, client, ask, ids, release, move } = createRouter();
	const [ann, other] = [client("a"), client("b")];
	ask(ann, "one", "s");
	await vi.waitFor(() => expect(ids()).toEqual(["one"]), PATIENCE);
	release("s");
	ask(other, "two", "s");
	ann.gone = true;
	router.disconnect(ann);
	move("one");
	await vi.waitFor(() => expect(ids()).toEqual(["one", "two"]), PATIENCE);
});

test("a change that may have begun here is never answered as one that had no effect", {
	tags: "slow",
}, async () => {
	let isHere = true;
	const engine = {
		holds: () => isHere,
		receive: (_client: Client, _bytes: unknown, { moved }: { moved(why: "elsewhere"): void }) => {
			isHere = false;
			moved("elsewhere");
		},
	};
	const limits = { shortMs: 1, longMs: 1 };
	const { router, client } = createRouter(limits, { awaySession: "s", engine });
	const ann = client("a");
	const change = { type: "set_session_name", id: "x", sessionId: "s", name: "n" };
	router.receive(ann, JSON.stringify(change));
	await vi.waitFor(() => expect(ann.answers).toHaveLength(1), PATIENCE);
	expect(ann.answers[0]?.value).toMatchObject({ success: false, code: "timeout" });
});

test("the last server that stops says so, for sessions that it has given up, too", async () => {
	const { client, ask } = createRouter({}, { isLast: true });
	const ann = client("a");
	ask(ann, "late", "s");
	await vi.waitFor(() => expect(ann.answers).toHaveLength(1), PATIENCE);
	expect(ann.answers[0]?.value).toMatchObject({ success: false, code: "shutting_down" });
});

test("a command waits for its dependency on another server, and for what was sent before it", async () => {
	const { client, ask, answer, ids } = createRouter();
	const ann = client("a");
	ask(ann, "first", "s1");
	ask(ann, "second", "s2", { dependsOn: ["first"] });
	ask(ann, "third", "s2");
	await vi.waitFor(() => expect(ids()).toEqual(["first"]), PATIENCE);
	answer("first");
	await vi.waitFor(() => expect(ids()).toEqual(["first", "second", "third"]), PATIENCE);
});

test("what waits for one server is bounded at half of all: the others' commands still go", async () => {
	const { router, client, ask } = createRouter({ maxPending: 10 });
	const ann = client("a");
	for (let number = 0; number < 8; number++) ask(ann, `c${number}`, "s");
	// The first is counted before its server is known.
	await vi.waitFor(() => expect(router.pending).toBeGreaterThan(0), PATIENCE);
	for (let number = 8; number < 20; number++) ask(ann, `c${number}`, "s");
	const codes = ann.answers.map(({ value }) => (value.type === "response" ? value.code : ""));
	expect(codes.length).toBeGreaterThan(0);
	expect(new Set(codes)).toEqual(new Set(["busy"]));
	expect(router.pending).toBeLessThanOrEqual(10);
});
