import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import strata from "../../src/extension/index.ts";
import { startPi } from "../support/pi-session.ts";
import { tempDir } from "../support/temp.ts";
import { copiesIn } from "../support/workset-session.ts";

const extensions = [{ name: "strata", factory: strata }];

describe("the extension", () => {
	test("kota.enabled: false takes its tools away before the first request", async () => {
		const pi = await startPi({ extensions });
		expect(pi.session.getActiveToolNames()).toContain("kota_search");
		pi.write(".pi/strata.json", JSON.stringify({ kota: { enabled: false } }));
		await pi.newSession();
		expect(pi.session.getActiveToolNames().filter((name) => name.startsWith("kota_"))).toEqual([]);
		expect(pi.session.getActiveToolNames()).toContain("read");
	});

	test("/strata lists each system with on or off and the reason", async () => {
		const pi = await startPi({ extensions, mode: "rpc" });
		await pi.command("/strata");
		const [report] = pi.reports;
		expect(report?.data).toMatchObject({ text: expect.stringMatching(/^on {3}read cache +\S/m) });
		expect(report?.data).toMatchObject({
			text: expect.stringMatching(/^on {3}tiers +no working files yet/m),
		});
	});

	test("a report is for the person: the model never sees it", async () => {
		const pi = await startPi({ extensions, mode: "rpc" });
		await pi.command("/strata");
		await pi.run("hello", ["hi"]);
		const [report = ""] = pi.reports.map(({ data }) => (data as { text: string }).text);
		// Its title is the name of the project, which any path may hold.
		const lines = report.split("\n").slice(1);
		const sent = JSON.stringify(pi.lastContext());
		expect(lines.length).toBeGreaterThan(4);
		for (const line of lines) expect(sent).not.toContain(JSON.stringify(line).slice(1, -1));
	});

	test("touches nothing on disk while nobody reads a file", async () => {
		const pi = await startPi({ extensions });
		await pi.run("hello", ["hi"]);
		expect(readdirSync(pi.cwd)).toEqual([]);
	});

	test("a wrong setting is one warning, and only that setting falls back", async () => {
		const agentDir = tempDir();
		writeFileSync(
			join(agentDir, "strata.json"),
			'{ "readcache": { "mode": "sometimes" }, "prune": { "keepRecentTurns": "two" } }',
		);
		const pi = await startPi({ extensions, agentDir, mode: "rpc" });
		expect(pi.notifications.map(({ message }) => message)).toEqual([
			expect.stringContaining(
				'readcache.mode must be one of "on", "shadow", "off", got "sometimes"',
			),
		]);
		await pi.command("/strata");
		expect(pi.reports[0]?.data).toMatchObject({
			text: expect.stringContaining('prune.keepRecentTurns must be a whole number ≥ 0, got "two"'),
		});
	});

	test.each([
		["malformed", "{ nonsense"],
		["huge", `{ "x": "${"y".repeat(10_000_000)}" }`],
		[
			"polluting",
			'{ "__proto__": { "polluted": 1 }, "constructor": { "prototype": { "polluted": 1 } } }',
		],
		["of the wrong types", '{ "readcache": 7, "prune": [], "kota": null, "blobs": "x" }'],
		["an array", "[1, 2]"],
		["binary", "\u0000\u0001\u0002"],
	])("a project file that is %s never throws out of the extension", async (_kind, content) => {
		const cwd = tempDir();
		mkdirSync(join(cwd, ".pi"));
		writeFileSync(join(cwd, ".pi", "strata.json"), content);
		mkdirSync(join(cwd, ".pi", "pi-kota.json")); // a folder where a file should be
		const pi = await startPi({ extensions, cwd, mode: "rpc" });
		pi.write("a.txt", "alpha\n");
		await pi.run("go", [{ tool: "read", args: { path: "a.txt" }, id: "r1" }, "done"]);
		expect(pi.textOf("r1")).toBe("alpha\n");
		expect(pi.notifications).toHaveLength(1);
		expect(({} as Record<string, unknown>).polluted).toBeUndefined();
		expect(pi.errors).toEqual([]);
	});

	test("loaded twice, it says so, and answers and shows files as if it were loaded once", async () => {
		const twice = ["one", "two"].map((name) => ({
			name,
			factory: (api: Parameters<typeof strata>[0]) => strata(api),
		}));
		const pi = await startPi({ extensions: twice, mode: "rpc" });
		const conflicts = pi.errors.splice(0).map(({ error }) => error);
		expect(conflicts).toContainEqual(expect.stringContaining('Tool "read" conflicts'));
		const [one, two] = ["one", "two"].map((word) => `${word}\n`.repeat(200)) as [string, string];
		pi.write("a.ts", one);
		pi.write("b.ts", one);
		await pi.command("/workset:2 add b.ts");
		const read = { tool: "read", args: { path: "a.ts" } };
		await pi.run("go", [read, { ...read, id: "again" }, "done"]);
		expect(pi.textOf("again")).toMatch(/^\[readcache: unchanged/);
		const edit = { path: "a.ts", edits: [{ oldText: one, newText: two }] };
		await pi.run("edit", [{ tool: "edit", args: edit }, "done"]);
		pi.write("a.ts", one);
		pi.write("b.ts", two);
		await pi.run("look", [{ ...read, id: "undone" }, "done"]);
		expect(pi.textOf("undone")).toBe(one);
		const copies = copiesIn(pi.lastContext()).filter(({ text }) => text === two);
		expect(copies).toEqual([{ path: "b.ts", text: two }]);
	});

	test("goes on after a new session, a resume and a reload of the same process", async () => {
		const pi = await startPi({ extensions, persist: true });
		pi.write("a.txt", "alpha\n");
		const read = { tool: "read", args: { path: "a.txt" } };
		await pi.run("go", [read, "done"]);
		await pi.newSession();
		await pi.run("go", [{ ...read, id: "fresh" }, "done"]);
		expect(pi.textOf("fresh")).toBe("alpha\n");
		await pi.session.reload();
		await pi.run("go", [{ ...read, id: "again" }, "done"]);
		expect(pi.textOf("again")).toBe("[readcache: unchanged, 2 lines]");
	});
});
