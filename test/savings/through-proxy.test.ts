import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startProxy, upstreamsFrom } from "../../src/proxy/index.ts";
import { MemoryMarks, openMarks, Rewriter } from "../../src/savings/index.ts";
import type { Exchange } from "../../src/wire/exchange.ts";
import {
	ask,
	rawConnection,
	startTestProxy,
	startUpstream,
	bodyOf as wholeOf,
} from "../proxy/harness.ts";
import { StandIn } from "../support/stand-in/stand-in.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { play, promptTokens, reads, START } from "./played.ts";
import { bodyOf, code, PATHS, read, textsIn } from "./talks.ts";

type Rewrite = Rewriter["rewrite"];

/** The stand-in behind a proxy. */
async function world(rewrite?: Rewrite) {
	const standIn = await StandIn.start();
	atEnd(() => standIn.close());
	const exchanges: Exchange[] = [];
	const open = (through?: Rewrite) =>
		startProxy({
			port: 0,
			upstreams: upstreamsFrom({ anthropic: standIn.url }),
			...(through && { rewrite: through }),
			onExchange: (exchange) => exchanges.push(exchange),
		});
	let proxy = await open(rewrite);
	atEnd(() => proxy.close());
	return {
		standIn,
		exchanges,
		post: (body: Buffer, path = PATHS.anthropic) =>
			ask(proxy.port, `/anthropic${path}`, { method: "POST", body }),
		async restart(through?: Rewrite) {
			await proxy.close();
			proxy = await open(through);
		},
	};
}

const fresh = (): Rewrite => {
	const rewriter = new Rewriter({ marks: new MemoryMarks(), maxMs: 1e9 });
	return (request) => rewriter.rewrite(request);
};

test("no thinking is refused, and two bills differ by what is noted", async () => {
	const [plain, short] = [await world(), await world(fresh())];
	await play(plain, reads(1, 6), [START]);
	await play(short, reads(1, 6), [START]);
	const noted = short.exchanges.reduce((sum, { savings }) => sum + (savings?.tokens ?? 0), 0);
	expect(noted).toBeGreaterThan(1000);
	expect(promptTokens(plain.standIn) - promptTokens(short.standIn)).toBe(noted);
	for (const [at, { usage }] of short.standIn.requests.entries()) {
		const before = plain.standIn.requests[at]?.usage;
		expect(usage?.read).toBeLessThanOrEqual(before?.read ?? 0);
	}
});

test("a restart with the marks on disk goes on with the same bytes", async () => {
	const folder = join(tempDir(), "savings");
	const stored = async (): Promise<Rewrite> => {
		const marks = await openMarks(folder, 30);
		atEnd(() => marks.close());
		const rewriter = new Rewriter({ marks, maxMs: 1e9 });
		return (request) => rewriter.rewrite(request);
	};
	const one = await world(await stored());
	const { done } = await play(one, reads(1, 4), [START]);
	await one.restart(await stored());
	await play(one, reads(5, 3), done);
	const texts = textsIn("anthropic", one.standIn.requests.at(-1)?.body ?? Buffer.from("{}"));
	expect(texts.filter((text) => text?.startsWith("[strata: "))).toHaveLength(5);
	const stores = readFileSync(join(folder, "marks.sqlite"), "latin1");
	expect(stores).not.toContain("compute");
});

test("a proxy that joins late refuses nothing", async () => {
	const one = await world();
	const { done } = await play(one, reads(1, 4), [START]);
	await one.restart(fresh());
	await play(one, reads(5, 3), done);
	const texts = textsIn("anthropic", one.standIn.requests.at(-1)?.body ?? Buffer.from("{}"));
	expect(texts.slice(0, 3)).toEqual(Array(3).fill(code("a", 60)));
	expect(texts.at(-1)).toMatch(/^\[strata: /);
});

test("a count of tokens is refused in no form that was answered", async () => {
	const one = await world(fresh());
	const { done } = await play(one, reads(1, 4), [START]);
	const body = bodyOf("anthropic", done, { tools: [{ name: "Bash" }] });
	const path = `${PATHS.anthropic}/count_tokens`;
	expect((await one.post(body, path)).status).toBe(200);
	await one.restart();
	const refused = await one.post(body, path);
	expect(refused.status).toBe(400);
	expect(String(refused.body)).toContain("bound to a different conversation");
});

test("the stand-in does refuse a conversation that loses its short form", async () => {
	const one = await world(fresh());
	const { done } = await play(one, reads(1, 4), [START]);
	await one.restart();
	await expect(play(one, reads(5, 1), done)).rejects.toThrow("bound to a different conversation");
});

describe("a provider that answers 400 to a shortened request", () => {
	const AGAIN = bodyOf("anthropic", [START, ...reads(1, 2)]);
	const path = `/test${PATHS.anthropic}`;
	const isShort = (body: Buffer) => body.includes("[strata: ");

	/** `answerOf`: the status for a body, with what was asked before. */
	async function refusing(answerOf: (body: Buffer, asked: readonly Buffer[]) => number) {
		const asked: Buffer[] = [];
		const upstream = await startUpstream(async (request, response) => {
			const body = await wholeOf(request);
			asked.push(body);
			const status = answerOf(body, asked);
			if (status === 0) {
				response.destroy();
				return;
			}
			response.writeHead(status, { "x-asked": String(asked.length) });
			response.end(`${status} to request ${asked.length}`);
		});
		const marks = new MemoryMarks();
		const rewriter = new Rewriter({ marks, maxMs: 1e9 });
		const rewrite: Rewrite = (request) => rewriter.rewrite(request);
		const { port, exchanges } = await startTestProxy(upstream.url, { rewrite });
		const post = (body: Buffer) => ask(port, path, { method: "POST", body });
		return { asked, exchanges, post, marks };
	}

	test("gets the original once, and the conversation as it is from then on", async () => {
		const { asked, exchanges, post, marks } = await refusing((body) => (isShort(body) ? 400 : 200));
		const answer = await post(AGAIN);
		expect([answer.status, String(answer.body)]).toEqual([200, "200 to request 2"]);
		expect(asked.map(isShort)).toEqual([true, false]);
		expect(asked[1]).toEqual(AGAIN);
		const more = bodyOf("anthropic", [START, ...reads(1, 3)]);
		expect((await post(more)).status).toBe(200);
		expect(asked.slice(2)).toEqual([more]);
		await expect.poll(() => exchanges.length).toBe(2);
		const [first, second] = exchanges;
		expect(first).toMatchObject({ status: 200, savings: { tokens: 0, kept: "refused" } });
		expect(Buffer.from(first?.requestBody ?? [])).toEqual(AGAIN);
		expect(second?.savings).toEqual({ tokens: 0, results: 0, kept: "refused" });
		const late = new Rewriter({ marks, maxMs: 1e9 });
		expect(late.rewrite({ path: PATHS.anthropic, body: more }).body).toBeUndefined();
	});

	test("and to the original is passed on as it first answered", async () => {
		const { asked, exchanges, post } = await refusing(() => 400);
		const answer = await post(AGAIN);
		expect([answer.status, String(answer.body)]).toEqual([400, "400 to request 1"]);
		expect(answer.headers["x-asked"]).toBe("1");
		expect(asked.map(isShort)).toEqual([true, false]);
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]).toMatchObject({ status: 400, end: "complete" });
		expect(isShort(Buffer.from(exchanges[0]?.requestBody ?? []))).toBe(true);
		// The form was not the reason, so it stays.
		await post(AGAIN);
		expect(asked.map(isShort)).toEqual([true, false, true, false]);
	});

	test("and 529 to the original: that is passed on, and the form stays", async () => {
		const { asked, post } = await refusing((body, all) => {
			if (all.length > 2) return 200;
			return isShort(body) ? 400 : 529;
		});
		expect((await post(AGAIN)).status).toBe(529);
		expect((await post(AGAIN)).status).toBe(200);
		expect(asked.map(isShort)).toEqual([true, false, true]);
	});

	test("and cuts the connection of the original is passed on as it first answered", async () => {
		const { asked, exchanges, post } = await refusing((body) => (isShort(body) ? 400 : 0));
		const answer = await post(AGAIN);
		expect([answer.status, String(answer.body)]).toEqual([400, "400 to request 1"]);
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]).toMatchObject({ status: 400, end: "complete" });
		// The original was not accepted, so the form stays.
		await post(AGAIN);
		expect(asked.map(isShort)).toEqual([true, false, true, false]);
	});

	test("and cuts the answer to the original: the client gets what has arrived, cut", async () => {
		const { url } = await startUpstream(async (request, response) => {
			const body = await wholeOf(request);
			if (isShort(body)) response.writeHead(400).end("no");
			else response.writeHead(200).write("half", () => response.destroy());
		});
		const rewriter = new Rewriter({ marks: new MemoryMarks(), maxMs: 1e9 });
		const rewrite: Rewrite = (request) => rewriter.rewrite(request);
		const { port, exchanges } = await startTestProxy(url, { rewrite });
		const answer = await ask(port, path, { method: "POST", body: AGAIN });
		expect([answer.status, String(answer.body), answer.isCut]).toEqual([200, "half", true]);
		await expect.poll(() => exchanges).toMatchObject([{ status: 200, end: "upstream-cut" }]);
	});

	test("and a client that leaves before the original is answered ends both", async () => {
		const original = Promise.withResolvers<void>();
		const { url } = await startUpstream(async (request, response) => {
			const body = await wholeOf(request);
			if (isShort(body)) response.writeHead(400).end("no");
			else original.resolve();
		});
		const rewriter = new Rewriter({ marks: new MemoryMarks(), maxMs: 1e9 });
		const rewrite: Rewrite = (request) => rewriter.rewrite(request);
		const { port, exchanges } = await startTestProxy(url, { rewrite });
		const leaving = new AbortController();
		const { signal } = leaving;
		const answer = ask(port, path, { method: "POST", body: AGAIN, signal }).catch(() => "left");
		await original.promise;
		leaving.abort();
		expect(await answer).toBe("left");
		await expect.poll(() => exchanges).toMatchObject([{ end: "client-gone" }]);
		expect(exchanges[0]?.status).toBeUndefined();
	});

	test("at length is passed on as it comes", async () => {
		const long = "x".repeat(200_000);
		let asked = 0;
		const { url } = await startUpstream(async (request, response) => {
			await wholeOf(request);
			asked++;
			response.writeHead(400).end(long);
		});
		const rewriter = new Rewriter({ marks: new MemoryMarks(), maxMs: 1e9 });
		const rewrite: Rewrite = (request) => rewriter.rewrite(request);
		const { port } = await startTestProxy(url, { rewrite });
		const answer = await ask(port, path, { method: "POST", body: AGAIN });
		expect([answer.status, String(answer.body) === long, asked]).toEqual([400, true, 1]);
	});

	test("to an original is passed on at once", async () => {
		const { asked, post } = await refusing(() => 400);
		expect((await post(bodyOf("anthropic", [START, ...reads(1, 1)]))).status).toBe(400);
		expect(asked).toHaveLength(1);
	});
});

describe("the proxy", () => {
	const echo = () =>
		startUpstream((request, response) => {
			response.setHeader("x-length", String(request.headers["content-length"]));
			request.pipe(response);
		});

	test("sends what the rewriter returns, with its length, and hands that over", async () => {
		const { url } = await echo();
		const rewrite = () => ({ body: Buffer.from("shorter"), savings: { tokens: 3, results: 1 } });
		const { port, exchanges } = await startTestProxy(url, { rewrite });
		const answer = await ask(port, "/test/v1", { method: "POST", body: "a long request" });
		expect(String(answer.body)).toBe("shorter");
		expect(answer.headers["x-length"]).toBe("7");
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]).toMatchObject({ savings: { tokens: 3 }, end: "complete" });
		expect(String(Buffer.from(exchanges[0]?.requestBody ?? []))).toBe("shorter");
	});

	test("sends the original if the rewriter throws or returns none", async () => {
		const { url } = await echo();
		const kept: Buffer[] = [];
		const rewrite: Rewrite = ({ body }) => {
			kept.push(body);
			if (kept.length > 1) throw new Error("a bug");
			return {};
		};
		const { port, exchanges } = await startTestProxy(url, { rewrite });
		for (const body of ["first", "second"]) {
			const answer = await ask(port, "/test/v1", { method: "POST", body });
			expect(String(answer.body)).toBe(body);
		}
		await expect.poll(() => exchanges.length).toBe(2);
		const [first] = exchanges;
		expect(String(Buffer.from(first?.requestBody ?? []))).toBe("first");
		// The rewriter's memory of the request does not move away with the exchange.
		expect(first?.requestBody?.buffer).not.toBe(kept[0]?.buffer);
	});

	test("forwards bodies above the limit and without a length as they come", async () => {
		const { url } = await echo();
		const rewrite: Rewrite = () => ({ body: Buffer.from("never") });
		const { port } = await startTestProxy(url, { rewrite, limits: { maxBodyBytes: 10 } });
		const body = "more than ten bytes";
		expect(String((await ask(port, "/test/v1", { method: "POST", body })).body)).toBe(body);
		const chunked = { method: "POST", body: "chunks", chunkBytes: 3 };
		expect(String((await ask(port, "/test/v1", chunked)).body)).toBe("chunks");
	});

	// Each with a connection of its own: while this process works, an idle one may be closed.
	test.each([
		["compressed", "encoded", () => gzipSync(bodyOf("anthropic", [START, ...reads(1, 2)]))],
		[
			"of many megabytes",
			"slow",
			() => {
				// More new text than is looked at.
				const text = code("a", 100_000);
				return bodyOf("anthropic", [START, read("call_1", "a", text), read("call_2", "a", text)]);
			},
		],
	])("forwards a body that is %s byte for byte", { tags: "slow" }, async (_name, kept, make) => {
		const { url } = await echo();
		const rewriter = new Rewriter({ marks: new MemoryMarks() });
		const rewrite: Rewrite = (request) => rewriter.rewrite(request);
		const { port, exchanges } = await startTestProxy(url, { rewrite });
		const body = make();
		const headers = kept === "encoded" ? { "content-encoding": "gzip" } : {};
		const path = `/test${PATHS.anthropic}`;
		const answer = await ask(port, path, { method: "POST", body, headers });
		expect([answer.status, answer.body.equals(body)]).toEqual([200, true]);
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]?.savings?.kept).toBe(kept);
	});

	test("forwards a body as it comes if a header vouches for its bytes", async () => {
		const { url } = await echo();
		const rewrite: Rewrite = () => ({ body: Buffer.from("never") });
		const { port } = await startTestProxy(url, { rewrite });
		for (const headers of [
			{ "content-digest": "sha-256=:AA==:" },
			{ authorization: "AWS4-HMAC-SHA256 Credential=x" },
		]) {
			const answer = await ask(port, "/test/v1", { method: "POST", body: "signed", headers });
			expect(String(answer.body)).toBe("signed");
		}
	});

	test("ends an exchange whose client left before the end of its body", async () => {
		let asked = 0;
		const { url } = await startUpstream(() => {
			asked++;
		});
		const { port, exchanges } = await startTestProxy(url, { rewrite: () => ({}) });
		const socket = await rawConnection(port);
		socket.write(
			`POST /test/v1 HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ncontent-length: 9\r\n\r\nhalf`,
		);
		await expect.poll(() => socket.bytesWritten).toBeGreaterThan(0);
		socket.destroy();
		await expect.poll(() => exchanges.length).toBe(1);
		expect(exchanges[0]).toMatchObject({ end: "client-gone" });
		expect(exchanges[0]?.requestBody).toBeUndefined();
		expect(asked).toBe(0);
	});
});
