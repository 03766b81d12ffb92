import { describe, expect, test } from "vitest";
import { matchingTargets } from "../../../src/dashboard/palette.tsx";
import { hrefOf, routeOf } from "../../../src/dashboard/route.ts";
import { recentFolders } from "../../../src/dashboard/sessions/session-dialogs.tsx";
import { actionsOf } from "../../../src/dashboard/views/context/piece-actions.tsx";
import type { Piece } from "../../../src/dashboard/views/context/piece-bar.ts";
import { windowRows } from "../../../src/dashboard/views/context/window-now.tsx";
import { savedAmount, totalDollars } from "../../../src/dashboard/views/cost/cost-view.tsx";
import { headlineOf } from "../../../src/dashboard/views/replay/replay-report.tsx";
import { isShown, sessionNames } from "../../../src/dashboard/views/server/recent-commands.tsx";
import { briefFolderText } from "../../../src/economy/replay/brief-text.ts";

const piece = (more: Partial<Piece>): Piece => ({
	...{ id: "e", kind: "read", label: "read", tokens: 1, sinceMs: 0, callId: "c1" },
	...more,
});

describe("the actions on a piece", () => {
	const labels = (more: Partial<Piece>) => actionsOf(piece(more)).map(({ label }) => label);
	test("fit its state", () => {
		expect(labels({})).toEqual(["Pin", "Drop"]);
		expect(labels({ pinned: true })).toEqual(["Unpin"]);
		expect(labels({ kind: "stub" })).toEqual(["Restore"]);
		expect(labels({ kind: "stub", pending: "full" })).toEqual(["Pin", "Drop"]);
		expect(labels({ pending: "stub" })).toEqual(["Keep it"]);
		expect(labels({ path: "a b.ts" })).toContain("Add to the working set");
		expect(
			actionsOf({ ...piece({ kind: "file", path: "a b.ts" }), callId: undefined } as never),
		).toMatchObject([{ command: '/workset drop "a b.ts"' }]);
	});

	test("never put a hostile name into a command", () => {
		expect(labels({ callId: "c1 --yes\n/other" })).toEqual([]);
		expect(labels({ path: 'a" "b' })).toEqual(["Pin", "Drop"]);
	});
});

test("the rows of a window add up to it, with what is free and what pi keeps free", () => {
	const kinds = [{ kind: "read", name: "Reads", tokens: 300, pieces: 1, share: 1 }] as const;
	const rows = (more: object) =>
		windowRows({ window: 1000, tokens: 300, reserve: 200, ...more }, kinds).map(
			({ name, tokens }) => `${name} ${tokens}`,
		);
	expect(rows({ compactsAt: 800 })).toEqual(["Reads 300", "Free 500", "Kept free by pi 200"]);
	expect(rows({})).toEqual(["Reads 300", "Free 700"]);
	expect(rows({ tokens: 900, compactsAt: 800 })).toEqual([
		"Reads 300",
		"Free 0",
		"Kept free by pi 100",
	]);
});

test("a saving is said in dollars where they are known, and a loss is not hidden", () => {
	const price = (tokens: number, dollars?: number) => ({
		tokens,
		...(dollars !== undefined && { dollars }),
	});
	expect(savedAmount(price(1, 0.2), price(2, 0.25))).toMatchObject({
		value: "$0.05",
		tone: "good",
	});
	expect(savedAmount(price(1000), price(3000))).toMatchObject({ value: "2k tokens" });
	expect(savedAmount(price(1, 0.3), price(2, 0.2))).toMatchObject({
		words: "more than",
		tone: "bad",
	});
	expect(savedAmount(price(1, 0.3), price(1, 0.3))).toMatchObject({ value: "$0" });
	expect(totalDollars({ cost: price(1, 0.25), outputDollars: 0.5 })).toBe(0.75);
	expect(totalDollars({ cost: price(1) })).toBeUndefined();
});

const policy = (name: string, cost: number, dollars?: number) => ({
	...{ name, description: "", cost, ratio: 1, read: 0, write: 0, input: 0, maxContext: 0 },
	...(dollars !== undefined && { dollars }),
});

test("a replay begins with what strata would have saved", () => {
	expect(
		headlineOf({ policies: [policy("append-only", 100, 1), policy("strata", 60, 0.6)] }),
	).toEqual({
		value: "$0.40",
		words: "less with strata: $0.60 with strata, $1.00 without",
		tone: "good",
	});
	expect(
		headlineOf({ policies: [policy("append-only", 100), policy("strata", 160)] }),
	).toMatchObject({
		value: "60 input tokens",
		tone: "bad",
	});
	// As many decimals as the prices beside it.
	const close = [policy("append-only", 100, 0.2036), policy("strata", 99, 0.203138)];
	expect(headlineOf({ policies: close })?.value).toBe("$0.0005");
	expect(headlineOf({ policies: [policy("append-only", 100)] })).toBeUndefined();
});

test("the page and strata replay have the same saving", () => {
	const dollars = { billed: 37.9, "append-only": 32.35, strata: 20.62 };
	const policies = Object.entries(dollars).map(([name, price]) => policy(name, price, price));
	expect(headlineOf({ policies })?.value).toBe("$11.73");
	const none = { misses: [], skipped: 0, sessions: [], failed: [] };
	const folder = { file: "f", requests: 1, policies, ...none };
	expect(briefFolderText(folder, { shown: [] })).toContain(
		"Prompts cost $37.90 as billed, without the answers. By the provider's rules $32.35, with pi-strata about $20.62: $11.73 (36 %) less.",
	);
});

test("the palette finds all words, names first", () => {
	const one = (shown: string, about = "", source = "session") => ({ shown, about, source });
	const all = [one("shop", "~/cost"), one("Cost", "View", "view"), one("/compact", "", "command")];
	expect(matchingTargets(all, "co").map(({ shown }) => shown)).toEqual([
		"Cost",
		"/compact",
		"shop",
	]);
	expect(matchingTargets(all, "shop session").map(({ shown }) => shown)).toEqual(["shop"]);
	expect(matchingTargets(all, "nothing")).toEqual([]);
});

test("recent folders are those of open sessions, then of stored ones, without the demo's", () => {
	const stored = [
		{ cwd: "/old", modifiedAt: "2026-01-01" },
		{ cwd: "/new", modifiedAt: "2026-02-01" },
		{ cwd: "/data/demo/projects/shop-1", modifiedAt: "2026-03-01" },
	];
	expect(recentFolders(["/open", "/new"], stored)).toEqual(["/open", "/new", "/old"]);
});

test("addresses may name an entry to show and a session to replay", () => {
	for (const route of [
		{ page: "session", sessionId: "a/b", view: "conversation", entryId: "e 1" },
		{ page: "replay", sessionId: "a/b" },
		{ page: "replay" },
	] as const) {
		expect(routeOf(hrefOf(route))).toEqual(route);
	}
});

test("the history of commands is filtered, and its sessions have names", () => {
	const entry = (commandType: string, success = true) => ({ commandType, success });
	expect(isShown(entry("prompt"), "changes")).toBe(true);
	expect(isShown(entry("get_state"), "changes")).toBe(false);
	expect(isShown(entry("get_state", false), "failed")).toBe(true);
	expect(isShown(entry("prompt"), "failed")).toBe(false);
	expect(isShown(entry("get_state"), "all")).toBe(true);
	const names = sessionNames([
		{ sessionId: "a", cwd: "/srv/shop" },
		{ sessionId: "b", cwd: "/other/shop" },
		{ sessionId: "c", cwd: "/srv/shop", sessionName: "logs" },
	]);
	expect([...names.values()]).toEqual(["shop", "shop (2)", "logs"]);
});
