import { describe, expect, test } from "vitest";
import type { SessionView } from "../../src/session/index.ts";
import { createPerFolder } from "../../src/session/per-folder.ts";

const contextIn = (cwd: string) => ({ cwd }) as SessionView;
const here = contextIn("/here");
const there = contextIn("/there");

/** Opens the folder's name with a number; the openings with these numbers fail. */
function numbered(...failing: number[]) {
	const closed: string[] = [];
	const current: (() => boolean)[] = [];
	const folders = createPerFolder({
		async open({ cwd }: SessionView, isCurrent) {
			const number = current.push(isCurrent);
			await Promise.resolve();
			if (failing.includes(number)) throw new Error(`opening ${number} failed`);
			return `${cwd} ${number}`;
		},
		async close(opened) {
			closed.push(opened);
		},
	});
	return { folders, closed, current };
}

describe("what is open for a folder", () => {
	test("is opened once, also by calls side by side", async () => {
		const { folders } = numbered();
		expect(await Promise.all([folders.get(here), folders.get(here)])).toEqual([
			"/here 1",
			"/here 1",
		]);
		expect(await folders.get(here)).toBe("/here 1");
	});

	test("is ready once it is open, and no longer when it is forgotten", async () => {
		const { folders } = numbered();
		const opening = folders.get(here);
		expect(folders.ready).toBeUndefined();
		await opening;
		expect(folders.ready).toBe("/here 1");
		await folders.clear();
		expect(folders.ready).toBeUndefined();
	});

	test("is closed when another folder is asked for, and when it is forgotten", async () => {
		const { folders, closed, current } = numbered();
		await folders.get(here);
		expect(await folders.get(there)).toBe("/there 2");
		expect(closed).toEqual(["/here 1"]);
		expect(current.map((isCurrent) => isCurrent())).toEqual([false, true]);
		await folders.clear();
		await folders.clear();
		expect(closed).toEqual(["/here 1", "/there 2"]);
		expect(await folders.get(there)).toBe("/there 3");
	});

	test("is closed when it is forgotten while it is being opened", async () => {
		const { folders, closed } = numbered();
		const opening = folders.get(here);
		await folders.clear();
		expect(closed).toEqual(["/here 1"]);
		expect(await opening).toBe("/here 1");
		expect(folders.ready).toBeUndefined();
	});
});

describe("an opening that failed", () => {
	test("is told to all who waited for it, and tried anew by the next", async () => {
		const { folders } = numbered(1);
		const waiting = await Promise.allSettled([folders.get(here), folders.get(here)]);
		expect(waiting.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
		expect(folders.ready).toBeUndefined();
		expect(await folders.get(here)).toBe("/here 2");
	});

	test("does not keep another folder from being opened, whether it has failed or is about to", async () => {
		const { folders } = numbered(1, 3);
		await expect(folders.get(here)).rejects.toThrow("opening 1 failed");
		expect(await folders.get(there)).toBe("/there 2");
		const failing = folders.get(here);
		const next = folders.get(there);
		await expect(failing).rejects.toThrow("opening 3 failed");
		expect(await next).toBe("/there 4");
	});

	test("does not make forgetting fail, and does not forget what came after it", async () => {
		const { folders, closed } = numbered(1);
		const failing = folders.get(here);
		const cleared = folders.clear();
		const next = folders.get(here);
		await expect(failing).rejects.toThrow("opening 1 failed");
		await cleared;
		expect(await next).toBe("/here 2");
		expect(folders.ready).toBe("/here 2");
		expect(closed).toEqual([]);
	});
});
