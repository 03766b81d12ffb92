import { availableParallelism } from "node:os";
import { threadId } from "node:worker_threads";
import { describe, expect, test } from "vitest";
import { type FileWork, forEachFile } from "../../src/core/file-workers.ts";
import { type FileToyJob, handleToy } from "./file-toy.ts";

const work: FileWork<FileToyJob, string, string, string> = {
	entry: new URL("./file-toy-worker.ts", import.meta.url),
	handler: async () => handleToy,
};

/** Nothing opens the files: a test says how large they are. */
const LITTLE = 1000;
const MUCH = 1e9;

const canSplit = availableParallelism() > 1;

describe.each([
	["in this thread", LITTLE],
	["in workers", MUCH],
])("files that are handled %s", (_, size) => {
	test("come in their order, each with its answer", async () => {
		const begun: number[] = [];
		const answers = await outcomes(size, ["ask", "ask", "ask", "ask"], (at) => begun.push(at));
		expect(begun).toEqual([0, 1, 2, 3]);
		expect(answers).toEqual(["0", "1", "2", "3"].map((path) => `${path} is read by us`));
	});

	test("fail alone, with the handler's own words", async () => {
		const [failed, ok] = await outcomes(size, ["throw", "ask"]);
		expect(failed).toBe("Error: 0 is not a session");
		expect(ok).toBe("1 is read by us");
	});

	test("end with the first error of the caller, and none is begun after it", async () => {
		const jobs = Array.from({ length: 50 }, (_, at): FileToyJob => {
			return { path: String(at), size, do: "thread" };
		});
		let begun = 0;
		const all = forEachFile(jobs, work, async (_, run, at) => {
			begun++;
			if (at === 0) throw new Error("enough");
			await run().catch(() => {});
		});
		await expect(all).rejects.toThrow("enough");
		expect(begun).toBeLessThanOrEqual(4);
	});

	test("are none: nothing is called", async () => {
		expect(await outcomes(size, [])).toEqual([]);
	});
});

test("little to read stays in this thread, and so does a single file", async () => {
	const own = String(threadId);
	expect(await outcomes(LITTLE, ["thread", "thread"])).toEqual([own, own]);
	expect(await outcomes(MUCH, ["thread"])).toEqual([own]);
});

test.runIf(canSplit)("much to read is shared out to workers", async () => {
	const threads = await outcomes(MUCH, ["thread", "thread", "thread", "thread"]);
	expect(threads).not.toContain(String(threadId));
});

test.runIf(canSplit)(
	"a file on which its worker dies is named, and harms no other",
	{
		tags: "slow",
	},
	async () => {
		const [crashed, full, ok] = await outcomes(MUCH, ["crash", "eat-memory", "ask", "ask"]);
		expect(crashed).toBe("Error: the worker that read 0 ended: exit status 7");
		expect(full).toBe("Error: reading 1 takes too much memory");
		expect(ok).toBe("2 is read by us");
	},
);

async function outcomes(
	size: number,
	acts: FileToyJob["do"][],
	onBegin?: (at: number) => void,
): Promise<string[]> {
	const jobs = acts.map((act, at): FileToyJob => ({ path: String(at), size, do: act }));
	const found: string[] = [];
	await forEachFile(jobs, work, async (_, run, at) => {
		onBegin?.(at);
		found[at] = await run((_, job) => job.send("us")).catch(String);
	});
	return found;
}
