import { describe, expect, test } from "vitest";
import { takeToken } from "../../src/dashboard/connection/connection.ts";
import { storedText } from "../../src/dashboard/parts/storage.ts";
import { hrefOf, routeOf } from "../../src/dashboard/route.ts";
import { fc } from "../support/property.ts";

function memory(first: Record<string, string> = {}) {
	const kept = new Map(Object.entries(first));
	const storage = {
		getItem: (key: string) => kept.get(key) ?? null,
		setItem: (key: string, value: string) => void kept.set(key, value),
		removeItem: (key: string) => void kept.delete(key),
	};
	return storedText("strata.token", () => storage);
}

describe("the token of the address", () => {
	test("is taken, kept for the tab, and gone from the address", () => {
		const store = memory();
		expect(takeToken("#token=a%2Bb", store)).toEqual({ token: "a+b", hash: "" });
		expect(takeToken("#/server", store)).toEqual({ token: "a+b", hash: "#/server" });
	});

	test("may come before a place in the page, and replaces the one that was kept", () => {
		const store = memory({ "strata.token": "old" });
		expect(takeToken("#token=new&/sessions/x/cost", store)).toEqual({
			token: "new",
			hash: "#/sessions/x/cost",
		});
		expect(takeToken("#token=newer/server", store)).toEqual({ token: "newer", hash: "#/server" });
	});

	test("none is none, and storage that refuses does no harm", () => {
		const refusing = storedText("strata.token", () => ({
			getItem: () => {
				throw new Error("forbidden");
			},
			setItem: () => {
				throw new Error("forbidden");
			},
			removeItem: () => {},
		}));
		expect(takeToken("#/", memory())).toEqual({ token: undefined, hash: "#/" });
		expect(takeToken("#token=x", refusing)).toEqual({ token: "x", hash: "" });
		expect(takeToken("", refusing).token).toBeUndefined();
	});
});

describe("routes", () => {
	test.each(["", "#", "#/", "#/nowhere", "#/sessions", "#/sessions/", "#/sessions/%zz"])(
		"%s is the list of sessions",
		(hash) => expect(routeOf(hash)).toEqual({ page: "sessions" }),
	);

	test("a session without a view shows its conversation", () => {
		expect(routeOf("#/sessions/a")).toEqual({
			page: "session",
			sessionId: "a",
			view: "conversation",
		});
	});

	test.each([
		"#/traffic/",
		"#/traffic/0",
		"#/traffic/x",
		"#/traffic/1e3",
		"#/traffic/9999999999999999",
	])("%s is the list of conversations", (hash) =>
		expect(routeOf(hash)).toEqual({ page: "traffic" }),
	);

	test("the address of a route leads back to it", () => {
		const name = fc.string({ minLength: 1, unit: "grapheme" }).filter((id) => id.isWellFormed());
		fc.assert(
			fc.property(name, (sessionId) => {
				const route = { page: "session", sessionId, view: "cost" } as const;
				expect(routeOf(hrefOf(route))).toEqual(route);
			}),
		);
		for (const route of [{ page: "replay" }, { page: "traffic" }] as const)
			expect(routeOf(hrefOf(route))).toEqual(route);
		const conversation = { page: "traffic", conversation: 12 } as const;
		expect(routeOf(hrefOf(conversation))).toEqual(conversation);
	});
});
