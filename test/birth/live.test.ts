import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CallResult, expand } from "../../src/birth/index.ts";
import { INVALIDATION_ENTRY } from "../../src/core/entry-types.ts";
import { hashBytes } from "../../src/core/hash.ts";
import { shortenedOf } from "../../src/session/index.ts";
import { appendCalls, appendResult, resultsOf } from "../session/sessions.ts";
import { tempDir } from "../support/temp.ts";
import { type Answered, startBirth } from "./live-session.ts";
import { output } from "./results.ts";

const TEXT = output(40).join("\n");
const read = (id: string, text = TEXT, path = "a.ts", more = {}): Answered => ({
	id,
	args: { path },
	text,
	more,
});
const bash = (id: string, text = TEXT, command = `cat ${id}`, more = {}): Answered => ({
	id,
	tool: "bash",
	args: { command },
	text,
	more,
});
const isShort = (text: string | undefined) => text?.startsWith("[strata: lines ") === true;
const storedIn = (folder: string) =>
	existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".txt")) : [];

describe("a result that repeats lines in view", () => {
	test("refers to them, and names the file with its exact text", async () => {
		const { turn, ledger, session, blobDir } = startBirth();
		await turn(read("r1"));
		const text = `first\n${TEXT}\nlast`;
		const [shown = ""] = await turn(bash("b1", text));
		const path = join(blobDir, `${hashBytes(text)}.txt`);
		expect(shown.split("\n")).toEqual([
			"first",
			`[strata: lines 1-40 of the output of \`read a.ts\` above, unchanged; full text: read ${path}]`,
			"last",
		]);
		expect(readFileSync(path, "utf8")).toBe(text);
		const [, item] = resultsOf(ledger.log(session));
		if (!item) throw new Error("no second result");
		expect(shortenedOf(item)).toMatchObject({
			original: hashBytes(text),
			savedChars: text.length - shown.length,
			references: [{ line: 2, base: "r1", first: 1, last: 40 }],
		});
		expect(ledger.fullText(item)).toBe(text);
	});

	test("keeps the details of its tool", async () => {
		const { turn, ledger, session } = startBirth();
		await turn(read("r1"));
		await turn(bash("b1", TEXT, "cat a.ts", { details: { exitCode: 0 } }));
		expect(resultsOf(ledger.log(session))[1]?.details).toMatchObject({
			exitCode: 0,
			birth: { v: 1 },
		});
	});

	test("keeps its structured content, which scripts and interfaces read in place of the text", async () => {
		const { turn, shorten } = startBirth();
		await turn(read("r1"));
		const structuredContent = { output: TEXT, exit_code: 0 };
		const changed = await shorten(bash("b1", TEXT, "cat a.ts", { structuredContent }));
		expect(isShort(changed?.content[0]?.text)).toBe(true);
		expect(changed?.structuredContent).toBe(structuredContent);
		expect(await shorten(bash("b2"))).not.toHaveProperty("structuredContent");
	});

	test("can refer to what stands in another shortened result", async () => {
		const { turn } = startBirth();
		const more = output(30, "other").join("\n");
		await turn(read("r1"));
		await turn(bash("b1", `${TEXT}\n${more}`));
		const [shown = ""] = await turn(bash("b2", more));
		expect(shown).toMatch(/^\[strata: lines 2-31 of the output of `bash cat b1` above/);
	});

	test("output of a command is made quiet, unless the settings name the command", async () => {
		const log = ["start", ...Array(60).fill("waiting for the server to start"), ...output(30)];
		const { turn } = startBirth({ birth: { quietExcept: ["npm *", "make"] } });
		const [shown = ""] = await turn(bash("b1", log.join("\n"), "cargo build"));
		expect(shown).toContain("[strata: 59 more lines equal to the line above; exact output: read ");
		const loud = await turn(
			bash("b2", log.slice(0, 40).join("\n"), "npm test"),
			bash("b3", log.slice(0, 40).join("\n"), " make "),
		);
		expect(loud.map((text) => text.includes("equal to the line above"))).toEqual([false, false]);
		const off = startBirth({ birth: { quiet: "off" } });
		expect(await off.turn(bash("b1", log.join("\n"), "cargo build"))).toEqual([log.join("\n")]);
	});
});

describe("a result stays as it is", () => {
	const cases: [string, Answered][] = [
		["an error", bash("x", TEXT, "cat", { isError: true })],
		["the result of a nested call", bash("x/1", TEXT)],
		["the result of a call of a script", bash("x", TEXT, "cat", { parentToolCallId: "p" })],
		[
			"with a picture",
			bash("x", TEXT, "cat", {
				content: [
					{ type: "text", text: TEXT },
					{ type: "image", data: "", mimeType: "image/png" },
				],
			}),
		],
		[
			"with two texts",
			bash("x", TEXT, "cat", { content: Array(2).fill({ type: "text", text: TEXT }) }),
		],
		["with details of an unknown form", bash("x", TEXT, "cat", { details: ["a"] })],
		["of a command that names an excluded file", bash("x", TEXT, "cat .env")],
		["of an excluded file", read("x", TEXT, "secrets.json")],
		["with a line that looks like a reference", bash("x", `[strata: lines 1-2 of a\n${TEXT}`)],
	];

	test.each(cases)("%s", async (_, call) => {
		const { turn, shorten, blobDir } = startBirth();
		await turn(read("r1"));
		expect(await shorten(call)).toBeUndefined();
		expect(storedIn(blobDir)).toEqual([]);
		expect(await shorten(bash("y"))).toBeDefined();
	});

	test("if it is a marker or diff of the read cache", async () => {
		const hash = hashBytes(TEXT);
		const readcache = {
			v: 1,
			pathKey: "/a.ts",
			scopeKey: "full",
			servedHash: hash,
			baseHash: hash,
			mode: "diff",
			totalLines: 40,
			rangeStart: 1,
			rangeEnd: 40,
			bytes: 10,
		};
		const { turn } = startBirth();
		await turn(read("r1"));
		expect(await turn(read("r2", TEXT, "a.ts", { details: { readcache } }))).toEqual([TEXT]);
	});

	test("if the model reads the stored text, by any spelling of its path", async () => {
		const { turn, blobDir } = startBirth();
		await turn(read("r1"));
		await turn(bash("b1"));
		const [name = ""] = storedIn(blobDir);
		const path = join(blobDir, name);
		for (const [at, written] of [path, `@${path}`, `${path}:1-40`, `page:;;;${path}`].entries()) {
			expect(await turn(read(`p${at}`, TEXT, written))).toEqual([TEXT]);
		}
	});

	test("if a command names the stored text", async () => {
		const { turn, blobDir } = startBirth();
		await turn(read("r1"));
		await turn(bash("b1"));
		const [name = ""] = storedIn(blobDir);
		expect(await turn(bash("b2", TEXT, `cat ${join(blobDir, name)}`))).toEqual([TEXT]);
		expect(await turn(bash("b3", TEXT, `cd ${blobDir} && sed -n 1,40p ${name}`))).toEqual([TEXT]);
	});

	test("if another call of the same answer has the name that it would refer to", async () => {
		const { turn } = startBirth();
		await turn(read("r1"));
		const [first, second] = await turn(read("r2"), read("r3"));
		expect([first, second]).toEqual([TEXT, TEXT]);
		const shown = await turn(read("r4", TEXT, "b.ts"), read("r5", TEXT, "c.ts"));
		expect(shown.map(isShort)).toEqual([true, true]);
	});

	test("if it holds a secret of the project, and so does what could refer to one", async () => {
		const cwd = tempDir();
		const secret = "hunter2-hunter2-hunter2";
		writeFileSync(join(cwd, ".env"), `PASSWORD=${secret}\n`);
		const { turn, blobDir } = startBirth({ cwd });
		const text = `${TEXT}\n${secret}`;
		await turn(read("r1", text));
		expect(await turn(bash("b1", text))).toEqual([text]);
		expect(await turn(bash("b2"))).toEqual([TEXT]);
		expect(storedIn(blobDir)).toEqual([]);
	});

	test("if its lines were read again at the model's wish", async () => {
		const { turn, session } = startBirth();
		await turn(read("r1"));
		session.appendCustomEntry(INVALIDATION_ENTRY, { v: 1, kind: "invalidate" });
		expect(await turn(read("r2", TEXT, "b.ts"))).toEqual([TEXT]);
		expect((await turn(read("r3", TEXT, "c.ts"))).map(isShort)).toEqual([true]);
	});

	test.each([
		["the store is off", { blobs: { enabled: false } }],
		["only output of kota is stored", { blobs: { scope: "kota" as const } }],
	])("if %s", async (_, options) => {
		const { turn, blobDir } = startBirth(options);
		await turn(read("r1"));
		expect(await turn(bash("b1"))).toEqual([TEXT]);
		expect(storedIn(blobDir)).toEqual([]);
	});

	test("if the store cannot be written, and the reason is known", async () => {
		const file = join(tempDir(), "file");
		writeFileSync(file, "");
		const { turn, live } = startBirth({ blobDir: join(file, "blobs") });
		await turn(read("r1"));
		expect(await turn(bash("b1"))).toEqual([TEXT]);
		expect(live.lastFailure).toBeDefined();
	});

	test("in shadow mode, where its savings are counted", async () => {
		const real = startBirth();
		const blobDir = real.blobDir;
		const shadow = startBirth({ birth: { mode: "shadow" } });
		for (const { turn } of [real, shadow]) await turn(read("r1"));
		// The path is in the text, so both must be equally long.
		expect(shadow.blobDir).toHaveLength(blobDir.length);
		const [shown = ""] = await real.turn(bash("b1"));
		expect(await shadow.turn(bash("b1"))).toEqual([TEXT]);
		expect(shadow.live.shadow).toEqual({ results: 1, savedChars: TEXT.length - shown.length });
		expect(storedIn(shadow.blobDir)).toEqual([]);
	});
});

describe("no reference points to a result", () => {
	test("that a context edit replaced, until it is as before", async () => {
		const { turn, session, ledger } = startBirth();
		await turn(read("r1"));
		const [item] = resultsOf(ledger.log(session));
		session.appendContextEdit(item?.entryId ?? "", { content: "stub" });
		expect(await turn(bash("b1"))).toEqual([TEXT]);
	});

	test("that the last request did not hold", async () => {
		const { turn, session, ledger, shorten } = startBirth();
		await turn(read("r1"));
		appendCalls(session, bash("b1"));
		ledger.observe(session, []);
		expect(await shorten(bash("b1"))).toBeUndefined();
		ledger.observe(session, session.buildSessionProjection().messages);
		expect(await shorten(bash("b1"))).toBeDefined();
	});

	test("that a compaction removed, or that is on another branch", async () => {
		const { turn, session } = startBirth();
		const start = session.appendMessage({ role: "user", content: "go", timestamp: 0 });
		await turn(read("r1"));
		session.appendCompaction("summary", null, 10);
		expect(await turn(bash("b1"))).toEqual([TEXT]);
		expect((await turn(bash("b2"))).map(isShort)).toEqual([true]);
		session.branch(start);
		expect(await turn(bash("b3"))).toEqual([TEXT]);
	});

	test("above one whose call is unknown, since that may have its name", async () => {
		const { turn, session } = startBirth();
		await turn(read("r1"));
		appendResult(session, "unknown", "text");
		expect(await turn(bash("b1"))).toEqual([TEXT]);
		expect((await turn(bash("b2"))).map(isShort)).toEqual([true]);
	});

	test("whose call id was used twice", async () => {
		const { turn } = startBirth();
		await turn(read("r1"));
		await turn(read("r1", "other"));
		expect(await turn(bash("b1"))).toEqual([TEXT]);
	});

	test("that another extension rewrote after it was shortened", async () => {
		const { turn, session, ledger } = startBirth();
		const own = output(30, "own").join("\n");
		await turn(read("r1"));
		await turn(bash("b1", `${TEXT}\n${own}`));
		const item = resultsOf(ledger.log(session))[1];
		if (!item) throw new Error("no second result");
		Object.assign(item, { text: `${item.text}!`, returned: `${item.text}!` });
		expect(ledger.ownVisibility(item)).toMatchObject({ why: "rewritten" });
		expect(await turn(bash("b2", own))).toEqual([own]);
	});
});

test("a new process on the same session decides the same", async () => {
	const first = startBirth();
	const others = output(40, "other");
	await first.turn(read("r1"));
	await first.turn(bash("b1", [...output(20), ...others].join("\n")));
	const call = bash("b2", [...others, ...output(40)].join("\n"));
	const [shown] = await first.turn(call);
	expect(isShort(shown)).toBe(true);
	const { session, cwd, blobDir } = first;
	session.branch(session.getLeafEntry()?.parentId ?? "");
	const second = startBirth({ session, cwd, blobDir });
	second.ledger.observe(session, session.buildSessionProjection().messages);
	expect((await second.shorten(call))?.content[0]?.text).toBe(shown);
});

test("two processes in one folder shorten at the same time, and store one text", async () => {
	const first = startBirth();
	const { cwd, blobDir } = first;
	const second = startBirth({ cwd, blobDir });
	const shown = await Promise.all(
		[first, second].map(async ({ turn }) => {
			await turn(read("r1"));
			return await turn(bash("b1"));
		}),
	);
	expect(shown[0]).toEqual(shown[1]);
	expect(shown.flat().map(isShort)).toEqual([true, true]);
	expect(storedIn(blobDir)).toEqual([`${hashBytes(TEXT)}.txt`]);
});

test("a damaged copy in the store is replaced before a reference names it", async () => {
	const { turn, blobDir } = startBirth();
	const path = join(blobDir, `${hashBytes(TEXT)}.txt`);
	mkdirSync(blobDir, { recursive: true });
	writeFileSync(path, "another text");
	await turn(read("r1"));
	expect((await turn(bash("b1"))).map(isShort)).toEqual([true]);
	expect(readFileSync(path, "utf8")).toBe(TEXT);
});

test("after the store was lost, what refers to lines in view can still be expanded from them", async () => {
	const { turn, ledger, session, blobDir } = startBirth();
	await turn(read("r1"));
	await turn(bash("b1"));
	rmSync(blobDir, { recursive: true });
	const items = resultsOf(ledger.log(session));
	const shown = items.map(
		({ toolCallId, toolName, input, text }): CallResult => ({
			id: toolCallId,
			tool: toolName,
			input,
			text,
		}),
	);
	expect(expand(items[1]?.text ?? "", shown.slice(0, 1))).toBe(TEXT);
	const [next] = await turn(bash("b2", `again\n${TEXT}`));
	expect(next).toMatch(/^again\n\[strata: lines 1-40 of the output of `read a.ts` above/);
	expect(ledger.visibility(items[1] as never)).toEqual({ visible: true });
	expect(storedIn(blobDir)).toHaveLength(1);
});
