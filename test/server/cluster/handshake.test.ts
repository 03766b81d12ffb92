import { describe, expect, test } from "vitest";
import {
	answerChallenge,
	createChallenge,
	createHello,
	helloHeaders,
	isAnswered,
	LINK_VERSION,
	readHello,
} from "../../../src/server/cluster/handshake.ts";

const SECRET = "a secret of sixteen";

describe("two servers that open a link", () => {
	const hello = createHello(SECRET, "a", "b");

	test("trust each other if both have the secret", () => {
		const read = readHello(helloHeaders(hello), SECRET, "b");
		expect(read).toEqual({ ok: true, hello });
		const challenge = createChallenge(SECRET, hello);
		const answer = answerChallenge(SECRET, hello, challenge);
		expect(isAnswered(SECRET, hello, challenge, String(answer))).toBe(true);
	});

	test("refuse one without it, and the reason has no part of it", () => {
		for (const headers of [{}, helloHeaders(createHello("another secret!!", "a", "b"))]) {
			const read = readHello(headers, SECRET, "b");
			expect(read).toMatchObject({ ok: false, status: "401 Unauthorized" });
			expect(JSON.stringify(read)).not.toContain(SECRET);
		}
	});

	test("refuse a changed name or version", () => {
		const renamed = { ...helloHeaders(hello), "x-strata-from": "c" };
		expect(readHello(renamed, SECRET, "b")).toMatchObject({
			ok: false,
			status: "401 Unauthorized",
		});
		const newer = { ...helloHeaders(hello), "x-strata-link": String(LINK_VERSION + 1) };
		expect(readHello(newer, SECRET, "b")).toMatchObject({
			ok: false,
			status: "409 Conflict",
			why: expect.stringContaining(`version ${LINK_VERSION}`),
		});
	});

	test("refuse a hello at an address that another server has now", () => {
		expect(readHello(helloHeaders(hello), SECRET, "c")).toMatchObject({ status: "409 Conflict" });
	});

	test("cannot use a recorded hello: the challenge differs each time", () => {
		const first = createChallenge(SECRET, hello);
		const recorded = String(answerChallenge(SECRET, hello, first));
		expect(isAnswered(SECRET, hello, createChallenge(SECRET, hello), recorded)).toBe(false);
	});

	test("do not answer a server that only pretends to have the secret", () => {
		const pretended = createChallenge("another secret!!", hello);
		expect(answerChallenge(SECRET, hello, pretended)).toBeUndefined();
	});
});
