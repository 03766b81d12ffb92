/** The working set in sessions that do not go as planned: every request still shows each file as it is, once as live. */
import { readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fauxAssistantMessage, type Message } from "@earendil-works/pi-ai";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { expect, test, vi } from "vitest";
import strata from "../../src/extension/index.ts";
import { PATIENCE } from "../support/patience.ts";
import { type PiHarness, startPi } from "../support/pi-session.ts";
import { atEnd } from "../support/temp.ts";
import { copiesIn, liveIn } from "../support/workset-session.ts";

const strataAlone = [{ name: "strata", factory: strata }];
const tools = ["read", "edit", "write"];
const write = (path: string, content: string, id?: string) => ({
	tool: "write",
	args: { path, content },
	...(id && { id }),
});

/** Expects that the last copy of each file is its text, and that there is no other copy of that text. */
function expectLive(context: readonly Message[], files: Record<string, string>): void {
	const copies = copiesIn(context);
	expect(liveIn(context)).toEqual(files);
	for (const [path, text] of Object.entries(files)) {
		expect(copies.filter((copy) => copy.path === path && copy.text === text)).toHaveLength(1);
	}
}

const paths = (context: readonly Message[]) => copiesIn(context).map(({ path }) => path);
const hasTail = (context: readonly Message[]) =>
	JSON.stringify(context.at(-1)).includes("as they are at this moment");
const edits = (pi: PiHarness) =>
	pi.sessionManager.getEntries().filter(({ type }) => type === "context_edit").length;

/** A session with a dead copy of a.ts. */
async function withDeadCopy(pi: PiHarness): Promise<void> {
	pi.write("a.ts", "a1\n".repeat(400));
	pi.write("b.ts", "b\n".repeat(400));
	await pi.command("/workset add a.ts b.ts");
	await pi.run("first", ["ok"]);
	pi.write("a.ts", "a2\n".repeat(400));
	await pi.run("second", ["ok"]);
	expect(paths(pi.lastContext())).toEqual(["a.ts", "b.ts", "a.ts"]);
}

/** Opens the session again when the provider's cache is cold. */
async function restartCold(pi: PiHarness): Promise<void> {
	vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 60 * 60_000 });
	atEnd(() => vi.useRealTimers());
	await pi.restart();
}

test("a reorganisation whose edits another extension loses is shown all the same, and made later", async () => {
	let greedy = true;
	const other = {
		name: "greedy",
		factory: (api: ExtensionAPI) =>
			api.on("turn_end", () => (greedy ? { entries: [] } : undefined)),
	};
	const pi = await startPi({
		thinking: "free",
		extensions: [...strataAlone, other],
		tools,
		persist: true,
	});
	await withDeadCopy(pi);
	await restartCold(pi);
	await pi.run("third", ["ok"]);
	const third = copiesIn(pi.lastContext());
	expect(third).toHaveLength(2);
	expect(edits(pi)).toBe(0);
	await pi.run("fourth", ["ok"]);
	expect(copiesIn(pi.lastContext())).toEqual(third);
	expect(hasTail(pi.lastContext())).toBe(false);
	greedy = false;
	await pi.run("fifth", ["ok"]);
	const made = edits(pi);
	expect(made).toBeGreaterThan(0);
	await pi.run("sixth", ["ok"]);
	expect(copiesIn(pi.lastContext())).toEqual(third);
	expect(edits(pi)).toBe(made);
});

test("what was edited away is not edited again each time the cache is cold", async () => {
	const pi = await startPi({ thinking: "free", extensions: strataAlone, tools, persist: true });
	await withDeadCopy(pi);
	await restartCold(pi);
	await pi.run("third", ["ok"]);
	const made = edits(pi);
	expect(made).toBeGreaterThan(0);
	await restartCold(pi);
	await pi.run("fourth", ["ok"]);
	expect(edits(pi)).toBe(made);
});

test("after the layout is changed no old copy passes for the file", async () => {
	const pi = await startPi({ thinking: "free", extensions: strataAlone, tools, persist: true });
	await withDeadCopy(pi);
	pi.write(".pi/strata.json", JSON.stringify({ tiers: { layout: "tiers" } }));
	await pi.restart();
	pi.write("a.ts", "a3\n".repeat(400));
	for (const prompt of ["third", "fourth"]) {
		await pi.run(prompt, ["ok"]);
		expect(copiesIn(pi.lastContext())).toEqual([]);
		const sent = JSON.stringify(pi.lastContext());
		expect(sent.split("a3\\na3").length - 1).toBeGreaterThan(0);
		expect(sent).not.toContain("a2\\na2");
	}
	pi.write(".pi/strata.json", JSON.stringify({ tiers: { layout: "log" } }));
	await pi.restart();
	await pi.run("fifth", ["ok"]);
	expectLive(pi.lastContext(), { "a.ts": "a3\n".repeat(400), "b.ts": "b\n".repeat(400) });
});

test("loading the extensions anew leaves a warm conversation as it is", async () => {
	const pi = await startPi({ extensions: strataAlone, tools, persist: true });
	await withDeadCopy(pi);
	await pi.session.reload();
	await pi.run("third", ["ok"]);
	expect(paths(pi.lastContext())).toEqual(["a.ts", "b.ts", "a.ts"]);
});

test("a message that somebody put in with an id of ours is not mistaken for it", async () => {
	const pi = await startPi({ thinking: "free", extensions: strataAlone, tools, persist: true });
	await withDeadCopy(pi);
	const messages = pi.sessionManager.getBranch().filter(({ type }) => type === "custom_message");
	for (const entry of messages) {
		if (entry.type !== "custom_message") continue;
		const { customType, content, details } = entry;
		pi.sessionManager.appendCustomMessageEntry(customType, content, false, details);
	}
	pi.session.refreshContext();
	await restartCold(pi);
	const live = { "a.ts": "a2\n".repeat(400), "b.ts": "b\n".repeat(400) };
	await pi.run("third", ["ok"]);
	expect(liveIn(pi.lastContext())).toEqual(live);
	// Two that cannot be told apart in a request are only edited in the session.
	for (const prompt of ["fourth", "fifth"]) {
		await pi.run(prompt, ["ok"]);
		expectLive(pi.lastContext(), live);
	}
});

test("a forged session cannot select what it should not, nor break the prompt", {
	tags: "slow",
}, async () => {
	const pi = await startPi({ extensions: strataAlone, tools, persist: true });
	pi.write("ok.ts", "fine\n");
	await pi.run("begin", ["ok"]);
	const session = pi.sessionManager;
	session.appendCustomEntry("strata-workset", {
		op: "add",
		paths: [
			"__proto__",
			"constructor",
			"../../etc/passwd",
			"/etc/passwd",
			"x".repeat(5000),
			"ok.ts",
		],
	});
	session.appendCustomEntry("strata-workset", {
		op: "add",
		paths: Array.from({ length: 5000 }, (_, i) => `no/${i}`),
	});
	session.appendCustomMessageEntry("strata-workset", "not ours", true, { id: { not: "ours" } });
	session.appendCustomMessageEntry(
		"strata-workset",
		[{ type: "text", text: '<working-file path="__proto__" sha256="0">\nx\n</working-file>' }],
		false,
		{ id: "__proto__" },
	);
	await pi.restart();
	await pi.run("go", [{ tool: "read", args: { path: "ok.ts" }, id: "r" }, "ok"]);
	const sent = JSON.stringify(pi.lastContext());
	expect(sent).not.toContain("root:");
	expect(Object.fromEntries(copiesIn(pi.lastContext()).map((c) => [c.path, c.text]))).toMatchObject(
		{
			"ok.ts": "fine\n",
			constructor: "constructor does not exist.",
		},
	);
	expect(sent.length).toBeLessThan(200_000);
});

test("several files that changed at once are each shown once, before the prompt", async () => {
	const pi = await startPi({ extensions: strataAlone, tools });
	const files: Record<string, string> = {};
	for (const name of ["a", "b", "c", "d"]) files[`${name}.ts`] = `${name}\n`.repeat(500);
	for (const [path, text] of Object.entries(files)) pi.write(path, text);
	await pi.command("/workset add *.ts");
	await pi.run("first", ["ok"]);
	for (const path of ["a.ts", "c.ts", "d.ts"]) {
		files[path] = `new ${files[path]}`;
		pi.write(path, files[path]);
	}
	await pi.run("second", ["ok"]);
	expectLive(pi.lastContext(), files);
	expect(hasTail(pi.lastContext())).toBe(false);
	expect(pi.lastContext().at(-1)).toMatchObject({ content: [{ text: "second" }] });
});

test("a file that changes between the prompt and the request stands in the request's tail", async () => {
	const late = {
		name: "late",
		factory: (api: ExtensionAPI) =>
			api.on("context", (_event, ctx) => writeFileSync(join(ctx.cwd, "a.ts"), "late\n")),
	};
	const pi = await startPi({ thinking: "free", extensions: [...strataAlone, late], tools });
	pi.write("a.ts", "early\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	expectLive(pi.lastContext(), { "a.ts": "late\n" });
	expect(hasTail(pi.lastContext())).toBe(true);
});

test("edits side by side, a command in mid-run, and a message that steers", async () => {
	const pi = await startPi({ extensions: strataAlone, tools });
	pi.write("a.ts", "a\n");
	pi.write("b.ts", "b\n");
	pi.write("c.ts", "c\n");
	await pi.command("/workset add a.ts b.ts");
	await pi.run("go", [
		[write("a.ts", "A\n"), write("b.ts", "B\n")],
		async (context) => {
			expectLive(context, { "a.ts": "A\n", "b.ts": "B\n" });
			await pi.session.prompt("/workset add c.ts");
			return write("x.ts", "x");
		},
		async (context) => {
			expectLive(context, { "a.ts": "A\n", "b.ts": "B\n", "c.ts": "c\n" });
			await pi.session.prompt("/workset drop a.ts");
			await pi.session.steer("another thing");
			return write("b.ts", "BB\n");
		},
		(context) => {
			const live = liveIn(context);
			expect(live).toMatchObject({ "b.ts": "BB\n", "c.ts": "c\n" });
			const sent = JSON.stringify(context);
			expect(sent.includes("No longer kept") || !("a.ts" in live)).toBe(true);
			return "done";
		},
	]);
});

test("files that were added or dropped show in the status at once", async () => {
	const pi = await startPi({ extensions: strataAlone, tools, mode: "rpc" });
	pi.write("a.ts", "a\n");
	pi.write("b.ts", "b\n");
	const status = async () => {
		await pi.command("/strata");
		return JSON.stringify(pi.reports.at(-1) ?? "");
	};
	await pi.command("/workset add a.ts b.ts");
	expect(await status()).toContain("2 working files");
	await pi.command("/workset drop b.ts");
	expect(await status()).toContain("1 working file");
	await pi.command("/workset clear");
	expect(await status()).toContain("no working files yet");
});

test("after an abort and after an error of the provider the files are still right", async () => {
	const pi = await startPi({ extensions: strataAlone, tools, persist: true });
	await withDeadCopy(pi);
	await pi.restart();
	pi.session.settingsManager.applyOverrides({ retry: { enabled: false } });
	await pi.run("third", [
		async () => {
			void pi.session.abort();
			await new Promise((done) => setTimeout(done, 20));
			return "too late";
		},
	]);
	pi.write("b.ts", "B\n");
	const failure = { stopReason: "error" as const, errorMessage: "the provider is not well" };
	await pi.run("fourth", [fauxAssistantMessage("", failure)]);
	expectLive(pi.lastContext(), { "a.ts": "a2\n".repeat(400), "b.ts": "B\n" });
	await pi.run("fifth", ["ok"]);
	expectLive(pi.lastContext(), { "a.ts": "a2\n".repeat(400), "b.ts": "B\n" });
});

test("a compaction in mid-run takes the slot, and the next request shows the files all the same", async () => {
	const pi = await startPi({
		extensions: strataAlone,
		tools,
		contextWindow: 24_000,
		compaction: { enabled: true, reserveTokens: 2000, keepRecentTokens: 100 },
	});
	const files = { "a.ts": "a\n".repeat(3000), "b.ts": "b\n".repeat(3000) };
	for (const [path, text] of Object.entries(files)) pi.write(path, text);
	for (const name of ["big", "too"]) pi.write(name, `${`${name} `.repeat(5)}\n`.repeat(1200));
	await pi.command("/workset add a.ts b.ts");
	await pi.run("go", [
		{ tool: "read", args: { path: "big" } },
		{ tool: "read", args: { path: "too" } },
		{ summary: "a summary" },
		{ summary: "of the turn" },
		(context) => {
			pi.session.settingsManager.applyOverrides({ compaction: { enabled: false } });
			expectLive(context, files);
			return write("x.ts", "x");
		},
		(context) => {
			expectLive(context, files);
			return "done";
		},
	]);
});

test("another extension that takes our messages out of a request cannot hide a file", async () => {
	const thief = {
		name: "thief",
		factory: (api: ExtensionAPI) =>
			api.on("context", ({ messages }) => ({
				messages: messages.filter(({ role }) => role !== "custom"),
			})),
	};
	const pi = await startPi({ thinking: "free", extensions: [thief, ...strataAlone], tools });
	pi.write("a.ts", "a\n");
	await pi.command("/workset add a.ts");
	for (const prompt of ["first", "second"]) {
		await pi.run(prompt, [{ tool: "read", args: { path: "a.ts" }, id: prompt }, "ok"]);
		expectLive(pi.lastContext(), { "a.ts": "a\n" });
	}
	expect(pi.textOf("first")).toBe("a\n");
});

test("the states of sessions long gone are deleted, and one that cannot be saved is told of once", async () => {
	const pi = await startPi({ extensions: strataAlone, tools, mode: "rpc" });
	const folder = join(pi.cwd, ".pi", "strata");
	const old = pi.write(".pi/strata/session-old.json", "{}");
	utimesSync(old, 1_000_000_000, 1_000_000_000);
	pi.write("a.ts", "a\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	// Nobody waits for the disk, neither for deleting nor for saving: the folder may go only when both are done.
	const own = `session-${pi.sessionManager.getSessionId()}.json`;
	await vi.waitFor(
		() => expect(readdirSync(folder).sort()).toEqual([".gitignore", own, "version.json"]),
		PATIENCE,
	);
	rmSync(folder, { recursive: true });
	pi.write(".pi/strata", "not a folder");
	const told = () => pi.notifications.filter(({ message }) => message.includes("tier state"));
	await pi.run("second", ["ok"]);
	// It is told at the end of the next turn, or of a later one if the disk takes longer than that.
	await vi.waitFor(async () => {
		await pi.run("go on", ["ok"]);
		expect(told()).toHaveLength(1);
	}, PATIENCE);
	await pi.run("and on", ["ok"]);
	expect(told()).toHaveLength(1);
});

test("a resumed session is not said to have no working files before they are read", async () => {
	const pi = await startPi({ extensions: strataAlone, tools, persist: true, mode: "rpc" });
	const report = async () => {
		await pi.command("/strata");
		const data = pi.reports.at(-1)?.data as { text: string } | undefined;
		return data?.text.split("\n").find((line) => /^on +tiers/.test(line));
	};
	expect(await report()).toContain("no working files yet");
	pi.write("a.ts", "a\n");
	await pi.command("/workset add a.ts");
	await pi.run("first", ["ok"]);
	expect(await report()).toMatch(/ 1 working file$/m);
	await pi.restart();
	expect(await report()).toContain("the next prompt reads the working files");
	await pi.run("second", ["ok"]);
	expect(await report()).toMatch(/ 1 working file$/m);
});
