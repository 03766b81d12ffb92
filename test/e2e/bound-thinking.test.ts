/**
 * Models that bind thinking to the exact prefix, in real pi with every system on: the provider refuses or drops a
 * thinking block that does not stand behind what was sent when it was made.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { describe, expect, test, vi } from "vitest";
import { WORKSET_ENTRY } from "../../src/core/entry-types.ts";
import { selectionOf } from "../../src/workset/selection.ts";
import { type Slot, textOf } from "../readcache/law/oracle.ts";
import { expandedIn } from "../readcache/law/references.ts";
import {
	FREE_MODEL,
	type LoopbackAnthropic,
	type LoopbackReply,
	type LoopbackRequest,
} from "../support/loopback-anthropic.ts";
import type { LoopbackBody } from "../support/loopback-cache.ts";
import { someText } from "../support/pruning-session.ts";
import { tempDir } from "../support/temp.ts";
import { copiesIn, liveIn, startOnWire, type WireOptions } from "../support/workset-session.ts";

/** Pi asks for blocks to be dropped instead of an error, as it does for the real models. */
const DROPS = { compat: { supportsMidConvoEffort: true } };

/** With a user, so that commands leave their reports in the session. */
const start = (options: WireOptions = {}) =>
	startOnWire({ uiContext: { notify: () => {}, setStatus: () => {} }, ...options });

let calls = 0;
const call = (name: string, input: Record<string, unknown>): LoopbackReply => ({
	content: [{ type: "tool_use", id: `call_${++calls}`, name, input }],
});
const pause = (minutes: number) => vi.setSystemTime(Date.now() + minutes * 60_000);

/** Every request was accepted with all its thinking. */
function expectWhole(requests: readonly LoopbackRequest[]): void {
	for (const { usage, transformations } of requests) {
		expect(usage).toBeDefined();
		expect(transformations).toEqual([]);
	}
}

/** A session with old results in it: each turn reads a file of 2,000 tokens. */
async function readFiles(loop: LoopbackAnthropic, session: AgentSession, count: number) {
	for (let i = 0; i < count; i++) {
		loop.script([call("read", { path: `f${i}.txt` }), "read it"]);
		await session.prompt(`read f${i}.txt`);
	}
}

const prunedIn = (request: LoopbackRequest | undefined) =>
	(request?.raw ?? "").split("(Pruned) read").length - 1;

describe("pruning", () => {
	test("leaves results alone that thinking stands behind, in a cold cache and a full window too", {
		tags: "slow",
	}, async () => {
		const { loop, session, write } = await start({ model: { contextWindow: 40_000 } });
		for (let i = 0; i < 16; i++) write(`f${i}.txt`, someText(i, 8000));
		await readFiles(loop, session, 12);
		pause(120);
		await readFiles(loop, session, 16);
		expectWhole(loop.requests);
		expect(prunedIn(loop.requests.at(-1))).toBe(0);
		expect(await reportOf(session, "/kota pruning")).toMatch(
			/kept: \d+ old results, because the model's thinking is bound/,
		);
	});

	test("replaces what a compaction kept in the very next request, and nothing after that", {
		tags: "slow",
	}, async () => {
		const { loop, session, write } = await start({
			model: DROPS,
			prune: { keepRecentTurns: 0 },
		});
		for (let i = 0; i < 40; i++) write(`f${i}.txt`, someText(i, 8000));
		await readFiles(loop, session, 16);
		expectWhole(loop.requests);
		await compact(loop, session);
		const before = loop.requests.length;
		loop.script(["after the compaction", "and on"]);
		await session.prompt("go on");
		const pruned = prunedIn(loop.requests.at(-1));
		expect(pruned).toBeGreaterThan(0);
		// The thinking that the compaction kept is dropped, with pi alone too.
		expect(loop.requests.at(-1)?.transformations?.length).toBeGreaterThan(0);
		pause(120);
		await session.prompt("go on");
		await readFiles(loop, session, 4);
		for (const request of loop.requests.slice(before)) expect(prunedIn(request)).toBe(pruned);
	});

	test("shows its stubs also to a session that goes on from the first answer behind them", {
		tags: "slow",
	}, async () => {
		const { loop, session, write } = await start({ model: DROPS, prune: { keepRecentTurns: 0 } });
		for (let i = 0; i < 16; i++) write(`f${i}.txt`, someText(i, 8000));
		await readFiles(loop, session, 16);
		await compact(loop, session);
		loop.script(["after the compaction", "and on", "another way"]);
		await session.prompt("go on");
		const pruned = prunedIn(loop.requests.at(-1));
		expect(pruned).toBeGreaterThan(0);
		await goBackToAnswer(loop, session);
		expect(prunedIn(loop.requests.at(-1))).toBe(pruned);
	});

	test("leaves results alone on another model, while the user may go back to the one that thought", {
		tags: "slow",
	}, async () => {
		const { loop, session, write } = await start();
		for (let i = 0; i < 12; i++) write(`f${i}.txt`, someText(i, 8000));
		await readFiles(loop, session, 10);
		await use(session, FREE_MODEL);
		pause(120);
		loop.script(["another", "still"]);
		await session.prompt("go on");
		expect(prunedIn(loop.requests.at(-1))).toBe(0);
		await use(session, "claude-loop");
		await session.prompt("go on");
		expectWhole(loop.requests);
	});
});

describe("the working set", () => {
	test("appends a file each time it changes, and moves nothing", { tags: "slow" }, async () => {
		const { loop, session, write } = await start();
		await session.prompt("/workset add a.ts b.ts c.ts");
		const texts: Record<string, string> = {};
		for (let turn = 0; turn < 8; turn++) {
			const content = someText(500 + turn, 3000);
			loop.script([call("write", { path: "a.ts", content }), "written"]);
			texts["a.ts"] = content;
			if (turn === 4) pause(120);
			if (turn % 3 === 1) {
				texts["b.ts"] = someText(700 + turn, 3000);
				write("b.ts", texts["b.ts"]);
			}
			await session.prompt("go on");
		}
		expectWhole(loop.requests);
		const sent = loop.requests.map(({ body }) => copiesIn(body.messages as never));
		for (const [at, copies] of sent.entries()) {
			expect(sent[at + 1]?.slice(0, copies.length) ?? copies).toEqual(copies);
		}
		expect(liveIn(loop.requests.at(-1)?.body.messages as never)).toMatchObject(texts);
		expect(loop.requests.at(-1)?.raw).not.toContain("Working files as they are at this moment");
		expect(await reportOf(session, "/tiers")).toContain("kept until a compaction");
	});

	test("gathers the files in one place right after a compaction", { tags: "slow" }, async () => {
		const { loop, session } = await start({ model: DROPS, keepRecentTokens: 100 });
		await session.prompt("/workset add a.ts b.ts");
		for (let turn = 0; turn < 3; turn++) {
			const content = someText(500 + turn, 3000);
			loop.script([call("write", { path: "a.ts", content }), "written"]);
			await session.prompt("go on");
		}
		expect(copiesIn(loop.requests.at(-1)?.body.messages as never)).toHaveLength(5);
		await compact(loop, session);
		loop.script(["on"]);
		await session.prompt("go on");
		const copies = copiesIn(loop.requests.at(-1)?.body.messages as never);
		expect(copies.map(({ path }) => path).sort()).toEqual(["a.ts", "b.ts"]);
		expect(copies.find(({ path }) => path === "a.ts")?.text).toBe(someText(502, 3000));
	});

	test("is gathered also for a session that goes on from the first answer behind it", {
		tags: "slow",
	}, async () => {
		const { loop, session } = await start({ model: DROPS, keepRecentTokens: 6000 });
		await session.prompt("/workset add a.ts b.ts");
		for (let turn = 0; turn < 6; turn++) {
			const content = someText(500 + turn, 3000);
			loop.script([call("write", { path: "a.ts", content }), "written"]);
			await session.prompt("go on");
		}
		await compact(loop, session);
		loop.script(["after the compaction", "and on", "another way"]);
		await session.prompt("go on");
		await goBackToAnswer(loop, session);
		expect(copiesIn(loop.requests.at(-1)?.body.messages as never)).toHaveLength(2);
	});

	test("shows a file that changed while a failed request waited for its retry", async () => {
		const { loop, session, write } = await start();
		await session.prompt("/workset add a.ts");
		loop.script([
			"one",
			() => {
				write("a.ts", someText(999, 3000));
				return { error: { status: 529, type: "overloaded_error", message: "Overloaded" } };
			},
			"two",
			"three",
		]);
		for (const prompt of ["first", "second", "third"]) await session.prompt(prompt);
		const accepted = loop.requests.filter(({ usage }) => usage);
		expect(accepted).toHaveLength(3);
		expectWhole(accepted);
		expect(liveIn(accepted[1]?.body.messages as never)).toEqual({ "a.ts": someText(999, 3000) });
	});

	test.each([
		["binds", DROPS],
		["does not bind", { id: FREE_MODEL }],
	])(
		"asks for no answer after a compaction at the end of a run, if the model %s",
		{ tags: "slow" },
		async (_, model) => {
			const { loop, session } = await start({
				model: { ...model, contextWindow: 36_000 },
				keepRecentTokens: 100,
			});
			session.setAutoCompactionEnabled(true);
			await session.prompt("/workset add a.ts");
			loop.script(["one", "two", "a summary", "three"]);
			await session.prompt("first");
			await session.prompt(someText(5, 80_000));
			expect(loop.requests).toHaveLength(3);
			await session.prompt("third");
			expect(loop.requests).toHaveLength(4);
			expect(copiesIn(loop.requests.at(-1)?.body.messages as never)).toHaveLength(1);
		},
	);

	test("is shown once after a compaction for a prompt that was too long", async () => {
		const { loop, session, write } = await start({ model: DROPS, keepRecentTokens: 100 });
		session.setAutoCompactionEnabled(true);
		await session.prompt("/workset add a.ts b.ts");
		const tooLong = () => {
			write("a.ts", someText(996, 3000));
			return failure(400, "invalid_request_error", "prompt is too long");
		};
		loop.script(["one", tooLong, "a summary", "two"]);
		await session.prompt("first");
		await session.prompt("second");
		expect(loop.requests).toHaveLength(4);
		const copies = copiesIn(loop.requests.at(-1)?.body.messages as never);
		expect(copies.map(({ path }) => path).sort()).toEqual(["a.ts", "b.ts"]);
		expect(copies).toContainEqual({ path: "a.ts", text: someText(996, 3000) });
	});

	test("shows a file that changed before a follow-up message of the user", async () => {
		const { loop, session, write } = await start();
		await session.prompt("/workset add a.ts");
		loop.script([
			() => {
				write("a.ts", someText(998, 3000));
				void session.followUp("and then?");
				return "one";
			},
			"two",
		]);
		await session.prompt("first");
		expectWhole(loop.requests);
		expect(liveIn(loop.requests.at(-1)?.body.messages as never)).toEqual({
			"a.ts": someText(998, 3000),
		});
	});

	test("asks for no answer of its own when the user steers a run that is retried", async () => {
		const { loop, session, write } = await start();
		await session.prompt("/workset add a.ts");
		loop.script([
			() => {
				write("a.ts", someText(997, 3000));
				void session.steer("wait");
				return failure(529, "overloaded_error", "Overloaded");
			},
			"two",
		]);
		await session.prompt("first");
		expect(loop.requests).toHaveLength(2);
		expect(liveIn(loop.requests.at(-1)?.body.messages as never)).toEqual({
			"a.ts": someText(997, 3000),
		});
	});

	test("has the log in place of the literal layout, which changes the beginning", async () => {
		const { loop, session, write } = await start({ tiers: { layout: "tiers" } });
		await session.prompt("/workset add a.ts b.ts");
		loop.script(["one", "two", "three"]);
		await session.prompt("first");
		write("a.ts", someText(321, 3000));
		await session.prompt("second");
		await session.prompt("third");
		expectWhole(loop.requests);
		expect(liveIn(loop.requests.at(-1)?.body.messages as never)).toMatchObject({
			"a.ts": someText(321, 3000),
		});
	});
});

test("/strata cost counts the requests from which the provider dropped thinking", async () => {
	const { loop, session } = await start({ model: DROPS });
	loop.script(["one", "two", "three"]);
	await session.prompt("first");
	await session.prompt("second");
	session.setActiveToolsByName(["read"]);
	await session.prompt("third");
	expect(loop.requests.at(-1)?.transformations).toHaveLength(2);
	expect(await reportOf(session, "/strata cost")).toContain(
		"thinking: in 1 request, the provider dropped thinking blocks of earlier answers (2 in the latest request)",
	);
});

/** `STRATA_BOUND_SEEDS=200` plays more. */
const SEEDS = Array.from(
	{ length: Number(process.env.STRATA_BOUND_SEEDS ?? 6) },
	(_, at) => at + 1,
);

describe("random sessions with every system on", () => {
	test.each(SEEDS)(
		"lose no thinking but to compactions (seed %i)",
		{ tags: "slow" },
		async (seed) => {
			await playRandomSession(seed, 16);
		},
	);

	test("some of their results refer to others", { tags: "slow" }, () => {
		expect(references.seen).toBeGreaterThan(0);
	});
});

const lines = (number: number, count: number) =>
	Array.from({ length: count }, (_, at) => `text ${number} has line ${at} of its own`).join("\n");

/** References that the provider was sent, each time that it was. */
const references = { seen: 0 };

/** The references of a request to lines that it does not have. */
function danglingIn({ messages }: LoopbackBody): string[] {
	const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
	const slots: Slot[] = [];
	const dangling: string[] = [];
	for (const { type, id, name, input, tool_use_id: toolCallId, content } of blocks) {
		if (type === "tool_use") {
			const calls = [{ type: "toolCall", id, name, arguments: input }];
			slots.push({ entryId: "", message: { role: "assistant", content: calls } });
		}
		if (type !== "tool_result") continue;
		const text = textOf(content) ?? "";
		for (const line of text.split("\n").filter((one) => one.startsWith("[strata: lines "))) {
			references.seen++;
			if (expandedIn(line, slots) === undefined) dangling.push(line);
		}
		const message = { role: "toolResult", toolCallId, content };
		slots.push({ entryId: "", message });
	}
	return dangling;
}

async function playRandomSession(seed: number, prompts: number): Promise<void> {
	const random = randomOf(seed);
	const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
	const folder = tempDir();
	const { loop, session, write } = await start({
		folder,
		model: { ...DROPS, contextWindow: pick([36_000, 200_000]) },
		prune: { enabled: random() < 0.9, keepRecentTurns: pick([0, 2]) },
		tiers: { layout: pick(["log", "log", "tiers"]) },
		keepRecentTokens: pick([100, 4000]),
		tools: ["read", "edit", "write", "bash"],
	});
	for (let i = 0; i < 8; i++) write(`f${i}.txt`, someText(i, 6000));
	const files = ["a.ts", "b.ts", "c.ts", "f0.txt", "f1.txt", "f2.txt", "f3.txt"];
	/** New text, or text that other files have too, so that results refer to each other. */
	const someContent = () =>
		random() < 0.5
			? someText(Math.floor(random() * 1e6), 3000)
			: `${pick(["one", "two", "three"])}\n${lines(pick([1, 2]), 60)}`;
	const change = () => write(pick(files), someContent());
	/** How many requests there were at each compaction. */
	const compactions: number[] = [];
	session.subscribe((event) => {
		if (event.type === "compaction_end" && event.result) compactions.push(loop.requests.length);
	});
	session.setAutoCompactionEnabled(random() < 0.5);

	/** What the model still does in this run, and messages of the user that wait for it. */
	let steps: (() => LoopbackReply)[] = [];
	let waiting = 0;
	const someStep = (): LoopbackReply => {
		if (random() < 0.3) change(); // somebody else, while the request is in flight
		const dice = random();
		if (dice < 0.04) {
			setImmediate(() => void session.abort());
			return { hang: true };
		}
		if (dice < 0.06) return failure(529, "overloaded_error", "Overloaded");
		if (dice < 0.08) return failure(400, "invalid_request_error", "prompt is too long");
		if (dice < 0.2) {
			waiting++;
			void (random() < 0.5 ? session.steer("wait") : session.followUp("and then"));
		}
		if (dice < 0.5) return call("read", { path: pick(files) });
		if (dice < 0.75) return call("bash", { command: `cat ${pick(files)}` });
		return call("write", { path: pick(files), content: someContent() });
	};
	const answer = (body: LoopbackBody): LoopbackReply => {
		if (JSON.stringify(body.system).includes("context summarization")) return "a summary";
		for (const line of danglingIn(body)) {
			faults.push(`request ${loop.requests.length - 1} does not show what this means: ${line}`);
		}
		if (waiting === 0) {
			for (const path of outdatedIn(body, session, folder)) {
				faults.push(`request ${loop.requests.length - 1} shows ${path} as it was`);
			}
		}
		const step = steps.shift();
		if (step) return step();
		if (waiting-- > 0) return "that, too";
		faults.push(`request ${loop.requests.length - 1} has no reason`);
		return "why?";
	};
	const faults: string[] = [];
	const goTo = (entry?: { id: string }) => entry && session.navigateTree(entry.id).catch(() => {});
	const acts: (() => unknown)[] = [
		change,
		() => pause(6),
		() => pause(120),
		() => session.prompt(`/workset add ${pick(files)} ${pick(files)}`),
		() => session.prompt(`/workset drop ${pick(files)}`),
		() => session.prompt("/workset clear"),
		() => use(session, FREE_MODEL),
		() => use(session, "claude-loop"),
		() => session.prompt("/kota pin"),
		() => session.reload(),
		// Pi refuses to compact what is too short.
		() => compact(loop, session).catch(() => {}),
		() => goTo(pick(session.sessionManager.getEntries())),
		() => goTo(pick(answersIn(session))),
	];

	for (let turn = 0; turn < prompts; turn++) {
		for (let times = Math.floor(random() * 3); times > 0; times--) await pick(acts)();
		steps = [...Array.from({ length: Math.floor(random() * 4) }, () => someStep), () => "done"];
		waiting = 0;
		loop.script(Array.from({ length: 40 }, () => answer));
		await session.prompt(`turn ${turn}`);
		loop.clearScript();
		session.clearQueue();
	}

	expect(faults).toEqual([]);
	const madeBy = new Map(
		loop.requests.flatMap(({ signatures = [] }, at) => signatures.map((one) => [one, at] as const)),
	);
	for (const [at, { misplaced = [] }] of loop.requests.entries()) {
		for (const signature of misplaced) {
			const made = madeBy.get(signature) ?? -1;
			const isCompacted = compactions.some((count) => made < count && count <= at);
			expect(isCompacted, `request ${at} lost the thinking of request ${made}`).toBe(true);
		}
	}
}

function failure(status: number, type: string, message: string): LoopbackReply {
	return { error: { status, type, message } };
}

function answersIn({ sessionManager }: AgentSession) {
	return sessionManager
		.getBranch()
		.filter((entry) => entry.type === "message" && entry.message.role === "assistant");
}

/** The working files that a request to a model that binds does not show as they are. */
function outdatedIn(
	{ model, messages }: LoopbackBody,
	{ sessionManager }: AgentSession,
	folder: string,
): string[] {
	if (model === FREE_MODEL) return [];
	const changes = sessionManager
		.getBranch()
		.flatMap((entry) =>
			entry.type === "custom" && entry.customType === WORKSET_ENTRY ? [entry.data] : [],
		);
	const live = liveIn(messages);
	return selectionOf(changes).paths.filter(
		(path) => live[path] !== readFileSync(join(folder, path), "utf8"),
	);
}

/** Goes on, and then from the last answer again, in a pi that was started again. That answer's thinking is still valid. */
async function goBackToAnswer(loop: LoopbackAnthropic, session: AgentSession): Promise<void> {
	const [thinking] = loop.requests.at(-1)?.signatures ?? [];
	const answer = answersIn(session).at(-1);
	await session.prompt("go on");
	await session.navigateTree(answer?.id ?? "");
	await session.reload();
	await session.prompt("another question");
	expect(loop.requests.at(-1)?.raw).toContain(thinking);
	expect(loop.requests.at(-1)?.misplaced).not.toContain(thinking);
}

/** A compaction asks once or twice. */
async function compact(loop: LoopbackAnthropic, session: AgentSession): Promise<void> {
	loop.script(["a summary", "more of it"]);
	await session.compact().finally(() => loop.clearScript());
}

async function use(session: AgentSession, id: string): Promise<void> {
	const model = session.modelRuntime.getModel("loop", id);
	if (!model) throw new Error(`no model ${id}`);
	await session.setModel(model);
}

/** What a command reports. */
async function reportOf(session: AgentSession, line: string): Promise<string> {
	const seen = session.sessionManager.getEntries().length;
	await session.prompt(line);
	return session.sessionManager
		.getEntries()
		.slice(seen)
		.flatMap((entry) => (entry.type === "custom" ? [JSON.stringify(entry.data)] : []))
		.join("\n");
}

/** Small and repeatable: mulberry32. */
function randomOf(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
	};
}
