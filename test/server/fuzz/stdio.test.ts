import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { startServe } from "../support/serve-process.ts";

const MEGABYTE = 2 ** 20;

test("a parent that writes rubbish gets a failure for each line, and the server ends with its input", {
	tags: "slow",
}, async () => {
	const server = startServe(["--stdio", "--json"]);
	await server.ready();
	const { stdin } = server.child;
	const bytes = randomBytes(20_000).map((byte) => (byte === 0x0a || byte === 0x0d ? 0 : byte));
	const lines: (string | Uint8Array)[] = [
		"null",
		"{",
		"[]",
		"\u0000",
		bytes,
		Buffer.from([0xff, 0xfe, 0x80]),
		`{"type":"list_sessions","x":${"[".repeat(100_000)}`,
		"\u2028",
		" ",
		"x".repeat(11 * MEGABYTE),
		'{"type":"list_sessions","id":"a\u2028b"}',
		'{"type":"health_check","id":"last"}\r',
	];
	for (const line of lines) {
		stdin.write(line);
		stdin.write("\n");
	}
	stdin.end('{"type":"list_sess');
	expect(await server.exited).toEqual({ code: 0, signal: null });
	const responses = server
		.out()
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line))
		.filter(({ type }) => type === "response");
	const good = responses.filter(({ success }) => success).map(({ id }) => id);
	expect(good.toSorted()).toEqual(["a\u2028b", "last"]);
	expect(responses.filter(({ success }) => !success)).toHaveLength(lines.length - 2 + 1);
	const complaints = server
		.err()
		.split("\n")
		.filter((line) => line !== "" && !line.startsWith("{"));
	expect(complaints).toEqual([]);
});
