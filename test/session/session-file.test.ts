import fs, { appendFileSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { afterEach, describe, expect, test, vi } from "vitest";
import strata from "../../src/extension/index.ts";
import { startPi } from "../support/pi-session.ts";

afterEach(() => {
	vi.restoreAllMocks();
	syncBuiltinESMExports();
});

async function start() {
	const pi = await startPi({
		extensions: [{ name: "pi-strata", factory: strata }],
		persist: true,
		mode: "tui",
	});
	await pi.run("first", ["one"]);
	const file = pi.session.sessionFile ?? "";
	const warnings = () =>
		pi.notifications.flatMap(({ message, type }) =>
			type === "warning" && message.includes("file") ? message : [],
		);
	expect(warnings()).toEqual([]);
	return { pi, file, warnings };
}

/** The next entry gets so many bytes into the file. */
function failOnce(bytes: number): void {
	const append = vi.spyOn(fs, "appendFileSync").mockImplementationOnce((path, data) => {
		append.mockRestore();
		syncBuiltinESMExports();
		fs.appendFileSync(path, Buffer.from(data as string).subarray(0, bytes));
		throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
	});
	syncBuiltinESMExports();
}

describe("the session file inside pi", () => {
	test.each([0, 30])(
		"is missed at once when an entry could not be written (%i bytes)",
		async (bytes) => {
			const { pi, warnings } = await start();
			failOnce(bytes);
			await pi.run("second", ["two"]).catch(() => {});
			expect(warnings()).toHaveLength(1);
			expect(warnings()[0]).toMatch(/lacks|cannot be read/);
		},
	);

	test("is reported when another program writes to it", async () => {
		const { pi, file, warnings } = await start();
		const foreign = { type: "label", id: "foreign1", parentId: null, timestamp: "", targetId: "x" };
		appendFileSync(file, `${JSON.stringify(foreign)}\n`);
		await pi.run("second", ["two"]);
		await pi.run("third", ["three"]);
		expect(warnings()).toEqual([expect.stringContaining("Another program has written")]);
		expect(readFileSync(file, "utf8")).toContain("foreign1");
	});

	test("is not missed before pi writes it, in memory, or after a move in the tree", async () => {
		const { pi, warnings } = await start();
		const [first] = pi.session.getUserMessagesForForking();
		await pi.session.navigateTree(first?.entryId ?? "");
		await pi.run("second", ["two"]);
		expect(warnings()).toEqual([]);
		const memory = await startPi({
			extensions: [{ name: "pi-strata", factory: strata }],
			mode: "tui",
		});
		await memory.run("first", ["one"]);
		expect(memory.notifications.filter(({ message }) => message.includes("file"))).toEqual([]);
	});
});
