/** Paging as a part of pi's `read`: addresses, PDFs, tokens, and its neighbours in the chain. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import type { Chunk } from "../../src/paging/index.ts";
import { type HostileWeb, startHostileWeb } from "../support/hostile-web.ts";
import { docxParagraph, makeDocx } from "../support/make-documents.ts";
import { makePdf } from "../support/make-pdf.ts";
import { sdk } from "../support/pi-sdk.ts";
import { BIRTH_OFF, type PiHarness, type PiOptions } from "../support/pi-session.ts";
import {
	nextId,
	numbered,
	ownAnswer,
	type Reading,
	readingOf,
	startReads,
} from "../support/read-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const TEXT = numbered(2500, "line number");
const ALLOWED = { allowRanges: ["127.0.0.0/8"] };

interface Setup {
	paging?: Record<string, unknown>;
	project?: Record<string, unknown>;
	pi?: PiOptions;
}

/** Pi with our extension, a server it may reach, and a `read` with any arguments. */
async function start({ paging = ALLOWED, project, pi: options = {} }: Setup = {}) {
	const web = await startHostileWeb();
	atEnd(() => web.close());
	web.serve("/text", { headers: { "content-type": "text/plain", etag: '"1"' }, body: TEXT });
	const agentDir = tempDir();
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify({ ...BIRTH_OFF, paging }));
	const cwd = tempDir();
	if (project) {
		mkdirSync(join(cwd, ".pi"));
		writeFileSync(join(cwd, ".pi", "strata.json"), JSON.stringify({ paging: project }));
	}
	const { pi } = await startReads({ agentDir, cwd, ...options });
	return { pi, web, read: (args: Record<string, unknown>) => readWith(pi, args) };
}

async function readWith(pi: PiHarness, args: Record<string, unknown>): Promise<Reading> {
	const id = nextId();
	await pi.run("read", [{ tool: "read", args, id }, "done"]);
	return readingOf(pi, id);
}

/** The chunk without our lines, and the token of the last one. */
function partsOf({ text = "" }: Reading): { chunk: string; token: string | undefined } {
	const match = /^([\s\S]*?)\n\n\[([^\n]*)\]$/.exec(text);
	if (!match) return { chunk: text, token: undefined };
	return {
		chunk: match[1] ?? "",
		token: /To continue, read: (page:.*)$/.exec(match[2] ?? "")?.[1],
	};
}

/** Follows the tokens to the end. */
async function readOn(
	read: (args: Record<string, unknown>) => Promise<Reading>,
	args: Record<string, unknown>,
): Promise<string[]> {
	const chunks: string[] = [];
	let next: Record<string, unknown> | undefined = args;
	while (next) {
		const reading = await read(next);
		expect(reading).toMatchObject({ isError: false });
		const { chunk, token } = partsOf(reading);
		chunks.push(chunk);
		next = token === undefined ? undefined : { path: token };
	}
	return chunks;
}

const urlOf = (web: HostileWeb, path = "/text") => web.url(path).href;
const answerOf = ({ details }: Reading) => details as Omit<Chunk, "content">;

describe("paging: a web address", () => {
	test("is read in chunks, and its tokens lead to the end of exactly the whole", async () => {
		const { web, read } = await start();
		const chunks = await readOn(read, { path: urlOf(web) });
		expect(chunks.length).toBeGreaterThan(4);
		expect(chunks.join("")).toBe(TEXT);
		expect(web.requests).toHaveLength(1);
	});

	test("has one last line that tells how to go on, and details without the content", async () => {
		const { web, read } = await start();
		const reading = await read({ path: urlOf(web) });
		const lines = reading.text?.split("\n") ?? [];
		expect(lines.at(-1)).toMatch(
			new RegExp(
				`^\\[Part of ${TEXT.length} characters\\. To continue, read: page:[\\w-]{48};;;http.*\\]$`,
			),
		);
		const details = answerOf(reading);
		expect(details).toEqual({
			uri: urlOf(web),
			truncated: true,
			next_cursor: expect.any(String),
			content_type: "text/plain",
			kind: "text",
			total_chars: TEXT.length,
		});
	});

	test("has the blank parts of its text as they are, but says so where there is no text at all", async () => {
		const { web, read } = await start();
		const headers = { "content-type": "text/plain" };
		const text = `${"a".repeat(60)}\n${"\n".repeat(200)}${"b".repeat(60)}`;
		web.serve("/gap", { headers, body: text });
		const chunks = await readOn(read, { uri: urlOf(web, "/gap"), max_chars: 64 });
		expect(chunks.join("")).toBe(text);
		expect(chunks.some((chunk) => chunk.trim() === "")).toBe(true);
		web.serve("/blank", { headers, body: "\n\n" });
		expect((await read({ path: urlOf(web, "/blank") })).text).toBe("[no text]");
	});

	test("that is a page comes as markdown", { tags: "slow" }, async () => {
		const { web, read } = await start();
		const { text, details } = await read({ path: urlOf(web, "/ok") });
		expect(text).toContain("All is well.");
		expect(text).not.toContain("<p>");
		expect(details).toMatchObject({ kind: "html", truncated: false });
	});

	test("can be given as uri, with cursor and max_chars", async () => {
		const { web, read } = await start();
		const uri = urlOf(web);
		const first = await read({ uri });
		expect(first.text).toBe((await read({ path: uri })).text);
		const second = await read({ uri, cursor: answerOf(first).next_cursor });
		expect(TEXT.startsWith(partsOf(first).chunk + partsOf(second).chunk)).toBe(true);
		const small = await read({ uri, max_chars: 100 });
		expect(partsOf(small).chunk.length).toBeLessThanOrEqual(100);
		// The token keeps the size.
		const next = await read({ path: partsOf(small).token });
		expect(partsOf(next).chunk.length).toBeLessThanOrEqual(100);
		expect(TEXT.startsWith(partsOf(small).chunk + partsOf(next).chunk)).toBe(true);
		const all = { uri, cursor: answerOf(small).next_cursor, max_chars: 1e6 };
		expect(partsOf(await read(all)).chunk.length).toBeGreaterThan(15_000);
		expect(web.requests).toHaveLength(1);
	});

	test("is continued after a restart of pi by a token from before", async () => {
		const { pi, web, read } = await start({ pi: { persist: true } });
		const first = partsOf(await read({ path: urlOf(web) }));
		await pi.restart();
		const rest = await readOn(read, { path: first.token });
		expect([first.chunk, ...rest].join("")).toBe(TEXT);
		expect(web.requests).toHaveLength(2);
	});

	test("that has changed is read from its beginning, and the model is told", async () => {
		const { pi, web, read } = await start({ pi: { persist: true } });
		const { token } = partsOf(await read({ path: urlOf(web) }));
		web.serve("/text", { headers: { "content-type": "text/plain" }, body: `new ${TEXT}` });
		await pi.restart();
		const reading = await read({ path: token });
		expect(reading.text).toMatch(/^new line number 1\n/);
		expect(reading.text).toContain("[The content has changed since the last read");
		expect(reading.details).toMatchObject({ cursor_reset: true, cursor_reason: "content_changed" });
	});

	test("ends with the turn when the user aborts", { tags: "slow" }, async () => {
		const { pi, web, read } = await start();
		const id = nextId();
		const args = { path: urlOf(web, "/silence") };
		const running = pi.run("read", [{ tool: "read", args, id }]);
		await expect.poll(() => web.requests.length).toBe(1);
		await pi.session.abort();
		await running;
		const stored = pi.toolResults().find(({ toolCallId }) => toolCallId === id);
		expect(stored).toMatchObject({ isError: true, text: "Operation aborted" });
		expect((await read({ path: urlOf(web, "/ok") })).isError).toBe(false);
	});
});

describe("paging: a clear error for", () => {
	const failing: [string, (web: HostileWeb) => Record<string, unknown>, RegExp][] = [
		["offset on an address", (web) => ({ path: urlOf(web), offset: 5 }), /offset and limit do not/],
		["limit on an address", (web) => ({ uri: urlOf(web), limit: 5 }), /page:… token/],
		["a broken token", () => ({ path: "page:x" }), /not a token that read gave out/],
		["a token with a wrong cursor", (web) => ({ path: `page:abc;;;${urlOf(web)}` }), /Malformed/],
		["a wrong cursor", (web) => ({ uri: urlOf(web), cursor: "abc" }), /Malformed cursor/],
		["offset on a token", (web) => ({ path: `page:;;;${urlOf(web)}`, offset: 2 }), /offset and/],
		["a max_chars that is too small", (web) => ({ uri: urlOf(web), max_chars: 10 }), /at least 64/],
		["a max_chars of nothing", (web) => ({ uri: urlOf(web), max_chars: 0 }), /at least 64/],
		["a max_chars in words", (web) => ({ uri: urlOf(web), max_chars: "many" }), /at least 64/],
		["a status", (web) => ({ path: urlOf(web, "/status/404") }), /404/],
		["a file: address out of the project", () => ({ path: "file:///etc/passwd" }), /outside/],
		["a cursor without anything to read", () => ({ cursor: "abc" }), /path/],
	];
	test.each(failing)("%s", { tags: "slow" }, async (_name, args, message) => {
		const { web, read } = await start();
		const reading = await read(args(web));
		expect(reading).toMatchObject({ isError: true, text: expect.stringMatching(message) });
	});

	test("an address that is not public, with the setting that allows it", async () => {
		const { web, read } = await start({ paging: {} });
		expect(await read({ path: urlOf(web) })).toMatchObject({
			isError: true,
			text: expect.stringContaining("paging.allowRanges"),
		});
		expect(web.connections).toBe(0);
	});

	test("an address that only the project's settings would allow", async () => {
		const { pi, web, read } = await start({ paging: {}, project: ALLOWED });
		expect(await read({ path: urlOf(web) })).toMatchObject({ isError: true });
		expect(web.connections).toBe(0);
		expect(pi.notifications.map(({ message }) => message).join("\n")).toContain("allowRanges");
	});
});

describe("paging: a PDF", () => {
	const pages = Array.from({ length: 30 }, (_, index) => ({
		lines: [`This is page ${index + 1}.`],
	}));

	test("is read by its path, with offset and limit as pages", { tags: "slow" }, async () => {
		const { pi, read } = await start();
		pi.write("docs/a.pdf", makePdf({ pages, title: "Its title" }));
		const whole = await read({ path: "docs/a.pdf" });
		expect(whole.text).toMatch(
			/^\[page \d+\]\nThis is page 1\.[\s\S]*This is page 30\.\n[\s\S]*\[Pages 1-30 of 30\.\]$/,
		);
		expect(whole.details).toMatchObject({ kind: "pdf", title: "Its title", truncated: false });
		const some = await read({ path: "docs/a.pdf", offset: 5, limit: 3 });
		expect(some.text?.match(/(?<!\[)page \d+/g)).toEqual(["page 5", "page 6", "page 7"]);
		expect(some.text).toContain("[Pages 5-7 of 30.]");
		const tail = await read({ path: join(pi.cwd, "docs/a.pdf"), offset: 29 });
		expect(tail.text?.match(/(?<!\[)page \d+/g)).toEqual(["page 29", "page 30"]);
		expect(await read({ path: "docs/a.pdf", offset: 31 })).toMatchObject({
			isError: true,
			text: expect.stringContaining("30 pages"),
		});
	});

	test("is continued by a token that keeps the last page", { tags: "slow" }, async () => {
		const { pi, read } = await start();
		const lines = Array.from({ length: 150 }, (_, index) => `Line ${index + 1} of a full page.`);
		pi.write("a.pdf", makePdf({ pages: Array.from({ length: 9 }, () => ({ lines })) }));
		const first = await read({ path: "a.pdf", offset: 2, limit: 4 });
		expect(first.text).toMatch(/\[Pages 2-\d of 9\. To continue, read: page:[\w-]{48};;5;\/.*\]$/);
		const chunks = await readOn(read, { path: "a.pdf", offset: 2, limit: 4 });
		expect(chunks.join("").match(/Line 150 of/g)).toHaveLength(4);
	});

	test("outside the project is read by a plain path, as pi would, but not by a file: address", {
		tags: "slow",
	}, async () => {
		const { read } = await start();
		const path = join(tempDir(), "a.pdf");
		writeFileSync(path, makePdf({ pages }));
		expect((await read({ path })).text).toContain("This is page 1.");
		expect(await read({ path: pathToFileURL(path).href })).toMatchObject({
			isError: true,
			text: expect.stringContaining("outside the folders"),
		});
	});

	test("outside the project is continued only in a session that has read it by its path", {
		tags: "slow",
	}, async () => {
		const lines = Array.from({ length: 150 }, (_, index) => `Line ${index + 1} of a full page.`);
		const path = join(tempDir(), "a.pdf");
		writeFileSync(path, makePdf({ pages: Array.from({ length: 9 }, () => ({ lines })) }));
		const { token } = partsOf(await (await start()).read({ path }));
		expect(token).toMatch(/^page:/);
		const { read } = await start();
		expect(await read({ path: token })).toMatchObject({
			isError: true,
			text: expect.stringContaining("outside the folders"),
		});
		await read({ path });
		expect((await read({ path: token })).text).toContain("of a full page.");
	});

	test("only by name is left to pi", async () => {
		const { pi, read } = await start();
		pi.write("text.pdf", "just text");
		expect((await read({ path: "text.pdf" })).text).toBe("just text");
		expect(await read({ path: "missing.pdf" })).toMatchObject({
			isError: true,
			text: (await ownAnswer(pi, "missing.pdf")).text,
		});
	});
});

describe("paging: beside the read cache", () => {
	const UNCHANGED = "[readcache: unchanged, 61 lines]";

	test("a local text stays the read cache's", async () => {
		const { pi, read } = await start();
		pi.write("a.txt", numbered(60));
		expect(await read({ path: "a.txt" })).toMatchObject({ text: numbered(60) });
		expect((await read({ path: "a.txt" })).text).toBe(UNCHANGED);
		expect((await read({ uri: "a.txt" })).text).toBe(UNCHANGED);
	});

	test.each([
		["max_chars", () => ({ uri: "a.txt", max_chars: 500 })],
		["an absolute path", (cwd: string) => ({ uri: join(cwd, "a.txt"), max_chars: 500 })],
		["a file: address", (cwd: string) => ({ path: pathToFileURL(join(cwd, "a.txt")).href })],
		["a relative file: address", () => ({ path: "file:a.txt" })],
		["a file: address in capitals", () => ({ path: "FILE:./a%2Etxt" })],
		["a file: address with max_chars", () => ({ uri: "file:a.txt", max_chars: 500 })],
		["a path with steps in it", () => ({ uri: "sub/../a.txt", max_chars: 64 })],
		["a path as pi's own prompt writes it", () => ({ uri: "@a.txt", max_chars: 64 })],
	])("a paged read of it, by %s, ends what was known", { tags: "slow" }, async (_name, args) => {
		const { pi, read } = await start();
		pi.write("a.txt", numbered(60));
		await read({ path: "a.txt" });
		expect((await read({ path: "a.txt" })).text).toBe(UNCHANGED);
		const paged = await read(args(pi.cwd));
		expect(paged.text).toMatch(/^line 1\n/);
		expect(paged.meta).toBeUndefined();
		expect((await read({ path: "a.txt" })).text).toBe(numbered(60));
		expect((await read({ path: "a.txt" })).text).toBe(UNCHANGED);
	});

	test("a read of the web leaves what is known of files", async () => {
		const { pi, web, read } = await start();
		pi.write("a.txt", numbered(60));
		await read({ path: "a.txt" });
		const { token } = partsOf(await read({ path: urlOf(web) }));
		await read({ path: token });
		expect((await read({ path: "a.txt" })).text).toBe(UNCHANGED);
	});
});

describe("paging: in pi", () => {
	test("leaves the schema and the guidelines pi's own, but for one line", async () => {
		const { pi } = await start();
		const own = sdk.createReadToolDefinition(pi.cwd);
		const ours = pi.session.getToolDefinition("read");
		expect(ours?.parameters).toEqual(own.parameters);
		expect(ours?.description).toBe(own.description);
		const guidelines = own.promptGuidelines ?? [];
		expect(ours?.promptGuidelines?.slice(0, guidelines.length)).toEqual(guidelines);
		expect(ours?.promptGuidelines?.slice(guidelines.length)).toEqual([
			expect.stringContaining("page:… token"),
		]);
		expect(pi.session.systemPrompt).toContain("page:… token");
	});

	test("does nothing when it is turned off", async () => {
		const { pi, web, read } = await start({ paging: { ...ALLOWED, enabled: false } });
		pi.write("a.pdf", makePdf({ pages: [{ lines: ["words"] }] }));
		for (const path of [urlOf(web), "page:;;;a.txt", "a.pdf", "file:a.txt"]) {
			const own = await ownAnswer(pi, path);
			expect(await read({ path })).toMatchObject({ text: own.text, isError: own.isError });
		}
		expect(web.connections).toBe(0);
	});

	test("shows on the status page", async () => {
		const { pi } = await start();
		await pi.command("/strata");
		const text = pi.reports.map(({ data }) => (data as { text?: string }).text).join("\n");
		expect(text).toMatch(/^on {3}paging/m);
	});
});

describe("paging: an office document", () => {
	test("is read by its path, where pi would show bytes", { tags: "slow" }, async () => {
		const { pi, read } = await start();
		writeFileSync(join(pi.cwd, "plan.docx"), makeDocx(docxParagraph("The plan of the week.")));
		expect((await read({ path: "plan.docx" })).text).toBe("The plan of the week.");
	});
});
