/** Situations in which a cache of reads is tempted to vouch for text the model does not have. */
import {
	appendFileSync,
	linkSync,
	readFileSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Message } from "@earendil-works/pi-ai";
import { describe, expect, test } from "vitest";
import type { PiHarness } from "../support/pi-session.ts";
import {
	extension,
	nextId,
	numbered,
	ownAnswer,
	type Range,
	type Reading,
	readCall,
	readIn,
	readingOf,
	sha256,
	startReads,
	storedObjects,
	storeFolder,
} from "../support/read-session.ts";

const V1 = numbered(60);
const V2 = V1.replace("line 7\n", "line seven\n");
const UNCHANGED = "[readcache: unchanged, 61 lines]";

async function start(options: Parameters<typeof startReads>[0] = {}) {
	const { pi, read } = await startReads(options);
	pi.write("a.txt", V1);
	return { pi, read };
}

/** Reads and expects exactly pi's own answer, with metadata of this mode (`undefined`: with none). */
async function expectPlain(
	pi: PiHarness,
	path: string,
	mode: "full" | "full_fallback" | "untracked" | undefined,
	range: Range = {},
): Promise<Reading> {
	const own = await ownAnswer(pi, path, range);
	const reading = await readIn(pi, path, range);
	const { text, isError, meta } = reading;
	expect({ text, isError, mode: meta?.mode }).toEqual({
		text: own.text,
		isError: own.isError,
		mode,
	});
	return reading;
}

async function expectText(pi: PiHarness, path: string, text: string, range: Range = {}) {
	const reading = await readIn(pi, path, range);
	expect(reading.text).toBe(text);
	return reading;
}

const lastLine = (text: string | undefined) => text?.split("\n").at(-1);

describe("a truncated read", () => {
	const LONG = numbered(3000);

	test("vouches for no line behind its end", { tags: "slow" }, async () => {
		const { pi } = await start();
		pi.write("long.txt", LONG);
		pi.write("wide.txt", `${"x".repeat(99)}\n`.repeat(1000));
		expect((await expectPlain(pi, "long.txt", "full")).text).toContain("Use offset=2001");
		await expectPlain(pi, "long.txt", "full", { offset: 2001 });

		const { meta } = await expectPlain(pi, "wide.txt", "full");
		const offset = (meta?.shown?.[1] ?? 0) + 1;
		expect(offset).toBe(513);
		await expectPlain(pi, "wide.txt", "full", { offset: offset - 1, limit: 2 });
		await expectPlain(pi, "wide.txt", "full", { offset });
	});

	test("read again is a marker for the lines shown, with the very continuation line of pi", {
		tags: "slow",
	}, async () => {
		const { pi, read } = await start();
		pi.write("long.txt", LONG);
		pi.write("wide.txt", `${"x".repeat(99)}\n`.repeat(1000));
		for (const [name, end, total] of [
			["long.txt", 2000, 3001],
			["wide.txt", 512, 1001],
		] as const) {
			const first = await read(name);
			const again = await read(name);
			expect(again.text).toBe(
				`[readcache: unchanged in lines 1-${end} of ${total}]\n\n${lastLine(first.text)}`,
			);
			expect(lastLine(first.text)).toMatch(/^\[Showing lines 1-.* to continue\.\]$/);
			expect(again.meta).toMatchObject({ mode: "unchanged_range", scopeKey: "full" });
		}
		for (const [range, lines] of [
			[{ offset: 500 }, "500-2499"],
			[{ offset: 600, limit: 2400 }, "600-2599"],
		] as const) {
			const first = await expectPlain(pi, "long.txt", "full", range);
			const { text } = await read("long.txt", range);
			const marker = `[readcache: unchanged in lines ${lines} of 3001]`;
			expect(text).toBe(`${marker}\n\n${lastLine(first.text)}`);
		}
	});

	test("ends exactly where pi ends it, at the limit of lines and at that of bytes", {
		tags: "slow",
	}, async () => {
		const { pi, read } = await start();
		const texts = [1999, 2000, 2001, 2002].flatMap((n) => [numbered(n), numbered(n).slice(0, -1)]);
		for (const spare of [-1, 0, 1]) {
			const body = "\u00e9".repeat(49); // 99 bytes with its newline
			const rest = "x".repeat(51_200 - 99 * 500 - spare);
			texts.push(`${`${body}\n`.repeat(500)}${rest}`, `${`${body}\n`.repeat(500)}${rest}\n`);
			texts.push(`${rest}\n${`${body}\n`.repeat(500)}`);
		}
		for (const [index, text] of texts.entries()) {
			const name = `${index}.txt`;
			pi.write(name, text);
			const first = await expectPlain(pi, name, "full");
			const total = text.split("\n").length;
			const isCut = Object.hasOwn(first.details as object, "truncation");
			const end = isCut ? Number(/lines 1-(\d+) of/.exec(lastLine(first.text) ?? "")?.[1]) : total;
			expect(first.meta?.shown).toEqual([1, end]);
			const marker = `[readcache: unchanged in lines 1-${end} of ${total}]`;
			expect((await read(name)).text).toBe(
				isCut ? `${marker}\n\n${lastLine(first.text)}` : `[readcache: unchanged, ${total} lines]`,
			);
		}
	});

	test("of a file that changed behind the lines shown says so, without a diff of lines never shown", async () => {
		const { pi, read } = await start();
		pi.write("long.txt", LONG);
		const first = await read("long.txt");
		pi.write("long.txt", LONG.replace("line 2701\n", "changed\n"));
		await expectText(
			pi,
			"long.txt",
			`[readcache: unchanged in lines 1-2000; changes exist outside this range]\n\n${lastLine(first.text)}`,
		);
		await expectPlain(pi, "long.txt", "full", { offset: 2700, limit: 3 });
	});

	test("of a file that changed in the lines shown is pi's output", async () => {
		const { pi, read } = await start();
		pi.write("long.txt", LONG);
		await read("long.txt");
		pi.write("long.txt", LONG.replace("line 1701\n", "changed\n"));
		expect((await ownAnswer(pi, "long.txt")).text).toContain("\nchanged\n");
		const { meta } = await read("long.txt");
		expect(["full", "full_fallback"]).toContain(meta?.mode);
		pi.write("long.txt", LONG);
		const { text } = await ownAnswer(pi, "long.txt");
		expect((await read("long.txt")).text).toBe(text);
	});

	test("whose first line is over the limit shows nothing and vouches for nothing", async () => {
		const { pi } = await start();
		pi.write("one-line.txt", "x".repeat(60_000));
		for (let time = 1; time <= 3; time++) {
			const { text } = await expectPlain(pi, "one-line.txt", undefined);
			expect(text).toMatch(/^\[Line 1 is 58\.6KB, exceeds 50\.0KB limit/);
		}
		pi.write("a.txt", `${V1}${"x".repeat(60_000)}`);
		await expectPlain(pi, "a.txt", "full");
		await expectPlain(pi, "a.txt", undefined, { offset: 61 });
	});

	test("of another program's making, without a note of the lines shown, is no proof of anything", async () => {
		const { pi, read } = await start({ persist: true });
		pi.write("long.txt", LONG);
		await read("long.txt");
		await resumeWith(pi, ({ shown, textHash, ...rest }) => rest);
		await expectPlain(pi, "long.txt", "full", { offset: 2001, limit: 5 });
		await expectPlain(pi, "long.txt", "full");
	});
});

describe("knowledge of lines", () => {
	test("adds up: ranges that together cover the file are the file", async () => {
		const { pi, read } = await start();
		await read("a.txt", { offset: 31 });
		await read("a.txt", { limit: 20 });
		await expectPlain(pi, "a.txt", "full");

		pi.write("b.txt", V1);
		for (const offset of [41, 1, 21]) await read("b.txt", { offset, limit: 21 });
		await expectText(pi, "b.txt", UNCHANGED);
		pi.write("b.txt", V2);
		expect((await read("b.txt")).meta).toMatchObject({ mode: "diff", baseHash: sha256(V1) });

		pi.write("long.txt", numbered(3000));
		await read("long.txt");
		await read("long.txt", { offset: 2001 });
		await expectText(pi, "long.txt", "[readcache: unchanged, 3001 lines]");
	});

	test("comes from another program's results too, when their text proves them", async () => {
		const { pi, read } = await start({ persist: true });
		await read("a.txt");
		await resumeWith(pi, ({ shown, textHash, ...rest }) => ({
			...rest,
			mode: "baseline_fallback",
		}));
		await expectText(pi, "a.txt", UNCHANGED);
	});

	test("holds for parts: a sub-range of a shown range is known, one that reaches out is not", async () => {
		const { pi, read } = await start();
		await read("a.txt", { offset: 10, limit: 20 });
		await expectText(pi, "a.txt", "[readcache: unchanged in lines 12-15 of 61]", {
			offset: 12,
			limit: 4,
		});
		await expectPlain(pi, "a.txt", "full", { offset: 5, limit: 10 });
		await expectPlain(pi, "a.txt", "full", { offset: 25, limit: 10 });
		await expectText(pi, "a.txt", "[readcache: unchanged in lines 5-34 of 61]", {
			offset: 5,
			limit: 30,
		});
	});

	test("goes by the newest view: full, a range of the next version, and back is not unchanged", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		pi.write("a.txt", V2);
		await expectPlain(pi, "a.txt", "full_fallback", { offset: 5, limit: 5 });
		pi.write("a.txt", V1);
		await expectPlain(pi, "a.txt", "full_fallback");
		await expectText(pi, "a.txt", UNCHANGED);
	});

	test("counts the line after a final newline as pi does", async () => {
		const { pi, read } = await start();
		pi.write("ten.txt", numbered(10));
		const { meta } = await expectPlain(pi, "ten.txt", "full", { limit: 10 });
		expect(meta).toMatchObject({ scopeKey: "r:1:10", totalLines: 11 });
		await expectPlain(pi, "ten.txt", "full");
		await expectText(pi, "ten.txt", "[readcache: unchanged, 11 lines]");
		await expectText(pi, "ten.txt", "[readcache: unchanged, 11 lines]", { offset: 1, limit: 11 });
		await expectText(pi, "ten.txt", "[readcache: unchanged, 11 lines]", { offset: 1, limit: 99 });
		await expectText(pi, "ten.txt", "[readcache: unchanged in lines 1-10 of 11]", { limit: 10 });
		await expectText(pi, "ten.txt", "[readcache: unchanged in lines 11-11 of 11]", { offset: 11 });

		pi.write("none.txt", "one line");
		await read("none.txt");
		await expectText(pi, "none.txt", "[readcache: unchanged, 1 lines]");
		pi.write("none.txt", "one line\n");
		await expectPlain(pi, "none.txt", "full_fallback");
	});

	test("does not survive that the file got shorter or longer", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		pi.write("a.txt", numbered(30));
		await expectText(
			pi,
			"a.txt",
			"[readcache: unchanged in lines 1-10; changes exist outside this range]",
			{ limit: 10 },
		);
		await expectPlain(pi, "a.txt", "full_fallback", { offset: 25, limit: 99 });
		pi.write("a.txt", V1);
		const { text } = await read("a.txt");
		expect(text).toBe(V1);

		pi.write("b.txt", "a\nb");
		await read("b.txt");
		pi.write("b.txt", "a\nb\nc");
		await expectPlain(pi, "b.txt", "full_fallback");
	});

	test("is the same for an empty file", async () => {
		const { pi, read } = await start();
		pi.write("empty.txt", "");
		await expectPlain(pi, "empty.txt", "full");
		await expectText(pi, "empty.txt", "[readcache: unchanged, 1 lines]");
		pi.write("empty.txt", "no longer\n");
		await expectPlain(pi, "empty.txt", "full_fallback");
		pi.write("empty.txt", "");
		expect((await read("empty.txt")).text).toBe("");
	});

	test("is lost with an error: a file deleted and restored is read in full", async () => {
		const { pi, read } = await start();
		const path = join(pi.cwd, "a.txt");
		await read("a.txt");
		rmSync(path);
		expect((await expectPlain(pi, "a.txt", undefined)).isError).toBe(true);
		pi.write("a.txt", V1);
		await expectPlain(pi, "a.txt", "full");
		await expectText(pi, "a.txt", UNCHANGED);
	});

	test("is lost with an error through a link that led nowhere for a while", async () => {
		const { pi, read } = await start();
		pi.write("b.txt", "other\n");
		symlinkSync("a.txt", join(pi.cwd, "link.txt"));
		await read("link.txt");
		rmSync(join(pi.cwd, "a.txt"));
		await expectPlain(pi, "link.txt", undefined);
		await read("b.txt");
		pi.write("a.txt", V1);
		await expectPlain(pi, "link.txt", "full");
	});

	test("is lost with a binary view of the file under a name that only macOS spells so", async () => {
		const { pi, read } = await start();
		pi.write("shot 1\u202FPM.txt", V1);
		await read("shot 1 PM.txt");
		await expectText(pi, "shot 1 PM.txt", UNCHANGED);
		pi.write("shot 1\u202FPM.txt", "\0");
		await expectPlain(pi, "shot 1 PM.txt", undefined);
		pi.write("shot 1\u202FPM.txt", V1);
		await expectPlain(pi, "shot 1 PM.txt", "full");
	});
});

describe("a base that is not what the model has before it", () => {
	test("because a context edit removed or replaced it, is not used", async () => {
		const { pi, read } = await start({ thinking: "free" });
		for (const replacement of [null, "[pruned]", V2]) {
			const base = await read("a.txt");
			expect(base.text).toBe(V1);
			pi.editContext(base.entryId, replacement);
			const again = await expectPlain(pi, "a.txt", "full");
			expect(pi.seenTextOf(base.toolCallId)).toBe(replacement ?? undefined);
			pi.editContext(again.entryId, null);
		}
	});

	test("because a context edit removed a diff in the chain, is not used", async () => {
		const { pi, read } = await start({ thinking: "free" });
		const base = await read("a.txt");
		pi.write("a.txt", V2);
		const diff = await read("a.txt");
		expect(diff.meta?.mode).toBe("diff");
		await expectText(pi, "a.txt", UNCHANGED);
		pi.editContext(diff.entryId, null);
		const full = await expectPlain(pi, "a.txt", "full");

		const V3 = V2.replace("line 9\n", "line nine\n");
		pi.write("a.txt", V3);
		expect((await read("a.txt")).meta?.mode).toBe("diff");
		pi.editContext(full.entryId, null);
		await expectPlain(pi, "a.txt", "full");
		expect(pi.seenTextOf(base.toolCallId)).toBe(V1);
	});

	const hooks: [string, object][] = [
		["rewrote it", { content: [{ type: "text", text: "something else" }] }],
		["cut it short", { content: [{ type: "text", text: V1.slice(0, -1) }] }],
		["emptied it", { content: [] }],
		["made its text empty", { content: [{ type: "text", text: "" }] }],
		["made an error of it", { isError: true }],
		["dropped its details", { details: {} }],
		["put other details in their place", { details: { mine: true } }],
	];
	test.each(hooks)("because another extension %s, is not used", async (_what, change) => {
		let active = true;
		const hook = extension("hook", (api) => {
			api.on("tool_result", (event) =>
				active && event.toolName === "read" ? (change as object) : undefined,
			);
		});
		for (const order of ["before", "after"] as const) {
			active = true;
			const { pi, read } = await start({ [order]: [hook] });
			await read("a.txt");
			active = false;
			await expectPlain(pi, "a.txt", "full");
			await expectText(pi, "a.txt", UNCHANGED);
		}
	});

	test("because another extension rewrote a diff, is not used", async () => {
		const hook = extension("hook", (api) => {
			api.on("tool_result", ({ content }) => {
				const [block] = content;
				if (block?.type !== "text" || !block.text.includes("lines changed of")) return undefined;
				return { content: [{ type: "text" as const, text: "[a diff was here]" }] };
			});
		});
		const { pi, read } = await start({ after: [hook] });
		await read("a.txt");
		pi.write("a.txt", V2);
		expect(await read("a.txt")).toMatchObject({
			text: "[a diff was here]",
			meta: { mode: "diff" },
		});
		await expectPlain(pi, "a.txt", "full");
	});

	const requests: [string, (result: Message) => Message[]][] = [
		["drops it", () => []],
		[
			"alters it",
			(result) => [{ ...result, content: [{ type: "text", text: "[cut]" }] } as Message],
		],
		["doubles it", (result) => [result, result]],
	];
	for (const event of ["context", "context_with_system"] as const) {
		test.each(requests)(
			`because another extension's ${event} handler %s, is not used`,
			async (_what, change) => {
				let target = "";
				const hook = extension("hook", (api) => {
					api.on(event as "context", ({ messages }) => ({
						messages: (messages as Message[]).flatMap((each) =>
							isResult(each, target) ? change(each) : [each],
						),
					}));
				});
				const { pi, read } = await start({ thinking: "free", before: [hook] });
				const base = await read("a.txt");
				await expectText(pi, "a.txt", UNCHANGED);
				target = base.toolCallId;
				await expectPlain(pi, "a.txt", "full");
			},
		);
	}

	test("because an extension loaded later alters the request in place, is not used", async () => {
		let target = "";
		const hook = extension("hook", (api) => {
			api.on("context_with_system", ({ messages }) => {
				for (const message of messages as Message[]) {
					if (isResult(message, target)) message.content = [{ type: "text", text: "[gone]" }];
				}
			});
		});
		const { pi, read } = await start({ thinking: "free", after: [hook] });
		target = (await read("a.txt")).toolCallId;
		await expectPlain(pi, "a.txt", "full");
	});

	test("because another extension moved the results about, is not used", async () => {
		let swap: [string, string] | undefined;
		const hook = extension("hook", (api) => {
			api.on("context", ({ messages }) => {
				if (!swap) return undefined;
				const list = [...messages] as Message[];
				const [a, b] = swap.map((id) => list.findIndex((each) => isResult(each, id)));
				if (a === undefined || b === undefined || a < 0 || b < 0) return undefined;
				[list[a], list[b]] = [list[b] as Message, list[a] as Message];
				return { messages: list };
			});
		});
		const { pi, read } = await start({ thinking: "free", before: [hook] });
		const full = await read("a.txt");
		pi.write("a.txt", V2);
		const part = await read("a.txt", { offset: 5, limit: 5 });
		swap = [full.toolCallId, part.toolCallId];
		await expectPlain(pi, "a.txt", "full");
	});
});

test("results that share a call id are told apart, or not used at all", async () => {
	const { pi } = await start({ thinking: "free" });
	pi.write("b.txt", V2);
	await pi.run("go", [readCall("a.txt", "same"), readCall("b.txt", "same"), "done"]);
	for (const [path, text] of [
		["a.txt", V1],
		["b.txt", V2],
	] as const) {
		expect([text, UNCHANGED]).toContain((await readIn(pi, path)).text);
	}
	const first = pi.toolResults()[0]?.entryId ?? "";
	pi.editContext(first, null);
	await expectPlain(pi, "a.txt", "full");
	expect([V2, UNCHANGED]).toContain((await readIn(pi, "b.txt")).text);
});

describe("the store", () => {
	test("is not believed: a tampered or truncated object is no base", async () => {
		const { pi, read } = await start();
		const object = join(storeFolder(pi), "objects", `sha256-${sha256(V1)}.txt`);
		for (const damage of [
			() => writeFileSync(object, V1.replace("line 30\n", "line 3o\n")),
			() => truncateSync(object, 100),
			() => writeFileSync(object, ""),
		]) {
			pi.write("a.txt", V1);
			await pi.command("/readcache-refresh a.txt");
			await read("a.txt");
			await pi.command("/readcache-status"); // waits for the store
			expect(readFileSync(object, "utf8")).toBe(V1);
			damage();
			pi.write("a.txt", V2);
			await expectPlain(pi, "a.txt", "full_fallback");
		}
	});

	test("gets no secret, nor one reached through a link", async () => {
		const { pi } = await start();
		const secret = "TOKEN=do-not-store\n";
		pi.write(".env", secret);
		pi.write("keys/server.pem", secret);
		symlinkSync(".env", join(pi.cwd, "config.txt"));
		symlinkSync("config.txt", join(pi.cwd, "twice.txt"));
		symlinkSync("keys", join(pi.cwd, "folder"));
		linkSync(join(pi.cwd, ".env"), join(pi.cwd, ".env.local"));
		const paths = [".env", ".env.local"];
		// Links may move: these say which file it was, so that others do not store it either.
		const links = ["config.txt", "twice.txt", "folder/server.pem"];
		for (const path of [...paths, ...links, ...paths, ...links]) {
			const mode = links.includes(path) ? "untracked" : undefined;
			expect((await expectPlain(pi, path, mode)).text).toBe(secret);
		}
		await readIn(pi, "a.txt");
		await pi.command("/readcache-status");
		expect([...storedObjects(storeFolder(pi)).values()]).toEqual([V1]);
	});

	test("holds the bytes as they are: BOM, CRLF and a missing final newline", async () => {
		const { pi, read } = await start();
		const texts = ["\uFEFFone\ntwo\n", "one\r\ntwo\r\n", "one\ntwo", "\uFEFF"];
		for (const [index, text] of texts.entries()) {
			pi.write(`${index}.txt`, text);
			expect((await read(`${index}.txt`)).text).toBe(text);
		}
		await pi.command("/readcache-status");
		expect(storedObjects(storeFolder(pi))).toEqual(
			new Map(texts.map((text) => [`sha256-${sha256(text)}.txt`, text])),
		);
	});
});

test("all ways to write a path lead to one file", async () => {
	const { pi, read } = await start();
	pi.write("sub/other.txt", "x");
	symlinkSync("a.txt", join(pi.cwd, "link.txt"));
	symlinkSync(".", join(pi.cwd, "here"));
	const { meta } = await read("a.txt");
	for (const path of [
		"sub/../a.txt",
		"./sub/.././a.txt",
		`${pi.cwd}/sub/../a.txt`,
		"@a.txt",
		"link.txt",
		"here/here/link.txt",
	]) {
		const reading = await expectText(pi, path, UNCHANGED);
		expect(reading.meta?.pathKey).toBe(meta?.pathKey);
	}
	pi.write("a.txt", V2);
	expect((await read("here/link.txt")).text).toContain(
		"--- a/here/link.txt\n+++ b/here/link.txt\n",
	);
});

describe("a diff", () => {
	const version = (n: number) => V1.replace(`line ${n * 10}\n`, `version ${n}\n`);

	test("follows a diff three times, then the file is sent in full; in between it is known", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		for (const n of [1, 2, 3]) {
			pi.write("a.txt", version(n));
			const { meta } = await read("a.txt");
			expect(meta).toMatchObject({ mode: "diff", servedHash: sha256(version(n)) });
			await expectText(pi, "a.txt", UNCHANGED);
			await expectText(pi, "a.txt", "[readcache: unchanged in lines 5-24 of 61]", {
				offset: 5,
				limit: 20,
			});
		}
		pi.write("a.txt", version(4));
		await expectPlain(pi, "a.txt", "full_fallback");
		pi.write("a.txt", version(5));
		expect((await read("a.txt")).meta?.mode).toBe("diff");
	});

	test("keeps the spaces at the end of its last line", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		pi.write("a.txt", V1.replace("line 60\n", "line 60   \n"));
		const { text } = await read("a.txt");
		expect(text).toContain("-line 60\n+line 60   \n");
	});

	test("counts lines that look like its own signs", async () => {
		const { pi, read } = await start();
		pi.write("b.sql", `${V1}-- a comment\n++ more\n`);
		await read("b.sql");
		pi.write("b.sql", `${V1}-- another\n+++ most\n@@ -1 +1 @@\n`);
		const { text, meta } = await read("b.sql");
		expect(meta?.mode).toBe("diff");
		expect(text).toMatch(/^\[readcache: 3 lines changed of 64\]\n/);
	});

	test("shows a BOM, a CR and a missing final newline as changes", async () => {
		const { pi, read } = await start();
		for (const [changed, row] of [
			[`\uFEFF${V1}`, "+\uFEFFline 1\n"],
			[V1.replace("line 7\n", "line 7\r\n"), "+line 7\r\n"],
			[V1.slice(0, -1), "line 60"],
		] as const) {
			pi.write("a.txt", V1);
			await pi.command("/readcache-refresh a.txt");
			await read("a.txt");
			pi.write("a.txt", changed);
			const { text, meta } = await read("a.txt");
			expect(meta).toMatchObject({ mode: "diff", servedHash: sha256(changed) });
			expect(text).toContain(row);
		}
	});

	test("is not made for a change of all line ends, which is served in full", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		pi.write("a.txt", V1.replaceAll("\n", "\r\n"));
		await expectPlain(pi, "a.txt", "full_fallback");
		await expectText(pi, "a.txt", UNCHANGED);
		pi.write("a.txt", V1);
		await expectPlain(pi, "a.txt", "full_fallback");
	});
});

describe("calls in one message", () => {
	test("for the same file all get its text, and a later one a sound marker", async () => {
		const { pi } = await start();
		const ids = [nextId(), nextId(), nextId()];
		await pi.run("go", [ids.map((id) => readCall("a.txt", id)), "done"]);
		for (const id of ids) expect(readingOf(pi, id)).toMatchObject({ text: V1 });
		await expectText(pi, "a.txt", UNCHANGED);

		const more = [nextId(), nextId()];
		await pi.run("go", [more.map((id) => readCall("a.txt", id)), "done"]);
		for (const id of more) expect(readingOf(pi, id).text).toBe(UNCHANGED);
	});

	test("of which one is pruned before the next request leave no knowledge behind it", async () => {
		const { pi } = await start({ thinking: "free" });
		const [one, two] = [nextId(), nextId()];
		await pi.run("go", [[readCall("a.txt", one), readCall("a.txt", two)], "done"]);
		pi.editContext(readingOf(pi, two).entryId, null);
		await expectPlain(pi, "a.txt", "full");
	});
});

describe("the model's own change", () => {
	const edit = async (pi: PiHarness, oldText: string, newText: string) => {
		const id = nextId();
		const args = { path: "a.txt", edits: [{ oldText, newText }] };
		await pi.run("edit", [{ tool: "edit", args, id }, "done"]);
		expect(readingOf(pi, id).isError).toBe(false);
	};
	const write = async (pi: PiHarness, content: string) => {
		const id = nextId();
		await pi.run("write", [{ tool: "write", args: { path: "a.txt", content }, id }, "done"]);
		expect(readingOf(pi, id).isError).toBe(false);
	};

	test("by edit is shown as a diff when the file is read again", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await edit(pi, "line 7\n", "line seven\n");
		expect(await read("a.txt")).toMatchObject({
			text: expect.stringContaining("-line 7\n+line seven\n"),
			meta: { mode: "diff", baseHash: sha256(V1), servedHash: sha256(V2) },
		});
		await expectText(pi, "a.txt", UNCHANGED);
	});

	test.each([
		["a replacement", "line 7\n", "line seven\n"],
		["a replacement by text that is elsewhere too", "line 7\n", "line 8\n"],
		["an insertion", "line 7\n", "line 7\nmore\n"],
		["an insertion of what follows anyway", "line 7\n", "line 7\nline 8\n"],
		["a removal", "line 7\n", ""],
		["a removal of a part", "line 7\nline 8\n", "line 8\n"],
	])("by edit, %s, undone from outside is no marker", async (_what, oldText, newText) => {
		const { pi, read } = await start();
		await read("a.txt");
		await edit(pi, oldText, newText);
		pi.write("a.txt", V1);
		expect(await read("a.txt", { offset: 5, limit: 10 })).toMatchObject({
			text: (await ownAnswer(pi, "a.txt", { offset: 5, limit: 10 })).text,
		});
		await expectPlain(pi, "a.txt", "full_fallback");
		await expectText(pi, "a.txt", UNCHANGED);
	});

	test("by edit, undone from outside together with another change, is no diff that hides it", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await edit(pi, "line 7\n", "line seven\n");
		pi.write("a.txt", V1.replace("line 40\n", "line forty\n"));
		const { text } = await read("a.txt");
		expect(text).toContain("\nline 7\n");
	});

	test("by edit is followed by the full text when another program changed the file besides", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await edit(pi, "line 7\n", "line seven\n");
		const both = V2.replace("line 40\n", "line forty\n");
		pi.write("a.txt", both);
		const { text, meta } = await read("a.txt");
		expect(meta).toMatchObject({ mode: "full_fallback", baseHash: sha256(V1) });
		expect(text).toBe(both);
	});

	test("by edit that another program changed further is shown as it is now", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await edit(pi, "line 7\n", "line seven\n");
		pi.write("a.txt", V1.replace("line 7\n", "line VII\n"));
		expect((await read("a.txt")).text).toContain("line VII\n");
	});

	test("by edit leaves what is known of other lines, also with CRLF", async () => {
		const { pi, read } = await start();
		for (const end of ["\n", "\r\n"]) {
			pi.write("a.txt", V1.replaceAll("\n", end));
			await pi.command("/readcache-refresh a.txt");
			await read("a.txt");
			await edit(pi, "line 7\nline 8\n", "line seven\nline eight\n");
			const marker = "[readcache: unchanged in lines 20-24; changes exist outside this range]";
			await expectText(pi, "a.txt", marker, { offset: 20, limit: 5 });
			const { text } = await read("a.txt", { offset: 5, limit: 5 });
			expect(text).toContain("line seven");
		}
	});

	test("through a link counts as well", async () => {
		const { pi, read } = await start();
		symlinkSync("a.txt", join(pi.cwd, "link.txt"));
		await read("a.txt");
		const args = { path: "link.txt", edits: [{ oldText: "line 7\n", newText: "line seven\n" }] };
		await pi.run("edit", [{ tool: "edit", args }, "done"]);
		expect(readFileSync(join(pi.cwd, "a.txt"), "utf8")).toBe(V2);
		pi.write("a.txt", V1);
		await expectPlain(pi, "a.txt", "full_fallback");
	});

	test("by write, undone from outside, is no marker; one that stands is", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await write(pi, V2);
		pi.write("a.txt", V1);
		await expectPlain(pi, "a.txt", "full_fallback");
		await write(pi, V1);
		await expectText(pi, "a.txt", UNCHANGED);
		await write(pi, V2);
		expect((await read("a.txt")).meta?.mode).toBe("diff");
	});
});

test("the bytes that are hashed are the bytes that are shown, however the file changes meanwhile", {
	tags: "slow",
}, async () => {
	const { pi, read } = await start();
	let writing = true;
	const writer = (async () => {
		for (let n = 0; writing; n++) {
			await writeFile(join(pi.cwd, "a.txt"), n % 2 ? V1 : V2);
			if (n % 5 === 0) appendFileSync(join(pi.cwd, "a.txt"), `tail ${n}\n`);
		}
	})();
	const served: Reading[] = [];
	for (let n = 0; n < 30; n++) served.push(await read("a.txt"));
	writing = false;
	await writer;
	const shown = served.filter(({ meta }) => meta?.mode.startsWith("full"));
	expect(shown.length).toBeGreaterThan(0);
	for (const { text, meta } of shown) expect(sha256(text ?? "")).toBe(meta?.servedHash);
});

function isResult(message: Message, id: string): message is Message & { role: "toolResult" } {
	return message.role === "toolResult" && message.toolCallId === id;
}

/** Opens a copy of the session in which the metadata of every read is changed. */
async function resumeWith(
	pi: PiHarness,
	change: (meta: Record<string, unknown>) => object,
): Promise<void> {
	const lines = readFileSync(pi.session.sessionFile ?? "", "utf8")
		.trimEnd()
		.split("\n");
	const copy = lines.map((line) => {
		const entry = JSON.parse(line);
		const details = entry.message?.details;
		if (details?.readcache) details.readcache = change(details.readcache);
		return `${JSON.stringify(entry)}\n`;
	});
	const file = join(pi.agentDir, `${nextId()}.jsonl`);
	writeFileSync(file, copy.join(""));
	await pi.resume(file);
}
