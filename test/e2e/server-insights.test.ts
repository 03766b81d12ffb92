import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fauxAssistantMessage, fauxToolCall } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import { startSessions, type TestSessions } from "../server/sessions/start-sessions.ts";

const FILE = Array.from({ length: 200 }, (_, line) => `line ${line} of the file`).join("\n");

/** A session that has read the same file twice, so that the second answer is a marker. */
async function withReads(): Promise<TestSessions> {
	const server = await startSessions();
	await server.run("create_session", { sessionId: "s" });
	server.write("src/a.txt", FILE);
	const read = (id: string) =>
		fauxAssistantMessage([fauxToolCall("read", { path: "src/a.txt" }, { id })], {
			stopReason: "toolUse",
		});
	server.script(read("r1"), read("r2"), fauxAssistantMessage("done"));
	await server.run("prompt", { message: "read it twice", waitFor: "settled" });
	return server;
}

describe("what the model sees", () => {
	test("is shown piece by piece, and each piece can be read", async () => {
		const server = await withReads();
		const view = await server.run("get_context_view", {});
		expect(view.window).toBe(200_000);
		// Each tool is a piece of its own.
		const kinds = view.pieces.map(({ kind }) => kind);
		expect(kinds.filter((kind, at) => kind !== "tools" || kinds[at - 1] !== "tools")).toEqual([
			"system",
			"tools",
			"conversation",
			"conversation",
			"read",
			"conversation",
			"read",
			"conversation",
		]);
		expect(view.tokens).toBe(view.pieces.reduce((sum, { tokens }) => sum + tokens, 0));
		const [full, marker] = view.pieces.filter(({ kind }) => kind === "read");
		expect(full).toMatchObject({ path: "src/a.txt", label: 'read(path="src/a.txt")' });
		expect(marker?.tokens).toBeLessThan((full?.tokens ?? 0) / 4);
		expect(marker?.replacedTokens).toBeGreaterThan(1000);
		expect(view.history).toHaveLength(3);
		expect(view.history[1]?.byKind.read).toBeGreaterThan(0);

		const text = await server.run("get_context_piece", { pieceId: full?.id ?? "" });
		expect(text.text).toContain("line 199 of the file");
		const rest = await server.run("get_context_piece", { pieceId: "system", offset: 10 });
		expect(rest).toMatchObject({ pieceId: "system", offset: 10 });
		const none = server.run("get_context_piece", { pieceId: "none" });
		await expect(none).rejects.toMatchObject({ code: "not_found" });
		const { tokens } = view;
		const usage = await server.run("get_context_usage", {});
		expect(usage).toMatchObject({ contextWindow: 200_000, tokens });
	});

	test("is priced request by request, and beside what pi alone would have paid", async () => {
		const server = await withReads();
		const { requests, totals } = await server.run("get_cost", {});
		expect(requests).toHaveLength(3);
		expect(totals.requests).toBe(3);
		expect(totals.cost.dollars).toBeGreaterThan(0);
		expect(requests[2]?.appendOnlyCost.tokens).toBeGreaterThan(requests[2]?.cost.tokens ?? 0);
		expect(requests[0]?.appendOnlyCost).toEqual(requests[0]?.cost);
		expect(totals.noCacheCost.tokens).toBe(totals.input + totals.read + totals.write);
	});

	test("is smaller thanks to our systems, which say by how much", async () => {
		const server = await withReads();
		const savings = await server.run("get_savings", {});
		expect(savings.readCache).toMatchObject({ enabled: true, times: 1 });
		expect(savings.readCache.tokens).toBeGreaterThan(900);
		expect(savings.total.tokens).toBe(savings.readCache.tokens);
		expect(savings.pruning).toMatchObject({ times: 0, tokens: 0 });
		expect(await server.run("get_tiers", {})).toMatchObject({ files: [] });
	});
});

test("a system that is switched off is told as such", async () => {
	const server = await startSessions();
	writeFileSync(join(server.agentDir, "strata.json"), '{ "kota": { "enabled": false } }');
	await server.run("create_session", { sessionId: "s" });
	const { kota, paging } = await server.run("get_savings", {});
	expect([kota.enabled, paging.enabled]).toEqual([false, true]);
});

test("the working set is told as the extension in the session knows it", async () => {
	const server = await startSessions();
	server.write("a.ts", "export const a = 1;\n");
	await server.run("create_session", { sessionId: "s" });
	await server.run("prompt", { message: "/workset add a.ts", waitFor: "settled" });
	server.script(fauxAssistantMessage("ok"));
	await server.run("prompt", { message: "hello", waitFor: "settled" });
	const tiers = await server.run("get_tiers", {});
	expect(tiers).toMatchObject({ layout: "log", files: [{ path: "a.ts", tier: "active", n: 0 }] });
	expect(tiers.picture).toContain("a.ts");
});

describe("questions about code", () => {
	test("are answered from an index that is made when the first one comes", {
		tags: "slow",
	}, async () => {
		const server = await startSessions();
		server.write("a.ts", 'import { helper } from "./b.ts";\nexport const total = helper(1);\n');
		server.write("b.ts", "export function helper(n: number) { return n; }\n");
		await server.run("create_session", { sessionId: "s" });
		await server.run("create_session", { sessionId: "t" });
		const found = await server.run("code_search", { query: "helper", limit: 5 });
		expect(found.hits.map(({ path }) => path)).toContain("b.ts");
		const deps = await server.run("code_deps", { path: "b.ts", sessionId: "t" });
		expect(deps.dependents.map(({ path }) => path)).toEqual(["a.ts"]);
		const usages = await server.run("code_usages", { symbol: "helper" });
		expect(usages.definitions[0]?.usages.length).toBeGreaterThan(0);
		const missing = server.run("code_deps", { path: "none.ts" });
		await expect(missing).rejects.toMatchObject({ code: "not_found" });
		const outside = server.run("code_deps", { path: "../../etc/passwd" });
		await expect(outside).rejects.toMatchObject({
			code: expect.stringMatching(/invalid_command|not_found/),
		});
	});
});
