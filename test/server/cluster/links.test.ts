import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { createHello, helloHeaders } from "../../../src/server/cluster/handshake.ts";
import type { Link, LinkLimits } from "../../../src/server/cluster/link.ts";
import { Links } from "../../../src/server/cluster/links.ts";
import { PATIENCE } from "../../support/patience.ts";
import { atEnd } from "../../support/temp.ts";
import { startLinkProxy } from "./socket-proxy.ts";

const LIMITS = { pingMs: 20, silenceMs: 200, highBytes: 100_000, maxBytes: 10_000_000 };

/** A server that has nothing but links, behind a proxy. */
async function startNode(id: string, given: { secret?: string; limits?: LinkLimits } = {}) {
	const proxy = await startLinkProxy();
	const open = new Map<string, Link>();
	const heard: string[] = [];
	const opened: Link[] = [];
	const warnings: string[] = [];
	const links = new Links({
		secret: given.secret ?? "one secret for all",
		self: () => id,
		limits: given.limits ?? LIMITS,
		maxFrameBytes: 2 ** 24,
		allowsPlain: false,
		warn: (line) => warnings.push(line),
		onLink(link) {
			open.set(link.peer, link);
			opened.push(link);
			link.start({
				onFrame: (kind, head, body) => heard.push(`${kind} ${JSON.stringify(head)} ${body}`),
				onClose() {
					if (open.get(link.peer) === link) open.delete(link.peer);
					links.remove(link);
				},
			});
		},
	});
	const http = createServer();
	http.on("upgrade", (request, socket, head) => links.accept(request, socket, head));
	await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
	proxy.target = (http.address() as AddressInfo).port;
	atEnd(() => {
		links.close();
		proxy.close();
		http.close();
		http.closeAllConnections();
	});
	return {
		peer: { id, address: `ws://127.0.0.1:${proxy.port}/` },
		links,
		open,
		opened,
		heard,
		warnings,
		proxy,
	};
}

type Node = Awaited<ReturnType<typeof startNode>>;

function meet(...nodes: Node[]): void {
	const peers = nodes.map(({ peer }) => peer);
	for (const { links } of nodes) links.update(peers);
}

async function linked(a: Node, b: Node): Promise<void> {
	await vi.waitFor(() => {
		expect(a.open.get(b.peer.id)?.isOpen).toBe(true);
		expect(b.open.get(a.peer.id)?.isOpen).toBe(true);
	}, PATIENCE);
}

test("two servers have one link, in both directions, whatever they send", async () => {
	const [a, b] = [await startNode("a"), await startNode("b")];
	meet(a, b);
	await linked(a, b);
	a.open.get("b")?.send("interest", ["ö", "all"], '{"text":"with\\n feeds"}\nand more');
	b.open.get("a")?.send("response", 2);
	await vi.waitFor(() => {
		expect(b.heard).toEqual(['interest ["ö","all"] {"text":"with\\n feeds"}\nand more']);
		expect(a.heard).toEqual(["response 2 "]);
	}, PATIENCE);
	expect([a.opened.length, b.opened.length]).toEqual([1, 1]);
});

test("a link that is cut is opened again", { tags: "slow" }, async () => {
	const [a, b] = [await startNode("a"), await startNode("b")];
	meet(a, b);
	await linked(a, b);
	b.proxy.set("cut");
	await vi.waitFor(() => expect(a.open.size).toBe(0), PATIENCE);
	b.proxy.set("pass");
	await linked(a, b);
});

test.each(["hang", "hang in", "hang out"] as const)(
	"a link that is silent is closed by both (%s)",
	{ tags: "slow" },
	async (mode) => {
		const [a, b] = [await startNode("a"), await startNode("b")];
		meet(a, b);
		await linked(a, b);
		const [first] = a.opened;
		b.proxy.set(mode);
		await vi.waitFor(() => expect(first?.isOpen).toBe(false), PATIENCE);
		await vi.waitFor(() => expect(b.opened[0]?.isOpen).toBe(false), PATIENCE);
		b.proxy.set("pass");
		await linked(a, b);
	},
);

test("a server without the secret gets no link", { tags: "slow" }, async () => {
	const [a, b] = [await startNode("a"), await startNode("b", { secret: "some other secret" })];
	meet(a, b);
	const why = "it answers 401: the cluster secret is missing or wrong";
	await vi.waitFor(() => expect(a.warnings.join()).toContain(why), PATIENCE);
	expect([a.opened, b.opened]).toEqual([[], []]);
	expect(a.warnings.join()).not.toContain("one secret");
});

test("two servers that advertise one address are named in a warning", {
	tags: "slow",
}, async () => {
	const [a, b] = [await startNode("a"), await startNode("b")];
	a.links.update([a.peer, { id: "c", address: b.peer.address }]);
	const why = `cannot link to ${b.peer.address}: it answers 409: this address belongs to another server now`;
	await vi.waitFor(() => expect(a.warnings).toEqual([why]), PATIENCE);
});

test("a recorded hello opens nothing: the challenge must be answered", async () => {
	const b = await startNode("b");
	const headers = helloHeaders(createHello("one secret for all", "a", "b"));
	const ws = new WebSocket(`${b.peer.address}link`, { headers });
	const closed = new Promise<void>((resolve) => ws.on("close", () => resolve()));
	await new Promise((resolve) => ws.once("message", resolve));
	ws.send("no answer");
	await closed;
	expect(b.opened).toEqual([]);
});

test("a page cannot open a link, even with the secret", async () => {
	const b = await startNode("b");
	const hello = Object.entries(helloHeaders(createHello("one secret for all", "a", "b")));
	const socket = connect(Number(b.proxy.target), "127.0.0.1");
	atEnd(() => void socket.destroy());
	const lines = [
		"GET /link HTTP/1.1",
		"Host: 127.0.0.1",
		"Connection: Upgrade",
		"Upgrade: websocket",
		"Origin: https://evil.example",
		...hello.map(([name, value]) => `${name}: ${value}`),
	];
	socket.write(`${lines.join("\r\n")}\r\n\r\n`);
	const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
	expect(String(answer)).toMatch(/^HTTP\/1.1 403 /);
});

test("one answer may be larger than what a link holds back: it would be lost each time it is sent again", async () => {
	const limits = { ...LIMITS, silenceMs: 60_000, maxBytes: 1_000_000 };
	const [a, b] = [await startNode("a", { limits }), await startNode("b", { limits })];
	meet(a, b);
	await linked(a, b);
	const link = a.open.get("b") as Link;
	link.send("response", 1, "x".repeat(2 * limits.maxBytes));
	await vi.waitFor(() => {
		expect(b.heard.map((text) => text.length)).toEqual([
			2 * limits.maxBytes + "response 1 ".length,
		]);
	}, PATIENCE);
	expect(link.isOpen).toBe(true);
});

test("what is not read is bounded: the link says so, and is closed in the end", async () => {
	const [a, b] = [await startNode("a"), await startNode("b")];
	meet(a, b);
	await linked(a, b);
	const link = a.open.get("b") as Link;
	b.proxy.set("hang");
	const body = "x".repeat(500_000);
	for (let count = 0; link.hasRoom && count < 100; count++) link.send("response", 1, body);
	expect(link.hasRoom).toBe(false);
	for (let count = 0; link.isOpen && count < 100; count++) link.send("response", 1, body);
	expect(link.isOpen).toBe(false);
	await link.whenRoom();
});
