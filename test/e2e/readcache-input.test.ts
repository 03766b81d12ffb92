/** Files, arguments, stores and sessions nobody wants: the answer is pi's own, whatever it is. */
import { constants } from "node:buffer";
import { execFileSync } from "node:child_process";
import {
	appendFileSync,
	chmodSync,
	closeSync,
	existsSync,
	constants as fsConstants,
	mkdirSync,
	openSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type PiHarness, startPi } from "../support/pi-session.ts";
import {
	extension,
	nextId,
	numbered,
	ownAnswer,
	type Range,
	readCall,
	readIn,
	readingOf,
	reportTexts,
	sha256,
	startReads,
	storeFolder,
} from "../support/read-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const V1 = numbered(60);
const V2 = V1.replace("line 7\n", "line seven\n");
const UNCHANGED = "[readcache: unchanged, 61 lines]";
const isPosix = process.platform !== "win32";

async function start(options: Parameters<typeof startReads>[0] = {}) {
	const { pi, read } = await startReads(options);
	pi.write("a.txt", V1);
	return { pi, read };
}

/** Reads twice: the second answer must not be a marker either. Returns pi's own answer. */
async function expectOwn(pi: PiHarness, path: string, range: Range = {}) {
	const own = await ownAnswer(pi, path, range);
	for (let time = 1; time <= 2; time++) {
		const { text, isError, details } = await readIn(pi, path, range);
		expect({ text, isError, details: details ?? {} }).toEqual({
			text: own.text,
			isError: own.isError,
			details: own.details ?? {},
		});
	}
	return own;
}

/** Afterwards the cache works on, and says so. */
async function expectWorking(pi: PiHarness) {
	expect((await readIn(pi, "a.txt")).text).toBe(V1);
	expect((await readIn(pi, "a.txt")).text).toBe(UNCHANGED);
	await pi.command("/readcache-status");
	expect(reportTexts(pi).at(-1)).toContain("a.txt  all 61 lines");
}

describe("what is no ordinary file", () => {
	test("a pipe, a device and a folder get pi's own answer", { tags: "slow" }, async () => {
		const { pi } = await start();
		expect((await expectOwn(pi, ".")).text).toMatch(/^EISDIR/);
		if (isPosix) {
			const pipe = join(pi.cwd, "pipe");
			execFileSync("mkfifo", [pipe]);
			// Pi waits for somebody to write: so there is somebody.
			const writer = openSync(pipe, fsConstants.O_RDWR | fsConstants.O_NONBLOCK);
			atEnd(() => closeSync(writer));
			expect((await expectOwn(pi, "pipe")).text).toMatch(/^ESPIPE/);
			expect(await expectOwn(pi, "/dev/null")).toMatchObject({ text: "", isError: false });
			symlinkSync("/dev/null", join(pi.cwd, "null.txt"));
			await expectOwn(pi, "null.txt");
		}
		await expectWorking(pi);
	});

	test("files whose size says nothing, as under /proc, show what pi shows", {
		tags: "slow",
	}, async () => {
		const { pi, read } = await start();
		if (!existsSync("/proc/version")) return; // only Linux has such files
		expect(statSync("/proc/version").size).toBe(0);
		const own = await ownAnswer(pi, "/proc/version");
		expect(own.text).toContain("Linux");
		expect((await read("/proc/version")).text).toBe(own.text);
		await expectWorking(pi);
	});

	test("links that lead nowhere or in a circle, and missing files, are pi's errors", {
		tags: "slow",
	}, async () => {
		const { pi } = await start();
		symlinkSync("two", join(pi.cwd, "one"));
		symlinkSync("one", join(pi.cwd, "two"));
		symlinkSync("missing", join(pi.cwd, "dangling"));
		for (const path of ["one", "one/a.txt", "dangling", "missing", "a.txt/below"]) {
			expect((await expectOwn(pi, path)).isError).toBe(true);
		}
		await expectWorking(pi);
	});

	test("a file nobody may read is pi's error", async () => {
		const { pi } = await start();
		const path = pi.write("locked.txt", V1);
		chmodSync(path, 0o000);
		if (!isReadable(path)) expect((await expectOwn(pi, "locked.txt")).text).toMatch(/^EACCES/);
		// else: a superuser, for whom no file is locked
		chmodSync(path, 0o600);
		await expectWorking(pi);
	});

	test("a file that vanishes between the call and the read is pi's error", async () => {
		let path = "";
		const thief = extension("thief", (api) => {
			api.on("tool_call", () => {
				if (path) rmSync(path, { force: true });
			});
		});
		const { pi, read } = await start({ after: [thief] });
		await read("a.txt");
		path = join(pi.cwd, "a.txt");
		const reading = await read("a.txt");
		expect(reading).toMatchObject({ isError: true, text: (await ownAnswer(pi, "a.txt")).text });
		path = "";
		pi.write("a.txt", V1);
		await expectWorking(pi);
	});
});

describe("a file on the move", () => {
	test("that comes and goes is at each read there or not there", { tags: "slow" }, async () => {
		const { pi, read } = await start();
		const path = join(pi.cwd, "a.txt");
		const missing = (await ownAnswer(pi, "gone.txt")).text.replace("gone.txt", "a.txt");
		await whileTurning(
			(turn) => (turn % 2 ? writeFileSync(path, V1) : rmSync(path, { force: true })),
			async () => {
				for (let n = 0; n < 25; n++) {
					const { text, isError } = await read("a.txt");
					if (isError) expect(withoutCall(text)).toBe(withoutCall(missing));
					else expect([V1, UNCHANGED]).toContain(text);
				}
			},
		);
	});

	test("that grows is shown and hashed as it was at one moment", { tags: "slow" }, async () => {
		const { pi, read } = await start();
		const path = pi.write("log.txt", "");
		await whileTurning(
			(turn) => appendFileSync(path, `entry ${turn}\n`),
			async () => {
				for (let n = 0; n < 25; n++) {
					const { text, meta } = await read("log.txt", { limit: 100_000 });
					if (meta?.mode.startsWith("full") && meta.shown?.[1] === meta.totalLines) {
						expect(meta.servedHash).toBe(sha256(text ?? ""));
					}
				}
			},
		);
		const all = readFileSync(path);
		for (const { details } of pi.toolResults()) {
			const { servedHash, bytes } = (
				details as { readcache: { servedHash: string; bytes: number } }
			).readcache;
			expect(sha256(all.subarray(0, bytes))).toBe(servedHash);
		}
	});
});

describe("content that is no text, or too much", () => {
	test("invalid UTF-8, NUL bytes and lone surrogates are shown as pi shows them", {
		tags: "slow",
	}, async () => {
		const { pi } = await start();
		const files: Record<string, number[]> = {
			"latin1.txt": [99, 97, 102, 0xe9, 10],
			"cut.txt": [97, 0xe2, 0x82],
			"overlong.txt": [0xc0, 0xaf],
			"surrogate.txt": [0xed, 0xa0, 0x80],
			"utf16.txt": [0xff, 0xfe, 97, 0, 10, 0],
			"nul.txt": [97, 0, 98, 10],
			"late-nul.txt": [...Buffer.from(V1), 0],
		};
		for (const [name, bytes] of Object.entries(files)) {
			pi.write(name, Buffer.from(bytes));
			await expectOwn(pi, name);
			await expectOwn(pi, name, { offset: 1, limit: 1 });
		}
		await expectWorking(pi);
	});

	test("text that begins as an image does is left to pi, also once it was known as text", {
		tags: "slow",
	}, async () => {
		const { pi, read } = await start();
		await read("a.txt");
		for (const start of ["GIF89a", "GIF87a", "RIFF1234WEBP"]) {
			pi.write("a.txt", `${start}${V1}`);
			expect((await expectOwn(pi, "a.txt")).text).toMatch(/^Read image file/);
			pi.write("a.txt", V1);
			await expectWorking(pi);
		}
	});

	test("a file over the limit is left to pi", { tags: "slow" }, async () => {
		const { pi } = await start();
		pi.write("big.txt", `${"x".repeat(99)}\n`.repeat(90_000));
		const { details } = await expectOwn(pi, "big.txt");
		expect(details).toHaveProperty("truncation.truncated", true);
		await expectWorking(pi);
	});

	test("a file of a gigabyte is pi's error", { tags: "slow" }, async () => {
		const { pi, read } = await start();
		truncateSync(pi.write("huge.txt", ""), 2 ** 30); // sparse: no disk is used
		// Pi makes one string of a file, and that takes it seconds: it is not asked a second time.
		const limit = constants.MAX_STRING_LENGTH.toString(16);
		const text = `Cannot create a string longer than 0x${limit} characters`;
		expect(await read("huge.txt")).toMatchObject({ text, isError: true, meta: undefined });
		await expectWorking(pi);
	});
});

describe("arguments", () => {
	test("of ranges that are none get what pi makes of them", { tags: "slow" }, async () => {
		const { pi } = await start();
		for (const range of [
			{ offset: 0 },
			{ offset: -3 },
			{ offset: 2.5 },
			{ offset: 1, limit: 0 },
			{ limit: 0 },
			{ limit: -2 },
			{ offset: 3, limit: 1.5 },
			{ offset: 1e15 },
		]) {
			await expectOwn(pi, "a.txt", range);
		}
		await expectWorking(pi);
	});

	test("of a range beyond the end are pi's error, with or without knowledge of the file", {
		tags: "slow",
	}, async () => {
		const { pi, read } = await start();
		const message = "Offset 62 is beyond end of file (61 lines total)";
		expect(await expectOwn(pi, "a.txt", { offset: 62 })).toMatchObject({ text: message });
		await read("a.txt");
		expect(await expectOwn(pi, "a.txt", { offset: 62, limit: 3 })).toMatchObject({ text: message });
		expect(await read("a.txt:62-70")).toMatchObject({ text: message, isError: true });
		expect((await read("a.txt:61-70")).text).toBe("");
	});

	test("of the wrong type are handled by pi as without us", async () => {
		const { pi } = await start();
		const plain = await startPi({ cwd: pi.cwd });
		for (const args of [{}, { path: 5 }, { path: "a.txt", offset: "x" }, { path: null }]) {
			const answers = [];
			for (const each of [plain, pi]) {
				const id = nextId();
				await each.run("go", [{ tool: "read", args, id }, "done"]);
				const { text, isError, details } = readingOf(each, id);
				answers.push({ text, isError, details });
			}
			expect(answers[1]).toEqual(answers[0]);
		}
		await expectWorking(pi);
	});

	test("with odd paths are pi's answer or error, and harm no later read", {
		tags: "slow",
	}, async () => {
		const { pi } = await start();
		const up = "../".repeat(40);
		for (const path of [
			"",
			" ",
			"@",
			"~",
			"~nobody/a.txt",
			"a\0b",
			"x".repeat(300),
			`${"y/".repeat(3000)}z`,
			"a.txt:",
			":1-2",
			"a.txt:99999999999999999999-999999999999999999999",
			`${up}no/such/file`,
			"\u00A0",
		]) {
			const own = await ownAnswer(pi, path);
			const { text, isError } = await readIn(pi, path);
			expect(isError, path).toBe(true);
			if (!path.startsWith("a.txt:9")) expect(text).toBe(own.text); // ours: a malformed range
		}
		await expectWorking(pi);
	});

	test("with URLs that name no file are errors, and harm no later read", {
		tags: "slow",
	}, async () => {
		const { pi } = await start();
		for (const path of ["file://somewhere/a.txt", "file:///%2F", "file://%zz"]) {
			expect((await readIn(pi, path)).isError).toBe(true);
		}
		await expectWorking(pi);
	});

	test("with `..` out of the folder and back, and out of everything, are ordinary paths", {
		tags: "slow",
	}, async () => {
		const { pi, read } = await start();
		const outside = join(tempDir(), "b.txt");
		writeFileSync(outside, V1);
		const path = `${"../".repeat(40)}${outside.slice(1)}`;
		expect((await read(path)).text).toBe(V1);
		expect((await read(outside)).text).toBe(UNCHANGED);
		await expectWorking(pi);
	});
});

describe("a store that cannot be used", () => {
	const broken: [string, (folder: string) => void][] = [
		["is a file", (folder) => writeFileSync(folder, "not a folder")],
		["is a link to nowhere", (folder) => symlinkSync("/no/such/folder", folder)],
		[
			"has a file for its objects",
			(folder) => {
				mkdirSync(folder);
				writeFileSync(join(folder, "objects"), "");
			},
		],
		[
			"is of a later version",
			(folder) => {
				mkdirSync(folder);
				const version = JSON.stringify({ store: "readcache", version: 99 });
				writeFileSync(join(folder, "version.json"), version);
			},
		],
		[
			"is another program's",
			(folder) => {
				mkdirSync(folder);
				writeFileSync(join(folder, "diary.txt"), "mine");
			},
		],
	];
	const expectNoDiffs = async (pi: PiHarness) => {
		expect((await readIn(pi, "a.txt")).text).toBe(V1);
		expect((await readIn(pi, "a.txt")).text).toBe(UNCHANGED);
		await pi.command("/readcache-status"); // waits for the store
		expect(reportTexts(pi).at(-1)).toContain("store: 0 file versions");
		pi.write("a.txt", V2);
		const { text, meta } = await readIn(pi, "a.txt");
		expect([text, meta?.mode]).toEqual([V2, "full_fallback"]);
		pi.write("a.txt", V1);
	};

	test.each(broken)("because it %s only costs the diffs", async (_what, damage) => {
		const { pi } = await start();
		mkdirSync(join(pi.cwd, ".pi"));
		damage(storeFolder(pi));
		await expectNoDiffs(pi);
	});

	test("because it was replaced by a file in the middle of a session only costs the diffs", async () => {
		const { pi, read } = await start();
		await read("a.txt");
		await pi.command("/readcache-status");
		rmSync(storeFolder(pi), { recursive: true });
		writeFileSync(storeFolder(pi), "a file");
		await pi.command("/readcache-refresh a.txt");
		await expectNoDiffs(pi);
		rmSync(storeFolder(pi));
		await pi.command("/readcache-refresh a.txt");
		await read("a.txt");
		pi.write("a.txt", V2);
		expect((await read("a.txt")).meta?.mode).toBe("diff");
	});

	test("because its disk is full or read-only only costs the diffs", async () => {
		const agentDir = tempDir();
		// Nothing can be created below a device, whoever asks.
		const settings = { storeDir: isPosix ? "/dev/null/store" : "Z:\\none\\store" };
		const { pi } = await start({ agentDir, settings });
		await expectNoDiffs(pi);
	});
});

describe("a session full of nonsense", () => {
	const hash = sha256(V1);
	const nonsense: unknown[] = [
		{ readcache: { v: 1 } },
		{ readcache: { v: 1, pathKey: "a.txt", mode: "full", servedHash: hash } },
		{ readcache: { v: "1", pathKey: {}, mode: [], servedHash: 7, shown: {} } },
		{ readcache: { v: 1, mode: "__proto__", pathKey: "constructor", servedHash: hash } },
		{ readcache: "x".repeat(10_000) },
		{ readcache: [[[]]] },
		{ truncation: 5, readcache: { v: 1, totalLines: Number.MAX_VALUE, bytes: -0.5 } },
		"details",
		42,
		null,
		[],
	];

	test("in the details of reads and in our own entries is ignored", async () => {
		const cwd = tempDir();
		writeFileSync(join(cwd, "a.txt"), V1);
		const sessionFile = join(tempDir(), "session.jsonl");
		writeFileSync(sessionFile, handMadeSession(cwd));
		const { pi } = await startReads({ cwd, sessionFile });
		expect(pi.toolResults()).toHaveLength(nonsense.length);
		await pi.command("/readcache-status");
		expect(reportTexts(pi).at(-1)).toContain("in view: no file");
		await expectWorking(pi);
		pi.write("a.txt", V2);
		expect((await readIn(pi, "a.txt")).meta?.mode).toBe("diff");
	});

	test("forged to vouch for text that was never shown is not believed", async () => {
		const { pi, read } = await start({ persist: true });
		pi.write("b.txt", V2);
		const { meta } = await read("a.txt", { limit: 10 });
		const file = pi.session.sessionFile ?? "";
		const saved = readFileSync(file, "utf8");
		const whole = { ...meta, scopeKey: "full", rangeEnd: 61, shown: [1, 61] };
		for (const forged of [
			{ ...whole, textHash: undefined },
			{ ...whole, textHash: undefined, shown: undefined },
			{ ...meta, shown: undefined, rangeEnd: 20, scopeKey: "r:1:20", textHash: undefined },
			{ ...meta, servedHash: sha256(V2), pathKey: join(pi.cwd, "b.txt"), textHash: undefined },
		]) {
			const lines = saved
				.trimEnd()
				.split("\n")
				.map((line) => JSON.parse(line));
			const result = lines.find(({ message }) => message?.role === "toolResult");
			result.message.details.readcache = forged;
			const copy = join(pi.agentDir, `${nextId()}.jsonl`);
			writeFileSync(copy, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
			await pi.resume(copy);
			const [a, b] = [nextId(), nextId()];
			await pi.run("both", [[readCall("a.txt", a), readCall("b.txt", b)], "done"]);
			expect([readingOf(pi, a).text, readingOf(pi, b).text]).toEqual([V1, V2]);
		}
	});

	function handMadeSession(cwd: string): string {
		const entries: Record<string, unknown>[] = [];
		let parentId: string | null = null;
		const add = (entry: Record<string, unknown>) => {
			const id = (entries.length + 1).toString(16).padStart(8, "0");
			entries.push({ id, parentId, timestamp: new Date(0).toISOString(), ...entry });
			parentId = id;
		};
		const message = (content: Record<string, unknown>) =>
			add({ type: "message", message: { timestamp: 0, ...content } });
		message({ role: "user", content: "go" });
		for (const [index, details] of nonsense.entries()) {
			const id = `old-${index}`;
			const call = { type: "toolCall", id, name: "read", arguments: { path: "a.txt" } };
			const model = { api: "faux", provider: "faux", model: "faux-1", stopReason: "toolUse" };
			const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
			const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
			message({ role: "assistant", content: [call], ...model, usage });
			const text = [{ type: "text", text: V1 }];
			const result = { toolCallId: id, toolName: "read", content: text, details, isError: false };
			message({ role: "toolResult", ...result });
			add({ type: "custom", customType: "pi-readcache", data: details });
		}
		for (const data of [
			{ v: 1, kind: "invalidate", pathKey: 5, scopeKey: "full" },
			{ v: 1, kind: "invalidate", pathKey: "/x", scopeKey: "r:0:0" },
			{ v: 1, kind: "explode" },
			undefined,
		]) {
			add({ type: "custom", customType: "pi-readcache", data });
		}
		add({ type: "something_from_the_future", payload: {} });
		const header = { type: "session", version: 3, id: "hand-made", timestamp: "1970-01-01", cwd };
		return [header, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join("");
	}
});

function isReadable(path: string): boolean {
	try {
		readFileSync(path);
		return true;
	} catch {
		return false;
	}
}

/** Does `turn` again and again, giving way to everything else in between, until `work` is done. */
async function whileTurning(turn: (n: number) => void, work: () => Promise<void>): Promise<void> {
	let going = true;
	const turning = (async () => {
		for (let n = 0; going; n++) {
			turn(n);
			await new Promise((resolve) => setImmediate(resolve));
		}
	})();
	await work().finally(() => {
		going = false;
	});
	await turning;
}

/** Node names the system call that failed, which depends on how far the read had come. */
function withoutCall(text: string | undefined): string {
	return (text ?? "").replace(/, \w+ /, ", ");
}
