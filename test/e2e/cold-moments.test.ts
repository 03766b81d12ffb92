/** Expired caches, lifetimes and compactions, in real pi and against a provider with a cache of its own. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Message } from "@earendil-works/pi-ai";
import { describe, expect, test, vi } from "vitest";
import strata from "../../src/extension/index.ts";
import {
	FREE_MODEL,
	type LoopbackAnthropic,
	type LoopbackScriptStep,
	startLoopbackAnthropic,
} from "../support/loopback-anthropic.ts";
import { openLoopbackSession } from "../support/loopback-session.ts";
import { startPi } from "../support/pi-session.ts";
import { strataExtension } from "../support/read-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const MINUTE = 60_000;
const COST = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };

interface Options {
	settings?: Record<string, object>;
	/** Whether our extension is there. */
	isLoaded?: boolean;
	/** Begins of the choices that the user takes. */
	answers?: string[];
	compat?: Record<string, unknown>;
}

/** A session whose clock the test moves, for pi, our extension and the provider alike. */
async function start(options: Options = {}) {
	const { settings = {}, isLoaded = true, answers = [] } = options;
	let nowMs = 1_800_000_000_000;
	const clock = vi.spyOn(Date, "now").mockImplementation(() => nowMs++);
	atEnd(() => clock.mockRestore());
	const loop = await startLoopbackAnthropic({ cache: { minTokens: 64 }, now: () => nowMs });
	atEnd(() => loop.close());
	const folder = tempDir();
	writeFileSync(
		join(folder, "strata.json"),
		JSON.stringify({ blobs: { dir: join(tempDir(), "blobs") }, ...settings }),
	);
	for (const name of ["a.txt", "b.txt"]) {
		const lines = Array.from({ length: 1700 }, (_, at) => `line ${at} of the file ${name}\n`);
		writeFileSync(join(folder, name), lines.join(""));
	}
	const questions: string[] = [];
	const notices: string[] = [];
	const editor: string[] = [];
	const editorText = { now: "" };
	const compat = { supportsLongCacheRetention: true, ...options.compat };
	const session = await openLoopbackSession({
		loop,
		folder,
		model: { id: FREE_MODEL, cost: COST, compat },
		extensions: isLoaded ? [{ name: "strata", factory: strata }] : [],
		keepRecentTokens: 1,
		mode: "tui",
		uiContext: {
			notify: (message) => void notices.push(message),
			setStatus: () => {},
			getEditorText: () => editorText.now,
			setEditorText: (text) => void editor.push(text),
			select: async (title, choices) => {
				questions.push(title);
				const wanted = answers.shift() ?? "no answer";
				return choices.find((choice) => choice.startsWith(wanted));
			},
		},
	});
	const wait = (minutes: number) => {
		nowMs += minutes * MINUTE;
	};
	return { loop, session, folder, questions, notices, editor, editorText, wait };
}

const reads = (path: string): LoopbackScriptStep => ({
	content: [{ type: "tool_use", id: path.replace(".", "_"), name: "read", input: { path } }],
});

function textsOf({ requests }: LoopbackAnthropic): string[] {
	return requests.map(({ body }) => JSON.stringify(body));
}

describe("a prompt after the cache has expired", () => {
	const ASK = { economy: { coldThreshold: 0.01 } };

	test("goes back to the editor after a compaction, though pi sends another one meanwhile", {
		tags: "slow",
	}, async () => {
		const { loop, session, questions, editor, editorText, wait } = await start({
			settings: ASK,
			answers: ["Compact"],
		});
		loop.script([reads("a.txt"), reads("b.txt"), "Read.", "A summary.", "Queued.", "Sent."]);
		await session.prompt("read a.txt");
		expect(questions).toEqual([]);
		wait(10);
		// As pi's terminal does with prompts that it queued during the compaction.
		let queued: Promise<void> | undefined;
		session.subscribe(({ type }) => {
			if (type === "compaction_end") queued = session.prompt("a queued prompt");
		});
		editorText.now = "typed since";
		await session.prompt("go on");
		await queued;
		expect(questions).toEqual([expect.stringMatching(/pays for [\d,]+ tokens again/)]);
		expect(editor).toEqual(["go on\ntyped since"]);
		const afterIt = textsOf(loop).at(-1) ?? "";
		expect(afterIt.includes("A summary.") && afterIt.includes("a queued prompt")).toBe(true);
		await session.prompt("go on");
		const sent = textsOf(loop).at(-1) ?? "";
		expect(sent.includes("A summary.") && sent.includes("go on")).toBe(true);
		expect(sent.includes("line 7 of the file")).toBe(false);
		expect(questions).toHaveLength(1);
	});

	test("goes back to the editor if the user does not choose; then it is sent without a question", async () => {
		const { loop, session, questions, editor, wait } = await start({ settings: ASK });
		loop.script([reads("a.txt"), "Read.", "Sent."]);
		await session.prompt("read a.txt");
		wait(10);
		await session.prompt("go on");
		expect(editor).toEqual(["go on"]);
		expect(loop.requests).toHaveLength(2);
		await session.prompt("go on");
		expect(loop.requests).toHaveLength(3);
		expect(questions).toHaveLength(1);
	});

	test("is pruned unless the user wants everything sent", { tags: "slow" }, async () => {
		const settings = { ...ASK, prune: { keepRecentTurns: 1 }, birth: { mode: "off" } };
		for (const [answer, isWhole] of [
			["Prune", false],
			["Send", true],
		] as const) {
			const { loop, session, wait } = await start({ settings, answers: [answer] });
			loop.script([reads("a.txt"), "Read.", "Sent."]);
			await session.prompt("read a.txt");
			wait(10);
			await session.prompt("go on");
			expect(textsOf(loop).at(-1)?.includes("line 7 of the file")).toBe(isWhole);
		}
	});
});

describe("the lifetime of prompts", () => {
	/** A file, short prompts, and a pause of 20 minutes after them. */
	async function play(options: Options) {
		const started = await start({
			...options,
			settings: { ...options.settings, prune: { enabled: false } },
		});
		const { loop, session, wait } = started;
		loop.script([
			reads("a.txt"),
			"Read.",
			...Array.from({ length: 5 }, (_, at) => `Answer ${at}.`),
		]);
		await session.prompt("read a.txt");
		for (let at = 0; at < 4; at++) await session.prompt(`and ${at}?`);
		wait(20);
		await session.prompt("still there?");
		const spent = loop.requests.reduce((sum, { usage }) => {
			const { input = 0, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0 } = usage ?? {};
			return sum + input + 0.1 * cacheRead + 1.25 * cacheWrite + 0.75 * cacheWrite1h;
		}, 0);
		return { ...started, spent };
	}
	const quiet = (ttl: string) => ({ economy: { coldNotice: "off", ttl } });

	test("is chosen by price: a pause costs little, and the provider refuses no request", {
		tags: "slow",
	}, async () => {
		const own = await play({ settings: quiet("off") });
		const auto = await play({ settings: quiet("auto") });
		expect(auto.loop.requests.every(({ usage }) => usage)).toBe(true);
		expect(auto.spent).toBeLessThan(0.8 * own.spent);
		const after = auto.loop.requests.at(-1)?.usage;
		expect(after?.cacheRead).toBeGreaterThan(5 * (after?.cacheWrite ?? 0));
		await auto.session.prompt("/strata cost");
		expect(JSON.stringify(auto.session.sessionManager.getEntries())).toMatch(
			/lifetime: \d+ prompts? cached for an hour, by price/,
		);
	});

	test("is asked for once if the provider refuses it", { tags: "slow" }, async () => {
		const { loop, session, wait } = await start({
			settings: { ...quiet("auto"), prune: { enabled: false } },
		});
		const message = "cache_control.ttl: Extra inputs are not permitted";
		const refusing: LoopbackScriptStep = (body) =>
			JSON.stringify(body).includes('"ttl":"1h"')
				? { error: { status: 400, type: "invalid_request_error", message } }
				: "Yes.";
		loop.script([reads("a.txt"), ...Array.from({ length: 20 }, () => refusing)]);
		await session.prompt("read a.txt");
		for (let at = 0; at < 8; at++) {
			await session.prompt(`and ${at}?`);
			if (at % 3 === 2) wait(20);
		}
		expect(textsOf(loop).filter((text) => text.includes('"ttl":"1h"'))).toHaveLength(1);
		await session.prompt("/strata cost");
		expect(JSON.stringify(session.sessionManager.getEntries())).toContain(
			"lifetime: the first prompt to be cached for an hour failed",
		);
	});

	test("is as the settings say", { tags: "slow" }, async () => {
		const long = await play({ settings: quiet("1h") });
		for (const text of textsOf(long.loop)) {
			const markers = text.match(/"cache_control":\{[^}]*\}/g);
			expect(new Set(markers)).toEqual(
				new Set(['"cache_control":{"type":"ephemeral","ttl":"1h"}']),
			);
		}
	});

	test("is pi's own if it is off, or if the service does not document another", {
		tags: "slow",
	}, async () => {
		const off = await play({ settings: quiet("off") });
		const undocumented = { supportsLongCacheRetention: false };
		const auto = await play({ settings: quiet("auto"), compat: undocumented });
		const long = await play({ settings: quiet("1h"), compat: undocumented });
		const bare = ({ loop, folder }: typeof off) =>
			textsOf(loop).map((text) => text.replaceAll(folder, ""));
		expect(bare(auto)).toEqual(bare(off));
		expect(bare(long)).toEqual(bare(off));
		expect(textsOf(off.loop).join("")).not.toContain('"ttl"');
	});
});

test("with everything off, every byte is that of pi alone, across pauses and a compaction", {
	tags: "slow",
}, async () => {
	const example = new URL("../../examples/pi-settings/off/strata.json", import.meta.url);
	const settings = JSON.parse(readFileSync(example, "utf8")) as Record<string, object>;
	const play = async (options: Options) => {
		const { loop, session, folder, questions, notices, wait } = await start(options);
		loop.script([
			reads("a.txt"),
			reads("b.txt"),
			"Read.",
			"Yes.",
			"A summary.",
			"And more.",
			"Yes.",
			"Yes.",
		]);
		await session.prompt("read both");
		wait(20);
		await session.prompt("still there?");
		await session.compact();
		await session.prompt("and now?");
		wait(90);
		await session.prompt("and in the end?");
		expect([...questions, ...notices]).toEqual([]);
		// Paging's line of the system prompt is there whether it is on or off.
		return textsOf(loop).map((text) =>
			text.replace(/\\n- read also takes https:[^\\]*/, "").replaceAll(folder, ""),
		);
	};
	const alone = await play({ isLoaded: false });
	expect(alone.length).toBeGreaterThan(6);
	expect(await play({ settings })).toEqual(alone);
});

describe("after a compaction", () => {
	const NOTE = "[strata: before the compaction";

	async function compacted(settings: object = {}) {
		const agentDir = tempDir();
		writeFileSync(
			join(agentDir, "strata.json"),
			JSON.stringify({ birth: { mode: "off" }, ...settings }),
		);
		const pi = await startPi({ extensions: [strataExtension], agentDir });
		for (const name of ["a.txt", "b.txt", "c.txt"]) pi.write(name, `text of ${name}\n`.repeat(90));
		const read = (id: string, path: string, more: object = {}) => ({
			tool: "read",
			args: { path, ...more },
			id,
		});
		await pi.run("read", [
			read("t1", "a.txt"),
			read("t2", "b.txt"),
			read("t3", "c.txt", { offset: 11, limit: 20 }),
			"Read.",
		]);
		await pi.compact();
		pi.write("b.txt", "other text\n");
		await pi.run("go on", ["Yes."]);
		return pi;
	}

	function notesIn(messages: readonly Message[]): string[] {
		return messages.flatMap(({ content }) =>
			[content].flat().flatMap((block) => {
				const text = typeof block === "string" ? block : block.type === "text" ? block.text : "";
				return text.includes(NOTE) ? [text.slice(text.indexOf(NOTE))] : [];
			}),
		);
	}

	test("the first prompt names the files that were in view and are unchanged, once", async () => {
		const pi = await compacted();
		const note =
			"[strata: before the compaction you saw these files, and they have not changed since: c.txt (lines 11-30 of 91), a.txt. Read again only what you still need.]";
		expect(notesIn(pi.lastContext())).toEqual([note]);
		await pi.run("and now?", ["Yes."]);
		expect(notesIn(pi.lastContext())).toEqual([note]);
	});

	test("a read of a file in the note returns its text", async () => {
		const pi = await compacted();
		await pi.run("read it", [{ tool: "read", args: { path: "a.txt" }, id: "t9" }, "Read."]);
		expect(pi.seenTextOf("t9")).toContain("text of a.txt\ntext of a.txt");
	});

	test.each([
		["the setting", { readcache: { compactionNote: false } }],
		["the read cache", { readcache: { mode: "off" } }],
		["all but measuring", { readcache: { mode: "shadow" } }],
	])("nothing is added if %s is off", async (_name, settings) => {
		const pi = await compacted(settings);
		expect(notesIn(pi.lastContext())).toEqual([]);
		expect(JSON.stringify(pi.sessionManager.getEntries())).not.toContain("strata-seen-files");
	});
});
