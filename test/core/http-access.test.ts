import { describe, expect, test } from "vitest";
import { createAccess, normalizedOrigin, tokenIn } from "../../src/core/http-access.ts";
import { isLoopback } from "../../src/core/loopback.ts";

const loopback = { host: "127.0.0.1", origins: ["https://ui.example"], tls: false };

describe("the Host header", () => {
	test.each(["127.0.0.1:3141", "localhost", "LOCALHOST:80", "[::1]:3141", "ui.example"])(
		"%s is this server on loopback",
		(host) => {
			expect(admits(loopback, { host })).toBe(true);
		},
	);

	test.each([
		undefined,
		"",
		"evil.example",
		"evil.example:3141",
		"127.0.0.1.evil.example",
		"localhost.evil.example",
		"10.0.0.7:3141",
		"127.0.0.1@evil.example",
		"a b",
	])("%s is not", (host) => {
		expect(admits(loopback, { host })).toBe(false);
	});

	test("a server on all addresses answers to addresses in figures, and to its listed names", () => {
		const open = { host: "0.0.0.0", origins: ["https://ui.example"], tls: true };
		expect(admits(open, { host: "10.0.0.7:3141" })).toBe(true);
		expect(admits(open, { host: "[2001:db8::7]:3141" })).toBe(true);
		expect(admits(open, { host: "ui.example" })).toBe(true);
		expect(admits(open, { host: "rebound.example" })).toBe(false);
		expect(admits({ ...open, host: "box.lan" }, { host: "box.lan:3141" })).toBe(true);
	});
});

describe("the Origin header", () => {
	const host = "127.0.0.1:3141";

	test("a program without one is admitted", () => {
		expect(admits(loopback, { host })).toBe(true);
	});

	test.each(["http://127.0.0.1:3141", "https://ui.example"])("%s may connect", (origin) => {
		expect(admits(loopback, { host, origin })).toBe(true);
	});

	test.each([
		"null",
		"",
		"http://localhost:3141",
		"http://127.0.0.1:8080",
		"https://127.0.0.1:3141",
		"http://ui.example",
		"https://ui.example.evil.example",
		"https://ui.example/",
		"file://",
	])("%s may not", (origin) => {
		expect(admits(loopback, { host, origin })).toBe(false);
	});

	test("is taken on the command line only in the form browsers send", () => {
		expect(normalizedOrigin("HTTPS://UI.example:443")).toBe("https://ui.example");
		for (const wrong of ["*", "ui.example", "https://ui.example/app", "ftp://x", "https://u@x"]) {
			expect(() => normalizedOrigin(wrong)).toThrow(`origin "${wrong}"`);
		}
	});
});

describe("the token of a request", () => {
	test("comes as a bearer or as a subprotocol, never in the address", () => {
		expect(tokenIn({ authorization: "Bearer abc" })).toBe("abc");
		expect(tokenIn({ authorization: "bearer  abc" })).toBe("abc");
		expect(tokenIn({ "sec-websocket-protocol": "strata.v1, strata.token.abc" })).toBe("abc");
		expect(tokenIn({ authorization: "Basic abc" })).toBeUndefined();
		expect(tokenIn({})).toBeUndefined();
	});

	test("decides whose request it is; without authentication everybody is local", () => {
		const tokens = {
			first: { name: "ann", token: "x" },
			principalOf: (token: string) => (token === "x" ? "ann" : undefined),
		};
		const access = createAccess({ ...loopback, tokens });
		expect(access.principalOf({ authorization: "Bearer x" })).toBe("ann");
		expect(access.principalOf({ authorization: "Bearer y" })).toBeUndefined();
		expect(access.principalOf({})).toBeUndefined();
		expect(createAccess({ ...loopback, tokens: "none" }).principalOf({})).toBe("local");
	});
});

test.each([
	["127.0.0.1", true],
	["127.8.9.1", true],
	["::1", true],
	["[::1]", true],
	["localhost", true],
	["0.0.0.0", false],
	["::", false],
	["127.evil.example", false],
	["192.168.1.1", false],
])("listening on %s is for this machine only: %s", (host, expected) => {
	expect(isLoopback(host)).toBe(expected);
});

function admits(
	rules: typeof loopback,
	headers: { host?: string | undefined; origin?: string | undefined },
): boolean {
	const given = Object.fromEntries(
		Object.entries(headers).filter(([, value]) => value !== undefined),
	);
	return createAccess({ ...rules, tokens: "none" }).admits(given).ok;
}
