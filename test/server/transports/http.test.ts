import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { listenHttp } from "../../../src/server/transports/http.ts";
import { tempDir } from "../../support/temp.ts";
import { ANN, startEcho } from "../support/echo-server.ts";

describe("the server over HTTP", () => {
	test("is alive at once and ready when it is", async () => {
		const { port, state } = await startEcho();
		state.ready = false;
		expect(await get(port, "/healthz")).toMatchObject({ status: 200, body: "ok\n" });
		expect(await get(port, "/readyz")).toMatchObject({
			status: 503,
			body: "the server is starting\n",
		});
		state.ready = true;
		expect(await get(port, "/readyz")).toMatchObject({ status: 200, body: "ready\n" });
	});

	test("tells its metrics to who has a token", async () => {
		const { port, state } = await startEcho();
		expect(await get(port, "/metrics")).toMatchObject({ status: 401 });
		const headers = { authorization: `Bearer ${ANN}` };
		expect(await get(port, "/metrics", { headers })).toMatchObject({
			status: 200,
			body: "strata_up 1\n",
		});
		state.ready = false;
		expect(await get(port, "/metrics", { headers })).toMatchObject({ status: 503 });
		expect(await get((await startEcho({ auth: "none" })).port, "/metrics")).toMatchObject({
			status: 200,
		});
	});

	test("refuses the names and the pages of others, whatever they ask for", async () => {
		const { port } = await startEcho({ auth: "none" });
		for (const path of ["/", "/healthz", "/readyz", "/metrics"]) {
			for (const headers of [
				{ host: "evil.example" },
				{ origin: "http://evil.example" },
				{ origin: "null" },
			]) {
				expect(await get(port, path, { headers })).toMatchObject({ status: 403 });
			}
		}
	});

	test("takes GET and HEAD only", async () => {
		const { port } = await startEcho({ auth: "none" });
		expect(await get(port, "/healthz", { method: "POST" })).toMatchObject({ status: 405 });
		expect(await get(port, "/healthz", { method: "HEAD" })).toMatchObject({
			status: 200,
			body: "",
		});
		expect(await get(port, "/nothing")).toMatchObject({ status: 404 });
	});

	test("says in one line that its port is in use", async () => {
		const { port } = await startEcho();
		const options = { host: "127.0.0.1", port } as Parameters<typeof listenHttp>[0];
		await expect(listenHttp({ ...options, maxConnections: 1, upgrade() {} })).rejects.toThrow(
			`port ${port} on 127.0.0.1 is in use`,
		);
	});
});

describe("the page", () => {
	test("is served with its types, a strict policy and caching by name", async () => {
		const { port } = await startEcho({ auth: "none", pageFolder: pageFolder() });
		const index = await get(port, "/");
		expect(index).toMatchObject({ status: 200, body: "<h1>page</h1>" });
		expect(index.headers["content-type"]).toBe("text/html; charset=utf-8");
		expect(index.headers["content-security-policy"]).toContain("default-src 'none'");
		expect(index.headers["x-content-type-options"]).toBe("nosniff");
		expect(index.headers["cache-control"]).toBe("no-cache");
		const script = await get(port, "/assets/app-B7f3kQ9x.js?v=1");
		expect(script.headers["content-type"]).toBe("text/javascript; charset=utf-8");
		expect(script.headers["cache-control"]).toContain("immutable");
		const etag = String(index.headers.etag);
		expect(await get(port, "/", { headers: { "if-none-match": etag } })).toMatchObject({
			status: 304,
			body: "",
		});
	});

	test("is sent packed to who takes that, unless the packed file is of an older build", async () => {
		const folder = pageFolder();
		const file = join(folder, "assets", "app-B7f3kQ9x.js");
		writeFileSync(`${file}.gz`, gzipSync("let x"));
		const { port } = await startEcho({ auth: "none", pageFolder: folder });
		const headers = { "accept-encoding": "br, gzip" };
		const packed = await get(port, "/assets/app-B7f3kQ9x.js", { headers });
		expect(packed.headers["content-encoding"]).toBe("gzip");
		expect((await get(port, "/assets/app-B7f3kQ9x.js")).body).toBe("let x");
		utimesSync(`${file}.gz`, 1, 1);
		const old = await get(port, "/assets/app-B7f3kQ9x.js", { headers });
		expect(old.headers["content-encoding"]).toBeUndefined();
	});

	test.each([
		"/../secret.txt",
		"/%2e%2e/secret.txt",
		"/..%2fsecret.txt",
		"/assets/../../secret.txt",
		"/assets/%2e%2e%2f%2e%2e%2fsecret.txt",
		"/..\\secret.txt",
		"/%5c..%5csecret.txt",
		"/link.txt",
		"/.hidden.txt",
		"/assets",
		"/%",
		"/a%00.txt",
		"//secret.txt",
		"/tool.sh",
	])("does not lead out of its folder or to anything else: %s", async (path) => {
		const { port } = await startEcho({ auth: "none", pageFolder: pageFolder() });
		const { status, body } = await get(port, path);
		expect(status).toBe(404);
		expect(body).not.toContain("secret");
	});

	test("that is not built is one line instead", async () => {
		const { port } = await startEcho({ auth: "none", pageFolder: join(tempDir(), "missing") });
		const page = await get(port, "/");
		expect(page.status).toBe(200);
		expect(page.body).toContain("not built");
		expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
	});
});

function pageFolder(): string {
	const folder = join(tempDir(), "page");
	mkdirSync(join(folder, "assets"), { recursive: true });
	writeFileSync(join(folder, "..", "secret.txt"), "secret");
	writeFileSync(join(folder, ".hidden.txt"), "secret");
	writeFileSync(join(folder, "tool.sh"), "secret");
	writeFileSync(join(folder, "index.html"), "<h1>page</h1>");
	writeFileSync(join(folder, "assets", "app-B7f3kQ9x.js"), "let x");
	symlinkSync(join(folder, "..", "secret.txt"), join(folder, "link.txt"));
	return folder;
}

/** Sends the path as it is, which `fetch` would not. */
function get(
	port: number,
	path: string,
	{ method = "GET", headers = {} }: { method?: string; headers?: Record<string, string> } = {},
) {
	type Answer = {
		status: number | undefined;
		headers: Record<string, string | string[] | undefined>;
		body: string;
	};
	return new Promise<Answer>((resolve, reject) => {
		const request = httpRequest({ host: "127.0.0.1", port, path, method, headers }, (response) => {
			const chunks: Buffer[] = [];
			response.on("data", (chunk) => chunks.push(chunk));
			response.on("end", () =>
				resolve({
					status: response.statusCode,
					headers: response.headers,
					body: Buffer.concat(chunks).toString(),
				}),
			);
		});
		request.on("error", reject);
		request.end();
	});
}
