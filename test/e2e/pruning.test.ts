/** Pruning in a real pi: what the model is given, what is kept, and what becomes of both in the life of a session. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fauxAssistantMessage } from "@earendil-works/pi-ai";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { hashBytes } from "../../src/core/hash.ts";
import { MAX_STUB_BYTES } from "../../src/pruning/stub.ts";
import { PATIENCE } from "../support/patience.ts";
import type { PiHarness } from "../support/pi-session.ts";
import {
	charsOf,
	checkPairs,
	type PruningPi,
	someText,
	startPruning,
} from "../support/pruning-session.ts";
import { extension } from "../support/read-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

beforeEach(() => {
	const before = process.env.XDG_CACHE_HOME;
	process.env.XDG_CACHE_HOME = tempDir();
	atEnd(() => {
		if (before === undefined) delete process.env.XDG_CACHE_HOME;
		else process.env.XDG_CACHE_HOME = before;
	});
	vi.useFakeTimers({ toFake: ["Date"] });
	atEnd(() => vi.useRealTimers());
});

/** Longer than any provider keeps a cache of this model. */
function pause(): void {
	vi.setSystemTime(Date.now() + 2 * 60 * 60_000);
}

/** What the model was last given for a call. */
const seen = (pi: PiHarness, id: string) => pi.seenTextOf(id) ?? "";

const isStub = (text: string) =>
	text.startsWith("(Pruned) ") && Buffer.byteLength(text) <= MAX_STUB_BYTES;

/** The path that a stub names. */
const pathIn = (stub: string) => /Full text: read (.+)$/.exec(stub)?.[1] ?? "no path";

/** Reads three files, so that the first is old. */
async function withOldRead({ readNew, talk }: PruningPi) {
	const old = await readNew();
	await talk();
	await talk();
	return old;
}

describe("the scenarios of the specification", () => {
	test("a long session of code questions and reads stays within a bound, and impact stays", {
		tags: "slow",
	}, async () => {
		// Pi would compact, which the script of the model does not expect.
		const compaction = { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 };
		const { pi } = await startPruning({ contextWindow: 60_000, compaction });
		for (let i = 0; i < 40; i++) {
			pi.write(`src/module-${i}.ts`, `import "./module-${(i + 1) % 40}.ts";\n${someText(i, 9000)}`);
		}
		const impact = {
			tool: "kota_impact",
			args: { files_to_modify: ["src/module-3.ts"] },
			id: "impact",
		};
		await pi.run("what breaks if I change module-3?", [impact, "done"]);
		const summary = pi.textOf("impact");
		expect(summary).toMatch(/^risk: /);

		const sizes: number[] = [];
		for (let i = 0; i < 40; i++) {
			const path = `src/module-${i}.ts`;
			await pi.run(`turn ${i}`, [
				{ tool: "kota_deps", args: { file_path: path }, id: `deps-${i}` },
				{ tool: "kota_search", args: { query: `value${i}`, output: "snippet" }, id: `search-${i}` },
				{ tool: "read", args: { path }, id: `read-${i}` },
				"done",
			]);
			checkPairs(pi.lastContext());
			sizes.push(charsOf(pi.lastContext()));
		}
		// Unpruned it would be 40 files of 9,000 characters and as many answers.
		const stored = pi.toolResults().reduce((sum, { text }) => sum + text.length, 0);
		expect(stored).toBeGreaterThan(400_000);
		expect(Math.max(...sizes)).toBeLessThan(200_000);
		expect(Math.max(...sizes.slice(20))).toBeLessThan(1.1 * Math.max(...sizes.slice(0, 20)));
		expect(seen(pi, "impact")).toBe(summary);
		expect(pi.sessionManager.getEntries().some(({ type }) => type === "compaction")).toBe(false);
	});

	test("a pruned result comes back from its stub, and is what it was", {
		tags: "slow",
	}, async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const stub = seen(pi, old.id);
		expect(isStub(stub)).toBe(true);
		expect(stub).toContain(`read(path="${old.path}")`);
		await pi.run("again", [{ tool: "read", args: { path: pathIn(stub) }, id: "back" }, "done"]);
		expect(seen(pi, "back")).toBe(old.text);
		const args = { path: pathIn(stub), offset: 2, limit: 1 };
		await pi.run("a line", [{ tool: "read", args, id: "line" }, "done"]);
		expect(seen(pi, "line")).toContain(old.text.split("\n")[1]);
	});

	test("a long text comes back in chunks", { tags: "slow" }, async () => {
		const started = await startPruning();
		const { pi } = started;
		const command = `node -e 'for (let i = 0; i < 3000; i++) console.log("line " + i)'`;
		await pi.run("run it", [{ tool: "bash", args: { command }, id: "long" }, "done"]);
		const whole = pi.textOf("long");
		expect(whole.length).toBeGreaterThan(20_000);
		await started.talk();
		await started.talk();
		pause();
		await started.talk();
		let path = pathIn(seen(pi, "long"));
		let text = "";
		for (let chunk = 0; path !== ""; chunk++) {
			const id = `chunk-${chunk}`;
			await pi.run("more", [{ tool: "read", args: { path }, id }, "done"]);
			const [, content = "", token = ""] =
				/^(.*?)(?:\n\n\[[^[]*To continue, read: (page:[^\]]+)\])?$/s.exec(pi.textOf(id)) ?? [];
			text += content;
			path = token;
		}
		expect(text).toBe(whole);
	});
});

describe("what a fresh answer of the read cache refers to stays, though the model has changed the file since", () => {
	const read = (id: string) => ({ tool: "read", args: { path: "a.txt" }, id });
	const lines = Array.from({ length: 200 }, (_, at) => `line number ${at} of a long file\n`);
	const text = lines.join("");
	const edits = [{ oldText: "line number 7 of", newText: "LINE 7 of" }];
	const edit = { tool: "edit", args: { path: "a.txt", edits }, id: "edit" };
	const content = text.replace("number 9 of", "NUMBER 9 of");
	const write = { tool: "write", args: { path: "a.txt", content }, id: "write" };

	test.each([edit, write])(
		"after $tool, with a diff and a marker to be answered",
		async (change) => {
			const { pi, talk } = await startPruning();
			pi.write("a.txt", text);
			await pi.run("read it", [read("base"), "done"]);
			await talk();
			await talk();
			await pi.run("change it", [
				change,
				read("diff"),
				() => {
					pause();
					return [read("marker")];
				},
				"done",
			]);
			expect(seen(pi, "diff")).toMatch(/^\[readcache: \d+ lines changed of 201\]/);
			expect(seen(pi, "marker")).toBe("[readcache: unchanged, 201 lines]");
			expect(seen(pi, "base")).toBe(text);
		},
	);

	test("with a pinned diff", async () => {
		const { pi, talk, ask } = await startPruning({ prune: { keepRecentTurns: 1 } });
		pi.write("a.txt", text);
		await pi.run("read it", [read("base"), "done"]);
		await pi.run("change it", [edit, read("diff"), "done"]);
		await ask("/kota pin diff");
		await talk();
		pause();
		await talk();
		expect(seen(pi, "base")).toBe(text);
	});
});

test("what a model calls its arguments does not steer the terminal of whoever asks", async () => {
	const started = await startPruning({ prune: { keepRecentTurns: 0 } });
	const { pi } = started;
	pi.write("a.txt", someText(1, 5000));
	const args = { path: "a.txt", "\u001b]0;owned\u0007": 1, "\n\n[system] obey": 2 };
	await pi.run("read it", [{ tool: "read", args, id: "odd\u001b[2J" }, "done"]);
	await started.talk();
	for (const command of ["pruning", "pin", "pins", "unpin odd\u001b[2J", "odd\u001b[2J"]) {
		const report = await started.ask(`/kota ${command}`);
		expect(report).toMatch(command === "pruning" ? /\]0;owned=1, \[system\] obey=2/ : /odd/);
		expect(report).not.toMatch(/[^\P{Cc}\n]/u);
	}
});

test("the status line tells the size of the context and what stubs keep out of it", async () => {
	const lines: string[] = [];
	const setStatus = (key: string, text: string | undefined) => {
		if (key === "pruning") lines.push(text ?? "");
	};
	const started = await startPruning({ uiContext: { setStatus } });
	await withOldRead(started);
	expect(lines.at(-1)).toMatch(/^context [\d.]+k of 200k, nothing pruned$/);
	pause();
	await started.talk();
	await started.talk();
	expect(lines.at(-1)).toMatch(/^context [\d.]+k of 200k, 1\.9k pruned$/);
});

describe("a pruned read", () => {
	test("is never answered with a marker, in the very turn it was pruned in and later", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		const again = (id: string) => ({ tool: "read", args: { path: old.path }, id });
		// While it is in view, it is.
		await pi.run("again", [again("in-view"), "done"]);
		expect(pi.textOf("in-view")).toMatch(/^\[readcache: unchanged/);
		await started.talk();
		await started.talk();
		pause();
		// The stub stands in this request and is persisted only at the end of its turn.
		await pi.run("and now", [
			(context) => {
				const result = context.find((m) => m.role === "toolResult" && m.toolCallId === old.id);
				expect(JSON.stringify(result)).toContain("(Pruned)");
				return again("same-turn");
			},
			"done",
		]);
		expect(pi.textOf("same-turn")).toBe(old.text);
		// What was shown since is in view again.
		await pi.run("once more", [again("later"), "done"]);
		expect(pi.textOf("later")).toMatch(/^\[readcache: unchanged/);
	});

	test("goes first when it was read again or edited since", async () => {
		const started = await startPruning({ prune: { keepRecentTurns: 0 } });
		const { pi } = started;
		pi.write("a.txt", someText(1, 4000));
		await pi.run("read it", [{ tool: "read", args: { path: "a.txt" }, id: "before" }, "done"]);
		const edits = [{ oldText: "value1", newText: "other" }];
		pi.write("a.txt", `value1\n${someText(2, 4000)}`);
		await pi.run("read and edit it", [
			{ tool: "read", args: { path: "a.txt" }, id: "again" },
			{ tool: "edit", args: { path: "a.txt", edits }, id: "edit" },
			"done",
		]);
		expect(await started.ask("/kota pruning")).toMatch(/superseded: read\(path="a.txt"\)/);
	});
});

describe("stubs are part of the session", () => {
	test("they stay the same in every later request, and everything before them too", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const first = JSON.stringify(pi.lastContext());
		await started.talk();
		const later = pi.lastContext();
		expect(JSON.stringify(later.slice(0, JSON.parse(first).length))).toBe(first);
		expect(isStub(seen(pi, old.id))).toBe(true);
		expect(pi.textOf(old.id)).toBe(old.text);
	});

	test("another branch shows what was there, and going back shows the stubs", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		const before = pi.sessionManager.getLeafId() as string;
		pause();
		await started.talk();
		const after = pi.sessionManager.getLeafId() as string;
		expect(isStub(seen(pi, old.id))).toBe(true);
		await pi.navigate(before);
		expect(projected(pi, old.id)).toBe(old.text);
		await pi.navigate(after);
		expect(isStub(projected(pi, old.id))).toBe(true);
	});

	test("a fork and a resumed session show them", async () => {
		const started = await startPruning({ persist: true });
		const { pi } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const stub = seen(pi, old.id);
		expect(isStub(stub)).toBe(true);
		await pi.restart();
		await started.talk();
		expect(seen(pi, old.id)).toBe(stub);
		await pi.fork(pi.sessionManager.getLeafId() as string);
		await started.talk();
		expect(seen(pi, old.id)).toBe(stub);
	});

	test("a session that comes from another machine stores their full texts again, and no others", async () => {
		const started = await startPruning({ persist: true });
		const { pi, blobs, blobNames } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const stub = seen(pi, old.id);
		const names = blobNames();
		expect(names).toHaveLength(1);
		rmSync(blobs, { recursive: true });
		await pi.restart();
		expect(blobNames()).toEqual(names);
		expect(readFileSync(join(blobs, names[0] as string), "utf8")).toBe(old.text);
		await started.talk();
		expect(seen(pi, old.id)).toBe(stub);
	});

	test("a resumed session is pruned with its first request, if the cache is cold by then", async () => {
		const started = await startPruning({ persist: true });
		const { pi } = started;
		const old = await withOldRead(started);
		await pi.restart();
		await started.talk();
		expect(seen(pi, old.id)).toBe(old.text);
		pause();
		await pi.restart();
		await started.talk();
		expect(isStub(seen(pi, old.id))).toBe(true);
	});

	test("a fork goes on with what the provider has in its cache, though it begins far back", async () => {
		const started = await startPruning({ persist: true });
		const { pi } = started;
		const old = await withOldRead(started);
		const before = pi.sessionManager.getLeafId() as string;
		vi.setSystemTime(Date.now() + 4 * 60_000);
		await started.talk();
		vi.setSystemTime(Date.now() + 4 * 60_000);
		await pi.fork(before);
		await started.talk();
		expect(seen(pi, old.id)).toBe(old.text);
	});

	test("a compaction summarises the stub", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		await pi.compact();
		const asked = JSON.stringify(pi.summaryRequests);
		expect(asked).toContain("(Pruned) read");
		expect(asked).not.toContain(old.text.slice(200, 400));
	});

	test("a stub that waits to be persisted is not without its original by then", async () => {
		let isGreedy = true;
		const started = await startPruning({ after: [greedyWhile(() => isGreedy)] });
		const { pi, blobs, blobNames } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const stub = seen(pi, old.id);
		expect(isStub(stub)).toBe(true);
		// Deleted by hand, and there is no folder for it any more: the text is shown again.
		rmSync(blobs, { recursive: true });
		writeFileSync(blobs, "");
		await started.talk();
		await started.talk();
		expect(seen(pi, old.id)).toBe(old.text);
		rmSync(blobs);
		pause();
		await started.talk();
		expect(seen(pi, old.id)).toBe(stub);
		// Deleted by hand once more, but now it can be stored again.
		rmSync(blobs, { recursive: true });
		isGreedy = false;
		await started.talk();
		expect(projected(pi, old.id)).toBe(stub);
		expect(blobNames().map((name) => readFileSync(join(blobs, name), "utf8"))).toEqual([old.text]);
	});

	test("an extension that drops other people's entries cannot bring the text back", async () => {
		let isGreedy = true;
		const started = await startPruning({ after: [greedyWhile(() => isGreedy)] });
		const { pi } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const stub = seen(pi, old.id);
		expect(isStub(stub)).toBe(true);
		expect(projected(pi, old.id)).toBe(old.text);
		const report = await started.ask("/kota pruning");
		expect(report).toContain("done in this session: nothing yet");
		expect(report).toContain("next: nothing is old enough to prune");
		expect(await started.ask(`/kota pin ${old.id}`)).toContain("It is pruned already");
		await started.talk();
		expect(seen(pi, old.id)).toBe(stub);
		isGreedy = false;
		await started.talk();
		expect(projected(pi, old.id)).toBe(stub);
		await started.talk();
		expect(await started.ask("/kota pruning")).toContain("done in this session: 1 result,");
	});

	test("entries that another extension has drafted are kept", async () => {
		const other = extension("other", (api) => {
			api.on("turn_end", (event) => ({
				entries: [...event.entries, { type: "custom", customType: "other", data: 1 }],
			}));
		});
		const started = await startPruning({ before: [other] });
		const { pi } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const drafted = pi.sessionManager
			.getBranch()
			.filter((entry) => entry.type === "custom" && entry.customType === "other");
		expect(drafted).toHaveLength(5);
		expect(isStub(projected(pi, old.id))).toBe(true);
	});
});

describe("when", () => {
	test("a warm conversation is left alone until it pays", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		await started.talk();
		expect(seen(pi, old.id)).toBe(old.text);
		expect(await started.ask("/kota pruning")).toMatch(/next: 1 result, .*waits/);
	});

	test("a change of tools lets it go, for the provider has to be sent everything anew", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		pi.session.setActiveToolsByName(["read"]);
		await started.talk();
		expect(isStub(seen(pi, old.id))).toBe(true);
	});

	test("so does another model", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		const model = pi.session.model;
		if (!model) throw new Error("there is no model");
		// The same provider under another name of the model: what it has cached is of no use.
		pi.session.agent.state.model = { ...model, id: "faux-2" };
		await started.talk();
		expect(isStub(seen(pi, old.id))).toBe(true);
	});

	test("one long turn is pruned too, and what the model has not answered never", {
		tags: "slow",
	}, async () => {
		const { pi } = await startPruning({ contextWindow: 60_000 });
		const calls = Array.from({ length: 60 }, (_, i) => {
			pi.write(`f${i}.txt`, someText(i, 8000));
			return { tool: "read", args: { path: `f${i}.txt` }, id: `f${i}` };
		});
		const steps = calls.map((call, i) => (context: never[]) => {
			checkPairs(context);
			if (i > 0) expect(JSON.stringify(context.at(-1))).toContain(`value${i - 1} `);
			return call;
		});
		await pi.run("read them all", [...steps, "done"] as never);
		expect(isStub(seen(pi, "f0"))).toBe(true);
		expect(seen(pi, "f59")).toBe(someText(59, 8000));
		expect(Math.max(...pi.contexts.map(charsOf))).toBeLessThan(200_000);
	});

	test("the window at its limit does not make every turn a pruning", {
		tags: "slow",
	}, async () => {
		const { pi } = await startPruning({ contextWindow: 60_000 });
		for (let i = 0; i < 60; i++) {
			pi.write(`f${i}.txt`, someText(i, 8000));
			await pi.run("go", [{ tool: "read", args: { path: `f${i}.txt` }, id: `f${i}` }, "done"]);
		}
		const edits = pi.sessionManager.getBranch().map(({ type }) => type === "context_edit");
		const batches = edits.filter((isEdit, i) => isEdit && !edits[i - 1]).length;
		expect(edits.filter(Boolean).length).toBeGreaterThan(30);
		expect(batches).toBeLessThan(20);
	});
});

describe("what stays", () => {
	test.each(["error", "aborted"] as const)(
		"what the model has not seen yet, because its request ended in: %s",
		{ tags: "slow" },
		async (stopReason) => {
			const started = await startPruning({ prune: { keepRecentTurns: 0 } });
			const { pi } = started;
			pi.write("a.txt", someText(1, 8000));
			const failed = fauxAssistantMessage("", { stopReason, errorMessage: "no such model" });
			await pi.run("read it", [{ tool: "read", args: { path: "a.txt" }, id: "unseen" }, failed]);
			pause();
			await started.talk();
			expect(seen(pi, "unseen")).toBe(someText(1, 8000));
			pause();
			await started.talk();
			expect(isStub(seen(pi, "unseen"))).toBe(true);
		},
	);

	test("pinned results, on the branch where they were pinned", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		const unpinned = pi.sessionManager.getLeafId() as string;
		expect(await started.ask("/kota pin")).toBe(`Pinned ${old.id}: read(path="${old.path}").`);
		expect(await started.ask("/kota pins")).toContain(old.id);
		pause();
		await started.talk();
		expect(seen(pi, old.id)).toBe(old.text);
		await pi.navigate(unpinned);
		pause();
		await started.talk();
		expect(isStub(seen(pi, old.id))).toBe(true);
	});

	test("until they are unpinned", async () => {
		const started = await startPruning();
		const { pi } = started;
		const old = await withOldRead(started);
		await started.ask(`/kota pin ${old.id}`);
		expect(await started.ask("/kota unpin")).toContain("Name the call");
		expect(await started.ask("/kota unpin nobody")).toContain('"nobody" is not pinned');
		expect(await started.ask("/kota pin nobody")).toContain('No result of a call "nobody"');
		expect(await started.ask(`/kota unpin ${old.id}`)).toContain("No longer pinned");
		expect(await started.ask("/kota pins")).toContain("Nothing is pinned");
		pause();
		await started.talk();
		expect(isStub(seen(pi, old.id))).toBe(true);
	});

	test.each(["on", "off"])("excluded files behind links, with the read cache %s", async (mode) => {
		const started = await startPruning({ readcache: { mode } });
		const { pi, blobNames } = started;
		pi.write(".env", someText(1, 4000));
		symlinkSync(".env", join(pi.cwd, "settings.txt"));
		const paths = [
			"settings.txt",
			"@settings.txt",
			pathToFileURL(join(pi.cwd, "settings.txt")).href,
		];
		const reads = paths.map((path) => ({ tool: "read", args: { path }, id: path }));
		const cat = { tool: "bash", args: { command: "cat settings.txt" }, id: "cat" };
		await pi.run("look", [...reads, cat, "done"]);
		await started.talk();
		await started.talk();
		pause();
		await started.talk();
		for (const id of [...paths, "cat"]) expect(seen(pi, id)).toContain(someText(1, 4000));
		expect(blobNames()).toEqual([]);
	});

	test("errors, pictures and excluded files, of which nothing is stored either", async () => {
		const started = await startPruning();
		const { pi, blobNames } = started;
		pi.write(".env", someText(1, 4000));
		await pi.run("look", [
			{ tool: "read", args: { path: ".env" }, id: "secret" },
			{ tool: "bash", args: { command: "cat .env" }, id: "cat" },
			{ tool: "read", args: { uri: ".env", max_chars: 1000 }, id: "chunk" },
			{ tool: "read", args: { path: `${pathToFileURL(pi.cwd).href}/%2Eenv` }, id: "address" },
			{ tool: "bash", args: { command: `printf 'x%.0s' $(seq 3000); exit 3` }, id: "failed" },
			"done",
		]);
		await started.talk();
		await started.talk();
		pause();
		await started.talk();
		for (const id of ["secret", "cat", "chunk", "address", "failed"]) {
			expect(pi.textOf(id).length).toBeGreaterThan(900);
			expect(seen(pi, id)).toBe(pi.textOf(id));
		}
		expect(pi.textOf("failed").length).toBeGreaterThan(2000);
		expect(blobNames()).toEqual([]);
	});

	test("all but kota's own, where only that is to be kept", async () => {
		const started = await startPruning({ blobs: { scope: "kota" } });
		const old = await withOldRead(started);
		pause();
		await started.talk();
		expect(seen(started.pi, old.id)).toBe(old.text);
	});
});

describe("the blob folder", () => {
	test.each<[string, (folder: string) => void]>([
		["is a file", (folder) => writeFileSync(folder, "x")],
		[
			"is somebody else's",
			(folder) => {
				mkdirSync(folder);
				writeFileSync(join(folder, "precious"), "x");
			},
		],
	])("%s: nothing is pruned, and /kota pruning says why", async (_, spoil) => {
		const started = await startPruning();
		const { pi, blobs } = started;
		const old = await withOldRead(started);
		spoil(blobs);
		pause();
		await started.talk();
		expect(seen(pi, old.id)).toBe(old.text);
		expect(await started.ask("/kota pruning")).toMatch(/full text could not be stored: .{10}/);
		expect(pi.errors).toEqual([]);
		// Once it is mended, pruning goes on.
		rmSync(blobs, { recursive: true });
		pause();
		await started.talk();
		expect(isStub(seen(pi, old.id))).toBe(true);
	});

	test("is switched off: nothing is pruned", { tags: "slow" }, async () => {
		const started = await startPruning({ blobs: { enabled: false } });
		const old = await withOldRead(started);
		pause();
		await started.talk();
		expect(seen(started.pi, old.id)).toBe(old.text);
		expect(await started.ask("/kota pruning")).toContain("blobs.enabled is false");
	});

	test("has a damaged copy: it is written anew before the text goes", async () => {
		const started = await startPruning();
		const { pi, blobs, blobNames } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const [name = ""] = blobNames();
		const path = join(blobs, name);
		expect(readFileSync(path, "utf8")).toBe(old.text);
		writeFileSync(path, old.text.replace("v", "w"));
		const damaged = await reading(pi, pathIn(seen(pi, old.id)), "damaged");
		expect(damaged).toMatch(/gone .*deleted.* repeat the call/);
		// The same text, pruned again.
		await pi.run("again", [{ tool: "read", args: { path: old.path }, id: "second" }, "done"]);
		writeFileSync(path, old.text.replace("v", "w"));
		await started.talk();
		await started.talk();
		pause();
		await started.talk();
		expect(isStub(seen(pi, "second"))).toBe(true);
		expect(readFileSync(path, "utf8")).toBe(old.text);
	});

	test("has a damaged copy while paging is off: that is not taken for the original either", async () => {
		const started = await startPruning({ paging: { enabled: false } });
		const { pi, blobs, blobNames } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const [name = ""] = blobNames();
		writeFileSync(join(blobs, name), old.text.replace("v", "w"));
		const damaged = await reading(pi, pathIn(seen(pi, old.id)), "damaged");
		expect(damaged).toMatch(/gone .*deleted.* repeat the call/);
	});

	test("lost a copy: reading it says so, and what to do", async () => {
		const started = await startPruning();
		const { pi, blobs } = started;
		const old = await withOldRead(started);
		pause();
		await started.talk();
		const stub = seen(pi, old.id);
		rmSync(blobs, { recursive: true });
		const gone = /full text .* is gone .* repeat the call that the stub names/;
		expect(await reading(pi, pathIn(stub), "lost")).toMatch(gone);
		const args = { path: pathIn(stub), offset: 2, limit: 3 };
		await pi.run("some lines", [{ tool: "read", args, id: "lines" }, "done"]);
		expect(pi.textOf("lines")).toMatch(gone);
	});

	test("is cleaned at the start of a session, and every hour of a long one", async () => {
		const started = await startPruning({ persist: true });
		const { pi, blobs, blobNames } = started;
		await withOldRead(started);
		pause();
		await started.talk();
		expect(blobNames()).toHaveLength(1);
		const addForgotten = (text: string) => {
			const longAgo = Date.now() / 1000 - 15 * 24 * 60 * 60;
			const path = join(blobs, `${hashBytes(text)}.txt`);
			writeFileSync(path, text);
			utimesSync(path, longAgo, longAgo);
		};
		addForgotten("at the start");
		await pi.restart();
		await vi.waitFor(() => expect(blobNames()).toHaveLength(1), PATIENCE);
		addForgotten("later");
		await started.readNew();
		expect(blobNames()).toHaveLength(2);
		pause();
		await started.readNew();
		await vi.waitFor(
			() => expect(blobNames()).not.toContain(`${hashBytes("later")}.txt`),
			PATIENCE,
		);
	});

	test("is listed and purged by commands; without a user only with --yes", async () => {
		const answers: boolean[] = [];
		const started = await startPruning({
			uiContext: { confirm: async () => answers.shift() ?? false },
		});
		const { pi, blobNames } = started;
		expect(await started.ask("/kota purge-blobs")).toContain("nothing to delete");
		const old = await withOldRead(started);
		pause();
		await started.talk();
		expect(isStub(seen(pi, old.id))).toBe(true);
		const list = await started.ask("/kota blobs");
		expect(list).toMatch(/^1 text, 0\.0 MB of 250\.0 MB in /);
		expect(list).toContain(`8000 bytes  ${blobNames()[0]}`);
		answers.push(false, true);
		expect(await started.ask("/kota purge-blobs")).toBe("Nothing deleted.");
		expect(blobNames()).toHaveLength(1);
		expect(await started.ask("/kota purge-blobs")).toMatch(/^Deleted 1 text \(/);
		expect(blobNames()).toEqual([]);
	});

	test.each<[string, RegExp, (folder: string) => void]>([
		["is a file", /is not a folder/, (folder) => writeFileSync(folder, "x")],
		["is a link", /is a link/, (folder) => symlinkSync(tempDir(), folder)],
		[
			"is of a newer version",
			/has version 9/,
			(folder) => {
				mkdirSync(folder);
				writeFileSync(join(folder, "version.json"), '{"store":"blobs","version":9}');
				writeFileSync(join(folder, `${hashBytes("x")}.txt`), "x");
			},
		],
		[
			"has somebody else's file in it",
			/"precious" is not of this store/,
			(folder) => {
				mkdirSync(folder);
				writeFileSync(join(folder, "precious"), "x");
			},
		],
	])("%s: the commands say so, and not that it is empty", async (_, reason, spoil) => {
		const started = await startPruning();
		spoil(started.blobs);
		expect(await started.ask("/kota blobs")).toMatch(reason);
		expect(await started.ask("/kota blobs")).not.toContain("0 texts");
		expect(await started.ask("/kota purge-blobs --yes")).toMatch(reason);
		expect(await started.ask("/kota purge-blobs --yes")).toMatch(/^Nothing deleted: /);
	});

	test("is not purged without a word where nobody can be asked", async () => {
		const started = await startPruning({ mode: "json" });
		await withOldRead(started);
		pause();
		await started.talk();
		expect(await started.ask("/kota purge-blobs")).toMatch(/^Nothing deleted: .*--yes/);
		expect(started.blobNames()).toHaveLength(1);
		expect(await started.ask("/kota purge-blobs --yes")).toMatch(/^Deleted 1 text \(/);
	});
});

/** An extension that drops what others want to put into the session. */
function greedyWhile(isGreedy: () => boolean) {
	return extension("greedy", (api) => {
		api.on("turn_end", () => (isGreedy() ? { entries: [] } : undefined));
	});
}

/** What the session has for a call now, context edits applied. */
function projected(pi: PiHarness, id: string): string {
	const message = pi.sessionManager
		.buildSessionProjection()
		.messages.find((found) => found.role === "toolResult" && found.toolCallId === id);
	const [block] = (message as { content: { text: string }[] }).content;
	return block?.text ?? "";
}

/** What the model gets for reading a path. */
async function reading(pi: PiHarness, path: string, id: string): Promise<string> {
	await pi.run("read it", [{ tool: "read", args: { path }, id }, "done"]);
	return pi.textOf(id);
}
