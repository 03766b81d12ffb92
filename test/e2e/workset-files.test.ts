/** Files that are no ordinary ones, and names that are hard to write. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, renameSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import strata from "../../src/extension/index.ts";
import { readWorkingFile } from "../../src/workset/files.ts";
import { type PiHarness, startPi } from "../support/pi-session.ts";
import { liveIn } from "../support/workset-session.ts";

const extensions = [{ name: "strata", factory: strata }];
const start = (mode: "print" | "json" | "rpc" | "tui" = "rpc") =>
	startPi({ extensions, tools: ["read"], mode });

function lastReport(pi: PiHarness): string {
	const report = pi.reports.findLast(({ customType }) => customType === "strata-report");
	return String((report?.data as { text?: unknown } | undefined)?.text);
}

test.each([
	["[id].ts", '"[id].ts"'],
	["with space.ts", '"with space.ts"'],
	["it's.ts", '"it\'s.ts"'],
	['say "hi".ts', "'say \"hi\".ts'"],
	["new\nline.ts", '"new\nline.ts"'],
	["back\\slash.ts", "back\\slash.ts"],
	["#{a,b}!.ts", "#{a,b}!.ts"],
	["@types/x.ts", "@types/x.ts"],
	["@types/x.ts", "@types/*.ts"],
	["src/x.ts", "@src/x.ts"],
	["src/x.ts", "@src/*.ts"],
	["build/x.ts", "build/*.ts"],
	["packages/dist/x.ts", "packages/dist/**"],
	["...ts", "...ts"],
	["..hidden/x.ts", "..hidden/x.ts"],
])("the file %j is added and dropped as %s", async (path, written) => {
	const pi = await start();
	pi.write(path, "text\n");
	await pi.command(`/workset add ${written}`);
	await pi.run("go", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ [path]: "text\n" });
	await pi.command(`/workset drop ${written}`);
	expect(lastReport(pi)).toContain("Left: 0 files.");
});

test("a name cannot take hold of the terminal", async () => {
	const pi = await start();
	pi.write("\u001b[31mred\u009b.ts", "text\n");
	await pi.command("/workset add *.ts");
	expect(lastReport(pi)).toContain("red");
	for (const line of ["/workset list", "/tiers", "/workset drop *.ts"]) {
		expect(lastReport(pi).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
		await pi.command(line);
	}
	expect(lastReport(pi).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
});

test("a pattern does not look into folders that hold what others made, unless it names them", async () => {
	const pi = await start();
	for (const path of ["src/x.ts", "node_modules/m/x.ts", "dist/x.ts"]) pi.write(path, "text\n");
	await pi.command("/workset add **/*.ts");
	await pi.run("go", ["ok"]);
	expect(Object.keys(liveIn(pi.lastContext()))).toEqual(["src/x.ts"]);
});

test("whatever becomes of a file, its place says so, and the others are not disturbed", async () => {
	const pi = await start();
	const path = (name: string) => join(pi.cwd, name);
	const names = ["deleted", "folder", "pipe", "binary", "huge", "secret", "moved", "kept"];
	for (const name of names) pi.write(name, `${name}\n`);
	await pi.command(`/workset add ${names.join(" ")}`);
	await pi.run("first", ["ok"]);
	rmSync(path("deleted"));
	for (const name of ["folder", "pipe"]) rmSync(path(name));
	mkdirSync(path("folder"));
	execFileSync("mkfifo", [path("pipe")]);
	pi.write("binary", new Uint8Array([65, 0, 66]));
	truncateSync(path("huge"), 50 * 1024 * 1024);
	chmodSync(path("secret"), 0);
	renameSync(path("moved"), path("moved-away"));
	const before = process.memoryUsage().rss;
	await pi.run("second", ["ok"]);
	expect(process.memoryUsage().rss - before).toBeLessThan(40 * 1024 * 1024);
	const { secret, ...live } = liveIn(pi.lastContext());
	expect(live).toEqual({
		deleted: "deleted does not exist.",
		folder: "folder is not a file.",
		pipe: "pipe is not a file.",
		binary: "binary is not text.",
		huge: "huge is larger than 262144 bytes (tiers.maxFileBytes).",
		moved: "moved does not exist.",
		kept: "kept\n",
	});
	// The superuser reads everything.
	expect(secret).toBe(process.getuid?.() === 0 ? "secret\n" : "secret cannot be read (EACCES).");
});

test("a file that outgrows the budget is left out with the reason, and comes back", async () => {
	const pi = await start();
	pi.write(".pi/strata.json", JSON.stringify({ tiers: { maxTokens: 1000 } }));
	await pi.session.reload();
	pi.write("a.ts", "a\n");
	pi.write("b.ts", "b\n");
	await pi.command("/workset add a.ts b.ts");
	await pi.run("first", ["ok"]);
	pi.write("a.ts", "a".repeat(5000));
	await pi.run("second", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({
		"a.ts": "a.ts is left out: the working files have more than 1000 tokens (tiers.maxTokens).",
		"b.ts": "b\n",
	});
	pi.write("a.ts", "a\n");
	await pi.run("third", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "a\n", "b.ts": "b\n" });
});

test("files beyond a limit that was lowered are told of, in the list and once beside it", async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc", persist: true });
	for (let i = 0; i < 5; i++) pi.write(`f${i}.ts`, `${i}\n`);
	await pi.command("/workset add *.ts");
	await pi.run("first", ["ok"]);
	pi.write(".pi/strata.json", JSON.stringify({ tiers: { maxFiles: 3 } }));
	await pi.restart();
	for (const prompt of ["second", "third"]) await pi.run(prompt, ["ok"]);
	const left = "2 selected files are left out: tiers.maxFiles is 3";
	const told = pi.notifications.filter(({ message }) => message.includes(left));
	expect(told).toMatchObject([{ type: "warning" }]);
	await pi.command("/workset list");
	expect(lastReport(pi)).toContain(left);
	await pi.command("/workset drop f0.ts f1.ts");
	await pi.command("/workset list");
	expect(lastReport(pi)).toContain("3 working files");
	expect(lastReport(pi)).not.toContain("left out");
});

test.each(["print", "json", "rpc", "tui"] as const)(
	"without an index there is no map in %s mode, and the prompt goes on",
	{ tags: "slow" },
	async (mode) => {
		const asked: string[] = [];
		const confirm = async (title: string) => {
			asked.push(title);
			return false;
		};
		const hasUi = mode === "rpc" || mode === "tui";
		const pi = await startPi({
			extensions,
			tools: ["read"],
			mode,
			...(hasUi && { uiContext: { confirm } }),
		});
		pi.write("a.ts", "export const a = 1;\n");
		await pi.command("/workset map on");
		await pi.command("/workset add a.ts");
		for (const prompt of ["first", "second"]) {
			await pi.run(prompt, ["ok"]);
			expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "export const a = 1;\n" });
		}
		expect(asked).toHaveLength(hasUi ? 1 : 0);
		if (!hasUi) return;
		const told = pi.notifications.filter(({ message }) => message.includes("no symbol map"));
		expect(told).toMatchObject([
			{ message: expect.stringContaining("does not want"), type: "warning" },
		]);
		await pi.command("/workset list");
		expect(lastReport(pi)).toMatch(/^No symbol map: .*does not want this project to be indexed/m);
		await pi.command("/workset map off");
		await pi.command("/workset list");
		expect(lastReport(pi)).not.toContain("symbol map");
	},
);

test("a file that is called like the symbol map is not taken for it", async () => {
	const pi = await start();
	pi.write("(symbol map)", "a file\n");
	pi.write("a.ts", "a\n");
	await pi.command('/workset add "(symbol map)" a.ts');
	expect(lastReport(pi)).toContain(
		"(symbol map) cannot be added: the name is reserved for the symbol map",
	);
	// A session from before, when the name was taken.
	pi.sessionManager.appendCustomEntry("strata-workset", { op: "add", paths: ["(symbol map)"] });
	await pi.run("go", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "a\n" });
});

test("a project at the root of the disk has files too", async () => {
	const limits = { tiers: { maxFileBytes: 100_000 }, readcache: { exclude: [] } };
	const file = await readWorkingFile("/", "etc/hostname", limits);
	expect("why" in file ? file.why : "read").not.toBe("leads out of the project");
});
