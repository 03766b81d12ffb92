import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import strata from "../../src/extension/index.ts";
import { type PiHarness, startPi } from "../support/pi-session.ts";
import { copiesIn, liveIn } from "../support/workset-session.ts";

const extensions = [{ name: "strata", factory: strata }];

test("a working file is in the next request, and in every one after it", async () => {
	const pi = await startPi({ extensions, tools: ["read"] });
	pi.write("a.ts", "export const a = 1;\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["one"]);
	expect(copiesIn(pi.lastContext())).toEqual([{ path: "a.ts", text: "export const a = 1;\n" }]);
	await pi.run("second", ["two"]);
	expect(copiesIn(pi.lastContext())).toEqual([{ path: "a.ts", text: "export const a = 1;\n" }]);
	expect(pi.contexts[1]?.slice(0, pi.contexts[0]?.length)).toEqual(pi.contexts[0]);
});

test("a file changed by anybody is shown as it is before the next request", async () => {
	const pi = await startPi({ extensions, tools: ["read", "edit"] });
	pi.write("a.ts", "one\n");
	pi.write("b.ts", "b\n");
	await pi.command("/workset add a.ts b.ts");
	await pi.run("first", ["ok"]);
	pi.write("a.ts", "two\n");
	await pi.run("second", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "two\n", "b.ts": "b\n" });
	await pi.run("edit it", [
		{ tool: "edit", args: { path: "a.ts", edits: [{ oldText: "two", newText: "three" }] } },
		(context) => {
			expect(liveIn(context)).toEqual({ "a.ts": "three\n", "b.ts": "b\n" });
			return "done";
		},
	]);
});

test("with an empty working set the requests are pi's own", async () => {
	const run = async (withStrata: boolean) => {
		const pi = await startPi({ tools: ["read"], ...(withStrata && { extensions }) });
		pi.write("a.ts", "a\n");
		if (withStrata) {
			await pi.command("/workset list");
			await pi.command("/tiers");
		}
		await pi.run("hello", [{ tool: "read", args: { path: "a.ts" } }, "done"]);
		return pi.contexts.map((context) =>
			context
				.filter(({ role }) => (role as string) !== "system")
				.map(({ role, content }) => ({ role, content })),
		);
	};
	expect(await run(true)).toEqual(await run(false));
});

test("a read of a working file is answered by the read cache, and by its text once it has changed", async () => {
	const pi = await startPi({ extensions, tools: ["read"] });
	const text = Array.from({ length: 40 }, (_, i) => `line ${i}`).join("\n");
	pi.write("a.ts", text);
	await pi.command("/workset add a.ts");
	await pi.run("look", [{ tool: "read", args: { path: "a.ts" }, id: "r1" }, "ok"]);
	expect(pi.textOf("r1")).toMatch(/^\[readcache: unchanged/);
	pi.write("a.ts", `${text}\nmore`);
	await pi.run("again", [{ tool: "read", args: { path: "a.ts" }, id: "r2" }, "ok"]);
	expect(pi.textOf("r2")).toMatch(/^\[readcache: unchanged/);
});

test("an older read never passes for the newest after a snapshot showed another version", async () => {
	const pi = await startPi({ extensions, tools: ["read"] });
	const text = Array.from({ length: 40 }, (_, i) => `line ${i}`).join("\n");
	pi.write("a.ts", text);
	await pi.run("look", [{ tool: "read", args: { path: "a.ts" }, id: "r1" }, "ok"]);
	pi.write("a.ts", text.replace("line 7", "line seven"));
	await pi.command("/workset add a.ts");
	await pi.run("go on", ["ok"]);
	await pi.command("/workset drop a.ts");
	pi.write("a.ts", text);
	await pi.run("look again", [{ tool: "read", args: { path: "a.ts" }, id: "r2" }, "ok"]);
	expect(pi.textOf("r2")).not.toMatch(/unchanged/);
});

test("a dropped file goes or is announced, and is live again when it comes back", async () => {
	const pi = await startPi({ extensions, tools: ["read"] });
	pi.write("a.ts", "one\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	await pi.command("/workset drop a.ts");
	await pi.run("second", ["ok"]);
	const sent = JSON.stringify(pi.lastContext());
	expect(sent.includes("No longer kept up to date") || !sent.includes("working-file")).toBe(true);
	await pi.run("third", ["ok"]);
	await pi.command("/workset add a.ts");
	await pi.run("fourth", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "one\n" });
});

test("a file that is deleted says so, and comes back with its text", async () => {
	const pi = await startPi({ extensions, tools: ["read"] });
	const path = pi.write("a.ts", "one\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	rmSync(path);
	await pi.run("second", ["ok"]);
	expect(liveIn(pi.lastContext())["a.ts"]).toBe("a.ts does not exist.");
	pi.write("a.ts", "one\n");
	await pi.run("third", ["ok"]);
	expect(liveIn(pi.lastContext())["a.ts"]).toBe("one\n");
});

test("the working set survives compaction, a restart, a fork, and follows the tree", async () => {
	const pi = await startPi({ extensions, tools: ["read"], persist: true });
	pi.write("a.ts", "a\n");
	pi.write("b.ts", "b\n");
	await pi.run("before", ["ok"]);
	const before = pi.sessionManager.getLeafId() as string;
	await pi.command("/workset add a.ts b.ts");
	await pi.run("with files", ["ok"]);
	const with_ = pi.sessionManager.getLeafId() as string;
	await pi.compact();
	await pi.run("after compaction", ["ok"]);
	expect(
		copiesIn(pi.lastContext())
			.map(({ path }) => path)
			.sort(),
	).toEqual(["a.ts", "b.ts"]);
	await pi.restart();
	pi.write("a.ts", "A\n");
	await pi.run("after restart", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "A\n", "b.ts": "b\n" });
	await pi.navigate(before);
	await pi.run("before the files", ["ok"]);
	expect(copiesIn(pi.lastContext())).toEqual([]);
	await pi.navigate(with_);
	await pi.run("with them again", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "A\n", "b.ts": "b\n" });
	await pi.fork(pi.sessionManager.getLeafId() as string);
	pi.write("b.ts", "B\n");
	await pi.run("in the fork", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual({ "a.ts": "A\n", "b.ts": "B\n" });
});

test("what cannot be a working file is refused with the reason, and the rest is taken", async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc" });
	pi.write("ok.ts", "fine\n");
	pi.write("binary.bin", new Uint8Array([1, 0, 2]));
	pi.write(".env", "SECRET=1");
	pi.write("huge.txt", "x".repeat(300 * 1024));
	symlinkSync("/etc/hostname", join(pi.cwd, "link.txt"));
	await pi.command(
		"/workset add ok.ts binary.bin .env huge.txt link.txt missing.ts ../outside.ts /etc/passwd nothing/**/*.ts .",
	);
	const text = lastReport(pi);
	expect(text).toContain("Added ok.ts");
	for (const line of [
		"binary.bin is not text",
		".env is on the list of excluded files",
		"huge.txt is larger than 262144 bytes (tiers.maxFileBytes)",
		"link.txt leads out of the project",
		"missing.ts does not exist",
		"../outside.ts is outside of the project",
		"/etc/passwd is outside of the project",
		"nothing/**/*.ts matches no file",
	]) {
		expect(text).toContain(line);
	}
	await pi.run("go", ["ok"]);
	expect(copiesIn(pi.lastContext()).map(({ path }) => path)).toEqual(["ok.ts"]);
});

test("two thousand files by a pattern are bounded by number and by tokens", {
	tags: "slow",
}, async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc" });
	for (let i = 0; i < 2000; i++)
		pi.write(`src/f${i}.ts`, `export const f${i} = "${"x".repeat(1000)}";\n`);
	await pi.command("/workset add src/*.ts");
	expect(lastReport(pi)).toContain("200 files");
	expect(lastReport(pi)).toMatch(/no room for src\/f1178\.ts, .* and 1780 more: 200 of 200 files/);
	expect(lastReport(pi).length).toBeLessThan(5000);
	await pi.command("/workset drop src/f0.ts");
	await pi.command("/workset add src/f999.ts src/f998.ts");
	expect(lastReport(pi)).toContain("Added src/f999.ts.");
	expect(lastReport(pi)).toContain("no room for src/f998.ts: 200 of 200 files (tiers.maxFiles)");
	await pi.command("/workset clear");
	for (let i = 0; i < 30; i++) pi.write(`big/f${i}.ts`, "y".repeat(40_000));
	await pi.command("/workset add big/*.ts");
	expect(lastReport(pi)).toContain("60,000 tokens are in use (tiers.maxTokens)");
	await pi.run("go", ["ok"]);
	expect(JSON.stringify(pi.lastContext()).length).toBeLessThan(260_000);
});

test("a pattern finds the texts behind what is no text, and few words tell of the rest", {
	tags: "slow",
}, async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc" });
	for (let i = 0; i < 300; i++) pi.write(`mixed/img${i}.png`, new Uint8Array([0, i % 255]));
	for (let i = 0; i < 3; i++) pi.write(`mixed/zsub/code${i}.ts`, `text ${i}\n`);
	await pi.command("/workset add mixed/**");
	const names = [0, 1, 2].map((i) => `mixed/zsub/code${i}.ts`);
	expect(lastReport(pi)).toContain(`Added ${names.join(", ")}.`);
	expect(lastReport(pi)).toContain("… and 280 more");
});

test("when many files in turn do not fit, the rest is not read one by one", async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc" });
	pi.write(".pi/strata.json", JSON.stringify({ tiers: { maxTokens: 1000 } }));
	await pi.session.reload();
	for (let i = 100; i < 150; i++) pi.write(`src/f${i}.ts`, "x".repeat(3000));
	await pi.command("/workset add src/*.ts");
	expect(lastReport(pi)).toContain("Added src/f100.ts.");
	expect(lastReport(pi)).toMatch(/no room for src\/f121\.ts, .* and 9 more: 1 of 200 files/);
});

test("/workset and /tiers show what is kept, and say what they know when misspelt", async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc" });
	pi.write("a.ts", "a\n");
	await pi.command("/workset");
	expect(lastReport(pi)).toContain("The working set is empty.");
	await pi.command("/workset ad a.ts");
	expect(lastReport(pi)).toContain('/workset has no command "ad"');
	await pi.command('/workset add "a.ts"');
	await pi.run("one", ["ok"]);
	await pi.command("/workset list");
	expect(lastReport(pi)).toContain("1 working file,");
	await pi.command("/tiers");
	expect(lastReport(pi)).toMatch(/active +a\.ts +1 +N=0 .* slot/);
	for (const prompt of ["two", "three", "four", "five"]) await pi.run(prompt, ["ok"]);
	await pi.command("/tiers");
	expect(lastReport(pi)).toMatch(/L3 +a\.ts/);
	await pi.command("/workset drop b.ts");
	expect(lastReport(pi)).toContain("None of the working files is named b.ts");
	await pi.command("/workset map maybe");
	expect(lastReport(pi)).toContain("Use /workset map on or /workset map off.");
});

test("the answers of /workset say what became of every word, in the first line too", async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc" });
	for (const name of ["a.ts", "src/b.ts"]) pi.write(name, "text\n");
	pi.write("binary", new Uint8Array([0]));
	const answer = async (line: string) => {
		await pi.command(line);
		const [first] = lastReport(pi).split("\n");
		expect(pi.notifications.at(-1)).toEqual({ message: first, type: "info" });
		return lastReport(pi);
	};
	expect(await answer("/workset add binary missing")).toBe(
		"Nothing was added: missing does not exist\nbinary is not text",
	);
	expect(await answer("/workset add a.ts binary")).toBe(
		"Added a.ts. The working set has 1 file, 2 tokens. Not added: binary is not text",
	);
	expect(await answer("/workset add a.ts ./a.ts")).toBe(
		"Nothing was added: a.ts is in the working set already",
	);
	expect(await answer("/workset add *.ts src/b.ts")).toBe(
		"Added src/b.ts. The working set has 2 files, 4 tokens. Not added: a.ts is in the working set already",
	);
	expect(await answer("/workset add .")).toBe(
		"Nothing was added: . is a folder: name files in it, such as *.ts, or ./** for all",
	);
	expect(await answer("/workset add src/")).toBe(
		"Nothing was added: src/ is a folder: name files in it, such as src/*.ts, or src/** for all",
	);
	expect(await answer('/workset add ""')).toMatch(/^Which files\? For example/);
	expect(await answer('/workset drop ""')).toMatch(/^Which files\?/);
	expect(await answer("/workset drop a.ts typo.ts *.zzz")).toBe(
		"Dropped a.ts. Left: 1 file. None of the working files is named typo.ts, *.zzz.",
	);
	expect(await answer("/workset clear src/b.ts")).toBe(
		"/workset clear drops all files and takes no names; to drop some, use /workset drop src/b.ts",
	);
	expect(await answer("/workset list")).toContain("1 working file,");
	expect(await answer("/workset clear")).toContain("Dropped 1 file");
});

test.each(["log", "tiers"])(
	"a file that the model has written counts as changed in the %s layout, also with the same text",
	async (layout) => {
		const pi = await startPi({ extensions, tools: ["read", "write", "edit"], mode: "rpc" });
		pi.write(".pi/strata.json", JSON.stringify({ tiers: { layout } }));
		await pi.session.reload();
		for (const name of ["a.ts", "b.ts", "c.ts"]) pi.write(name, `${name}\n`);
		await pi.command("/workset add *.ts");
		for (const prompt of ["1", "2", "3", "4", "5"]) await pi.run(prompt, ["ok"]);
		const change = { oldText: "missing", newText: "x" };
		await pi.run("write", [
			[
				{ tool: "write", args: { path: join(pi.cwd, "a.ts"), content: "a.ts\n" } },
				{ tool: "edit", args: { path: "b.ts", edits: [change] } },
			],
			"ok",
		]);
		await pi.command("/tiers");
		expect(lastReport(pi)).toMatch(/^active +a\.ts .*N=0/m);
		expect(lastReport(pi)).toMatch(/^L3 +b\.ts/m); // the edit failed
		expect(lastReport(pi)).toMatch(/^L3 +c\.ts/m);
		await pi.run("go on", ["ok"]);
		await pi.command("/tiers");
		expect(lastReport(pi)).toMatch(/^active +a\.ts .*N=1/m);
	},
);

test("the symbol map stands beside the files, without those that are there in full", {
	tags: "slow",
}, async () => {
	const pi = await startPi({ extensions, tools: ["read"] });
	pi.write("strata.json", "");
	pi.write(".pi/strata.json", JSON.stringify({ kota: { confirmIndex: false } }));
	pi.write("src/a.ts", "export function alpha(): void {}\n");
	pi.write(
		"src/b.ts",
		'import { alpha } from "./a.ts";\nexport function beta(): void { alpha(); }\n',
	);
	await pi.command("/kota index");
	await pi.command("/workset add src/a.ts");
	await pi.command("/workset map on");
	await pi.run("go", ["ok"]);
	const map = liveIn(pi.lastContext())["(symbol map)"] ?? "";
	expect(map).toContain("beta");
	expect(map).not.toContain("alpha(");
	await pi.command("/workset map off");
	await pi.run("go on", ["ok"]);
	expect(JSON.stringify(pi.lastContext())).toContain("No longer kept up to date");
});

test("/tiers shows the symbol map where it stands: first in the log, and by tiers in the literal layout", {
	tags: "slow",
}, async () => {
	const uiContext = { confirm: async () => true };
	const pi = await startPi({
		thinking: "free",
		extensions,
		tools: ["read"],
		mode: "rpc",
		persist: true,
		uiContext,
	});
	const settings = (layout: string) => JSON.stringify({ tiers: { layout, cacheMinTokens: 10 } });
	pi.write(".pi/strata.json", settings("log"));
	pi.write("src/a.ts", "export function alpha(): void {}\n");
	for (const name of ["b", "c", "d"]) {
		pi.write(
			`src/${name}.ts`,
			`import { alpha } from "./a.ts";\nexport function ${name}(): void { alpha(); }\n`,
		);
	}
	await pi.session.reload();
	await pi.command("/kota index");
	await pi.command("/workset map on");
	await pi.command("/workset add src/a.ts");
	await pi.run("first", ["a long answer ".repeat(500)]);
	for (const prompt of ["second", "third"]) await pi.run(prompt, ["ok"]);
	await pi.command("/tiers");
	expect(lastReport(pi)).toMatch(/^L0 +\(symbol map\) +\d+ +N=12 +- +[1-9] hits? +slot$/m);

	pi.write(".pi/strata.json", settings("tiers"));
	await pi.restart();
	await pi.run("fourth", ["ok"]);
	await pi.command("/tiers");
	const sent = JSON.stringify(pi.lastContext());
	const tiers = ["L0", "L1", "L2", "L3", "active"];
	const sentTiers = tiers.filter((tier) => sent.includes(`## Symbols (${tier})`));
	expect(sentTiers.length).toBeGreaterThan(1);
	const shown = [...lastReport(pi).matchAll(/^(\w+) +\(symbol map: (\w+)\) .* prefix$/gm)];
	expect(shown.map(([, tier, name]) => [tier, name])).toEqual(sentTiers.map((one) => [one, one]));
});

test("/tiers does not say when a file changed that nobody saw change", async () => {
	const pi = await startPi({ extensions, tools: ["read"], mode: "rpc", persist: true });
	pi.write("a.ts", "one\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	await pi.command("/tiers");
	expect(lastReport(pi)).toMatch(/a\.ts +1 +N=0 +- /);
	pi.write("a.ts", "two\n");
	await pi.run("second", ["ok"]);
	await pi.command("/tiers");
	expect(lastReport(pi)).toMatch(/a\.ts +1 +N=0 +\d s ago /);
	await pi.restart();
	await pi.command("/tiers");
	expect(lastReport(pi)).toMatch(/a\.ts +1 +N=0 +- /);
});

function lastReport(pi: PiHarness): string {
	const report = pi.reports.findLast(({ customType }) => customType === "strata-report");
	return String((report?.data as { text?: unknown } | undefined)?.text);
}
