import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { CommandError } from "../../../src/server/engine/call.ts";
import type { ReplayUpload } from "../../../src/server/transports/replay-upload.ts";
import { MAX_UPLOAD } from "../../../src/text/upload-size.ts";
import { tempDir } from "../../support/temp.ts";
import { ANN, type EchoOptions, startEcho } from "../support/echo-server.ts";

const authorization = `Bearer ${ANN}`;
const report: ReplayUpload = async (body, { principal }) => ({
	bytes: (await buffer(body)).length,
	principal,
});

describe("a session file that is sent over HTTP", () => {
	test("is replayed for the principal of the token", async () => {
		const { send } = await start({ replayUpload: report });
		const body = "x".repeat(100_000);
		expect(await send({ headers: { authorization }, body })).toMatchObject({
			status: 200,
			type: "application/json; charset=utf-8",
			answer: { success: true, data: { bytes: 100_000, principal: "ann" } },
		});
	});

	test("needs a token, this server's name, no foreign page, and a server that is ready", async () => {
		const { send, state } = await start({ replayUpload: neverCalled });
		expect(await send({})).toMatchObject({ status: 401 });
		expect(await send({ headers: { authorization: "Bearer x" } })).toMatchObject({ status: 401 });
		for (const foreign of [{ host: "evil.example" }, { origin: "http://evil.example" }]) {
			const headers = { authorization, ...foreign };
			expect(await send({ headers, body: "x" })).toMatchObject({ status: 403 });
		}
		expect(await send({ headers: { authorization }, method: "GET" })).toMatchObject({
			status: 405,
		});
		state.ready = false;
		expect(await send({ headers: { authorization } })).toMatchObject({ status: 503 });
	});

	test("from a foreign page is refused also where no token is needed", async () => {
		const { send } = await start({ replayUpload: neverCalled, auth: "none" });
		for (const origin of ["http://evil.example", "null"]) {
			expect(await send({ headers: { origin }, body: "x" })).toMatchObject({ status: 403 });
		}
	});

	test("is refused by its length alone if it is too large, in words with size and limit", {
		tags: "slow",
	}, async () => {
		const { send } = await start({ replayUpload: neverCalled, auth: "none" });
		const body = Buffer.alloc(65 * 2 ** 20);
		const refused = {
			status: 413,
			answer: {
				success: false,
				code: "too_large",
				error: "content is too large: 65.0 MiB, but the server accepts at most 64 MiB",
			},
		};
		expect(await send({ body })).toMatchObject(refused);
		const oneMore = await send({ body: body.subarray(0, MAX_UPLOAD + 1) });
		expect(oneMore.answer?.error).toContain("too large: 64.1 MiB");
	});

	test("fails with the error's code, and its connection serves the next", async () => {
		let calls = 0;
		const { send } = await start({
			auth: "none",
			async replayUpload(body) {
				calls++;
				if (calls === 1) throw new CommandError("busy", "the queue is full");
				if (calls === 2) throw new Error("EACCES: permission denied, open '/home/me/secret/file'");
				return text(body);
			},
		});
		const body = "x".repeat(1_000_000);
		expect(await send({ body })).toMatchObject({
			status: 503,
			answer: { success: false, code: "busy", error: "the queue is full" },
		});
		const failed = await send({ body });
		expect(failed).toMatchObject({ status: 422, answer: { success: false, code: "failed" } });
		expect(failed.answer?.error).not.toContain("secret");
		expect(await send({ body })).toMatchObject({ status: 200, answer: { data: body } });
	});

	test("is aborted when its client leaves, before and after it was sent", async () => {
		const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		const aborted = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		let calls = 0;
		const { open } = await start({
			auth: "none",
			async replayUpload(body, { signal }) {
				const call = calls++;
				body.on("error", () => {}); // the client leaves in the middle
				if (call === 1) await buffer(body);
				signal.addEventListener("abort", () => aborted[call]?.resolve());
				begun[call]?.resolve();
				await aborted[call]?.promise;
			},
		});
		const cut = open({ headers: { "content-length": 1000 } });
		cut.write("half");
		await begun[0]?.promise;
		cut.destroy();
		await aborted[0]?.promise;
		const whole = open({ headers: { "content-length": 5 } });
		whole.end("whole");
		await begun[1]?.promise;
		whole.destroy();
		await aborted[1]?.promise;
	});

	test("that takes too long ends in a timeout", async () => {
		const { send } = await start({
			auth: "none",
			uploadMs: 50,
			replayUpload: async (_, { signal }) => {
				await once(signal, "abort");
				throw new Error("aborted");
			},
		});
		expect(await send({ body: "x" })).toMatchObject({ status: 504, answer: { code: "timeout" } });
	});

	test("has more time than a body that is not wanted", async () => {
		const { open } = await start({ headersMs: 100, auth: "none", replayUpload: report });
		const unwanted = open({ path: "/healthz", headers: { "content-length": 9 } });
		unwanted.write("half");
		const closed = once(unwanted, "close");
		const wanted = open({ headers: { "content-length": 9 } });
		wanted.write("half");
		await closed;
		const [response] = await Promise.all([
			once(wanted, "response") as Promise<[IncomingMessage]>,
			wanted.end(" more"),
		]);
		expect(JSON.parse(await text(response[0]))).toMatchObject({ data: { bytes: 9 } });
	});
});

test("a page that is read slowly is sent whole", async () => {
	const pageFolder = tempDir();
	const bytes = 30e6;
	writeFileSync(join(pageFolder, "large.txt"), Buffer.alloc(bytes));
	const { open } = await start({ headersMs: 100, auth: "none", pageFolder });
	const slow = open({ method: "GET", path: "/large.txt" }).end();
	const [response] = (await once(slow, "response")) as [IncomingMessage];
	// Two later requests run into the timeout before the page is read.
	for (let at = 0; at < 2; at++) {
		const unwanted = open({ path: "/healthz", headers: { "content-length": 9 } });
		unwanted.write("half");
		await once(unwanted, "close");
	}
	expect((await buffer(response)).length).toBe(bytes);
});

const neverCalled: ReplayUpload = () => Promise.reject(new Error("it must not be called"));

interface Sent {
	readonly method?: string;
	readonly path?: string;
	readonly headers?: Record<string, string | number>;
	readonly body?: string | Buffer;
}

async function start(options: EchoOptions) {
	const { port, state } = await startEcho(options);
	const open = ({ method = "POST", path = "/replay", headers = {} }: Sent): ClientRequest => {
		const opened = httpRequest({ host: "127.0.0.1", port, method, path, headers });
		opened.on("error", () => {}); // a refused one may be cut
		return opened;
	};
	return {
		state,
		open,
		async send(sent: Sent) {
			const opened = open(sent).end(sent.body);
			const [response] = (await once(opened, "response")) as [IncomingMessage];
			const body = await text(response);
			const type = response.headers["content-type"] ?? "";
			const answer = type.startsWith("application/json") ? JSON.parse(body) : undefined;
			return { status: response.statusCode, type, body, answer };
		},
	};
}
