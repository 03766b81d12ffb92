import { describe, expect, test } from "vitest";
import { PagingError } from "../../../src/paging/errors.ts";
import { fetchError } from "../../../src/paging/fetch/exchange.ts";

const url = new URL("https://user:pw@host.test:8443/page?key=1#part");
const withCode = (code: string, message = "words of a stranger") =>
	Object.assign(new Error(message), { code });

describe("what went wrong", () => {
	test("stays as it is when it is meant to be shown", () => {
		const error = new PagingError("too_large", "shown");
		expect(fetchError(error, url)).toBe(error);
	});

	test.each([
		["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate belongs to another host"],
		["CERT_HAS_EXPIRED", "its certificate cannot be trusted"],
		["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate cannot be trusted"],
		["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "its certificate cannot be trusted"],
		["ECONNRESET", "the connection was lost"],
		["HPE_INVALID_CONSTANT", "the response is not valid HTTP"],
		["Z_DATA_ERROR", "its compressed body is damaged"],
	])("in %s is said in our own words", (code, words) => {
		const error = fetchError(withCode(code), url);
		expect(error.code).toBe("network");
		expect(error.message).toContain(`https://host.test:8443/page cannot be read: ${words}`);
		expect(error.message).toContain(`(${code})`);
		expect(error.message).not.toContain("stranger");
	});

	test.each(["UND_ERR_CONNECT_TIMEOUT", "ETIMEDOUT"])("in %s was slow", (code) => {
		expect(fetchError(withCode(code), url)).toMatchObject({
			code: "timeout",
			message: "host.test:8443 did not accept a connection in time. Try again later.",
		});
	});

	test("is passed on when nothing is known about it, with its cause", () => {
		const cause = new Error("odd");
		const error = fetchError(cause, url);
		expect(error.message).toBe("https://host.test:8443/page cannot be read: odd.");
		expect(error.cause).toBe(cause);
		expect(fetchError("thrown", url).message).toContain("thrown");
	});
});
