import { expect, test } from "vitest";
import { createClient } from "../../../src/protocol/client.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { atEnd } from "../../support/temp.ts";
import { startEcho } from "../support/echo-server.ts";

test("a client of the library with a wrong token is told why and does not try again", async () => {
	const { url } = await startEcho();
	const client = createClient({ url, token: "wrong", firstRetryMs: 1, lastRetryMs: 5 });
	atEnd(() => client.close());
	await expect(client.request("list_sessions", {}, { timeoutMs: PATIENCE_MS })).rejects.toThrow(
		"a valid token is needed",
	);
	expect(client.state).toEqual({ name: "closed", why: expect.stringContaining("token") });
});

test("so is one without a token", async () => {
	const { url } = await startEcho();
	const client = createClient({ url, firstRetryMs: 1, lastRetryMs: 5 });
	atEnd(() => client.close());
	await expect(client.request("list_sessions", {}, { timeoutMs: PATIENCE_MS })).rejects.toThrow(
		"a valid token is needed",
	);
});
