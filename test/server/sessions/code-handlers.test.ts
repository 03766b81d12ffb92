import { describe, expect, test } from "vitest";
import type { CodeIndex } from "../../../src/codeindex/index.ts";
import { createCodeHandlers, IndexPool } from "../../../src/server/sessions/code-handlers.ts";

describe("the code indexes of a server", () => {
	test("are opened once a project, shared, and closed when nobody asks", async () => {
		const log: string[] = [];
		const open = ({ root }: { root: string }) => {
			log.push(`open ${root}`);
			return {
				root,
				status: async () => ({ state: "ready" }),
				search: async () => ({ hits: [] }),
				close: async () => void log.push(`close ${root}`),
			} as unknown as CodeIndex;
		};
		const indexes = new IndexPool(open, 10);
		const handlers = createCodeHandlers(indexes);
		const ask = (cwd: string) =>
			handlers.code_search(
				{ runtime: { cwd } } as never,
				{ query: "x" } as never,
				{
					call: { signal: new AbortController().signal },
				} as never,
			);
		await Promise.all([ask("/a"), ask("/a"), ask("/b")]);
		expect(log).toEqual(["open /a", "open /b"]);
		await expect.poll(() => log.slice(2).sort()).toEqual(["close /a", "close /b"]);
		await ask("/a");
		expect(log.at(-1)).toBe("open /a");
		await indexes.close();
		expect(log.at(-1)).toBe("close /a");
	});

	test("get the fields of a command only: what else a client sends is not checked", async () => {
		const queries: unknown[] = [];
		const open = () =>
			({
				status: async () => ({ state: "ready" }),
				search: async (query: unknown) => {
					queries.push(query);
					return { hits: [] };
				},
				close: async () => {},
			}) as unknown as CodeIndex;
		const indexes = new IndexPool(open, 10);
		const handlers = createCodeHandlers(indexes);
		const command = { id: "1", type: "code_search", sessionId: "s", query: "x", limit: 3 };
		await handlers.code_search(
			{ runtime: { cwd: "/a" } } as never,
			{ ...command, exclude: 7, scope: ["?"] } as never,
			{ call: { signal: new AbortController().signal } } as never,
		);
		expect(queries).toEqual([{ query: "x", limit: 3 }]);
		await indexes.close();
	});

	test.each(["absent", "partial", "ready"] as const)(
		"a status is told of an index that is %s, and nothing is indexed for it",
		async (state) => {
			const log: string[] = [];
			const open = () =>
				({
					status: async () => ({ state }),
					build: async () => void log.push("build"),
					search: async () => ({ hits: [], coverage: { files: 7 } }),
					close: async () => {},
				}) as unknown as CodeIndex;
			const indexes = new IndexPool(open, 10);
			const handlers = createCodeHandlers(indexes);
			const call = { signal: new AbortController().signal };
			const answer = await handlers.code_status(
				{ runtime: { cwd: "/a" } } as never,
				{} as never,
				{ call } as never,
			);
			expect(answer).toEqual({ state, ...(state === "ready" && { coverage: { files: 7 } }) });
			expect(log).toEqual([]);
			await indexes.close();
		},
	);

	test("a disk that cannot be written to is reported without the server's folders", async () => {
		const notStored = { place: "/home/me/.cache/x", reason: "EROFS, open '/home/me/.cache/x/db'" };
		const open = () =>
			({
				status: async () => ({ state: "ready" }),
				search: async () => ({ hits: [], coverage: { files: 7, notStored } }),
				close: async () => {},
			}) as unknown as CodeIndex;
		const indexes = new IndexPool(open, 10);
		const handlers = createCodeHandlers(indexes);
		const call = { signal: new AbortController().signal };
		const answer = await handlers.code_status(
			{ runtime: { cwd: "/a" } } as never,
			{} as never,
			{ call } as never,
		);
		const reason = "EROFS, open 'db'";
		expect(answer).toEqual({ state: "ready", coverage: { files: 7, notStored: { reason } } });
		await indexes.close();
	});
});
