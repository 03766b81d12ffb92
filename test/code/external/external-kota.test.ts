import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CodeIndex } from "../../../src/codeindex/index.ts";
import { tempDir } from "../../support/temp.ts";
import { isAlive, openKota, STATISTICS } from "./open-kota.ts";

const EMPTY = { json: { files: 0, symbols: 0 } };
const INDEXED = {
	json: {
		runId: "1",
		repositoryId: "2",
		status: "completed",
		message: "done",
		stats: { files_indexed: 4, symbols_extracted: 9, references_extracted: 30 },
	},
};

describe("the index", () => {
	test("every question is answered through KotaDB, with the coverage that it has", {
		tags: "slow",
	}, async () => {
		const side = { direct: ["src/main.ts"], indirect: {}, cycles: [], count: 1 };
		const { kota, starts } = openKota({
			tools: {
				search: { json: { results: { code: ["src/cart.ts"] }, surprise: 1 } },
				search_dependencies: { json: { dependents: side, dependencies: side } },
				find_usages: { json: { defined_in: "src/cart.ts:1", kind: "class", usages: [] } },
				analyze_change_impact: {
					json: {
						affected_files: [{ path: "src/main.ts" }],
						test_scope: { test_files: [], recommended_test_files: [] },
						risk_level: "low",
						summary: "One file",
						last_indexed_at: "2026-01-02T03:04:05.000Z",
					},
				},
				generate_task_context: {
					json: {
						targetFiles: [{ path: "src/cart.ts", dependentCount: 1, symbols: [] }],
						impactedFiles: ["src/main.ts"],
						testFiles: [],
						recentChanges: [],
					},
				},
			},
		});
		expect(await kota.search({ query: "cart" })).toMatchObject({
			hits: [{ path: "src/cart.ts" }],
			coverage: { files: 4, complete: true, unparsed: { count: 0 }, refreshedFiles: 0 },
		});
		expect(await kota.dependencies({ path: "src/cart.ts" })).toMatchObject({
			dependents: [{ path: "src/main.ts", depth: 1 }],
		});
		expect(await kota.usages({ symbol: "Cart" })).toMatchObject({
			definitions: [{ path: "src/cart.ts", kind: "class" }],
		});
		expect(await kota.impact({ modify: ["src/cart.ts"] })).toMatchObject({
			risk: "low",
			coverage: { checkedMs: Date.parse("2026-01-02T03:04:05.000Z") },
		});
		expect(await kota.taskContext({ files: ["src/cart.ts"] })).toMatchObject({
			targets: [{ path: "src/cart.ts" }],
		});
		await expect(kota.symbolMap({ budgetTokens: 100 })).rejects.toMatchObject({
			code: "unavailable",
			message: expect.stringContaining("kota.engine"),
		});
		// It was not taken for a sign that the process has died.
		expect(starts().map(isAlive)).toEqual([true]);
	});

	test("a project that is not indexed is said to be so, and nothing is indexed by asking", async () => {
		const { kota, journal } = openKota({ tools: { get_index_statistics: EMPTY, search: INDEXED } });
		expect(await kota.status()).toMatchObject({ state: "absent", files: 0 });
		const questions = [
			(index: CodeIndex) => index.search({ query: "cart" }),
			(index: CodeIndex) => index.dependencies({ path: "src/cart.ts" }),
			(index: CodeIndex) => index.usages({ symbol: "Cart" }),
			(index: CodeIndex) => index.impact({ modify: ["src/cart.ts"] }),
			(index: CodeIndex) => index.taskContext({ files: ["src/cart.ts"] }),
		];
		for (const question of questions) {
			await expect(question(kota)).rejects.toMatchObject({ code: "not-indexed" });
		}
		const tools = journal().flatMap((one) => (one.event === "call" ? [one.tool] : []));
		expect(new Set(tools)).toEqual(new Set(["get_index_statistics"]));
	});

	test("it is indexed under the one name by which KotaDB looks it up, also behind a link", async () => {
		const folder = tempDir();
		mkdirSync(join(folder, "real"));
		symlinkSync(join(folder, "real"), join(folder, "link"));
		const { kota, calls } = openKota(
			{ tools: { get_index_statistics: STATISTICS, index_repository: INDEXED } },
			{ root: join(folder, "link") },
		);
		const before = Date.now();
		const report = await kota.build();
		expect(calls("index_repository")).toEqual([
			{ repository: "local/real", localPath: join(folder, "real") },
		]);
		expect(report).toMatchObject({ changed: 4, coverage: { files: 4, complete: true } });
		expect(report.coverage.checkedMs).toBeGreaterThanOrEqual(before);
		expect(kota.root).toBe(join(folder, "link"));
	});

	test("an index whose first indexing was interrupted is said to be so until it is finished", {
		tags: "slow",
	}, async () => {
		const database = join(tempDir(), "kota.db");
		const env = { KOTADB_PATH: database };
		const code = { json: { results: { code: ["src/cart.ts"] } } };
		const first = openKota(
			{ tools: { get_index_statistics: EMPTY, index_repository: { crash: true } } },
			{ env },
		);
		await expect(first.kota.build()).rejects.toThrow(/while running index_repository/);

		const { kota } = openKota({ tools: { search: code, index_repository: INDEXED } }, { env });
		expect(await kota.status()).toMatchObject({ state: "partial" });
		expect(await kota.search({ query: "cart" })).toMatchObject({ coverage: { complete: false } });
		expect(await kota.build()).toMatchObject({ added: 4, coverage: { complete: true } });
		expect(await kota.status()).toMatchObject({ state: "ready" });
	});

	test("an index that was whole stays so when it cannot be made anew", async () => {
		const { kota } = openKota({ tools: { index_repository: { error: "busy" } } });
		await expect(kota.build()).rejects.toThrow("busy");
		expect(await kota.status()).toMatchObject({ state: "ready" });
	});

	test("indexing that KotaDB reports as failed is an error with its words", async () => {
		const { kota } = openKota({
			tools: { index_repository: { json: { status: "failed", message: "disk full" } } },
		});
		await expect(kota.build()).rejects.toThrow(/index_repository: disk full/);
	});

	test("the status tells where the database is and how large", async () => {
		const database = join(tempDir(), "own", "kota.db");
		mkdirSync(dirname(database));
		writeFileSync(database, "12345");
		writeFileSync(`${database}-wal`, "123");
		const { kota, root, journal } = openKota({}, { env: { KOTADB_PATH: database } });
		expect(await kota.status()).toEqual({
			state: "ready",
			root,
			database,
			bytes: 8,
			files: 4,
			symbols: 9,
			updatedMs: expect.any(Number),
		});
		expect(journal()[0]).toMatchObject({ env: { KOTADB_PATH: database } });
	});

	test("a question that cannot be put starts nothing", async () => {
		const { kota, starts } = openKota();
		await expect(kota.dependencies({ path: "../x.ts" })).rejects.toMatchObject({
			code: "outside-project",
		});
		expect(starts()).toEqual([]);
	});
});

describe("bad answers", () => {
	test.each([
		[
			"an error",
			{ error: "Symbol \u001b[31mtable\u0000 is locked\n".repeat(500) },
			/table is locked/,
		],
		["an error of the protocol", { protocolError: "boom" }, /failed on search: .*boom/],
		["text that is not JSON", { text: "Sorry, nothing found" }, /not JSON but begins with "Sorry/],
		["a result of another shape", { result: { content: "yes" } }, /search/],
		["JSON of another shape", { json: { results: [] } }, /results should be an object/],
	])("%s is a failure in few words, and the process stays", async (_, reply, message) => {
		const { kota, starts } = openKota({ tools: { search: reply } });
		const failure = await kota.search({ query: "cart" }).catch((error: unknown) => error);
		expect(failure).toMatchObject({ code: "failed", message: expect.stringMatching(message) });
		expect((failure as Error).message.length).toBeLessThan(700);
		expect((failure as Error).message).not.toMatch(/\p{Cc}/u);
		expect(await kota.status()).toMatchObject({ state: "ready" });
		expect(starts()).toHaveLength(1);
	});

	test("an answer without an end is not read to its end", { tags: "slow" }, async () => {
		const { kota, starts } = openKota({ tools: { search: { bytes: 21 * 1024 * 1024 } } });
		await expect(kota.search({ query: "cart" })).rejects.toThrow(/larger than 20 MB/);
		expect(await kota.status()).toMatchObject({ state: "ready" });
		expect(starts()).toHaveLength(2);
	});

	test("an answer of many megabytes is read", { tags: "slow" }, async () => {
		const { kota, starts } = openKota({ tools: { search: { bytes: 15 * 1024 * 1024 } } });
		await expect(kota.search({ query: "cart" })).rejects.toThrow(/not JSON but begins with "xxx/);
		expect(starts().map(isAlive)).toEqual([true]);
	});
});
