import { request } from "node:https";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { selfSigned } from "../../support/self-signed.ts";
import { ANN, isAnswer, startEcho } from "../support/echo-server.ts";
import { connectClient } from "../support/ws-client.ts";

test("with a certificate, pages and WebSockets are served over TLS, and the own origin is the secure one", async () => {
	const { url, port } = await startEcho({ tls: selfSigned() });
	const trusting = { rejectUnauthorized: false, token: ANN };
	const client = await connectClient(url, { ...trusting, origin: `https://127.0.0.1:${port}` });
	client.socket.send("hello");
	expect(await client.next(isAnswer)).toMatchObject({ data: "hello" });
	const plain = connectClient(url, { ...trusting, origin: `http://127.0.0.1:${port}` });
	await expect(plain).rejects.toThrow("403");
	await expect(connectClient(`ws://127.0.0.1:${port}/`, { token: ANN })).rejects.toThrow();
	const health = await new Promise<string>((resolve, reject) => {
		const options = { host: "127.0.0.1", port, path: "/healthz", rejectUnauthorized: false };
		request(options, (response) => resolve(text(response)))
			.on("error", reject)
			.end();
	});
	expect(health).toBe("ok\n");
});

test("a certificate that is none is refused in words", async () => {
	const starting = startEcho({ tls: { cert: "none", key: "none" } });
	await expect(starting).rejects.toThrow("--tls-cert and --tls-key need a certificate and its key");
});
