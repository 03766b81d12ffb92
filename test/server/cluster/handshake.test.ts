import { describe, expect, test } from "vitest";
import {
	answerChallenge,
	createChallenge,
	createKnock,
	isAnswered,
	knockHeaders,
	LINK_VERSION,
	readKnock,
} from "../../../src/server/cluster/handshake.ts";

const SECRET = "a secret of sixteen";

describe("two servers that open a link", () => {
	const knock = createKnock(SECRET, "a", "b");

	test("trust each other if both have the secret", () => {
		const knocked = readKnock(knockHeaders(knock), SECRET, "b");
		expect(knocked).toEqual({ ok: true, knock });
		const challenge = createChallenge(SECRET, knock);
		const answer = answerChallenge(SECRET, knock, challenge);
		expect(isAnswered(SECRET, knock, challenge, String(answer))).toBe(true);
	});

	test("refuse one without it, and the reason has no part of it", () => {
		for (const headers of [{}, knockHeaders(createKnock("another secret!!", "a", "b"))]) {
			const knocked = readKnock(headers, SECRET, "b");
			expect(knocked).toMatchObject({ ok: false, status: "401 Unauthorized" });
			expect(JSON.stringify(knocked)).not.toContain(SECRET);
		}
	});

	test("refuse a changed name or version", () => {
		const renamed = { ...knockHeaders(knock), "x-strata-from": "c" };
		expect(readKnock(renamed, SECRET, "b")).toMatchObject({
			ok: false,
			status: "401 Unauthorized",
		});
		const newer = { ...knockHeaders(knock), "x-strata-link": String(LINK_VERSION + 1) };
		expect(readKnock(newer, SECRET, "b")).toMatchObject({
			ok: false,
			status: "409 Conflict",
			why: expect.stringContaining(`version ${LINK_VERSION}`),
		});
	});

	test("refuse a knock at an address that another server has now", () => {
		expect(readKnock(knockHeaders(knock), SECRET, "c")).toMatchObject({ status: "409 Conflict" });
	});

	test("cannot use a recorded knock: the challenge differs each time", () => {
		const first = createChallenge(SECRET, knock);
		const recorded = String(answerChallenge(SECRET, knock, first));
		expect(isAnswered(SECRET, knock, createChallenge(SECRET, knock), recorded)).toBe(false);
	});

	test("do not answer a server that only pretends to have the secret", () => {
		const pretended = createChallenge("another secret!!", knock);
		expect(answerChallenge(SECRET, knock, pretended)).toBeUndefined();
	});
});
