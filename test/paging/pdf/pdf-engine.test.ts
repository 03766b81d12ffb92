import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import {
	type PdfDocument,
	PdfEngine,
	type PdfEngineOptions,
} from "../../../src/paging/pdf/pdf-engine.ts";
import { makePdf, type PageContent, withBrokenXref } from "../../support/make-pdf.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { fc, runs } from "../../support/property.ts";

// Generous: what is tested for its deadline sets its own.
const shared = new PdfEngine({ deadlineMs: PATIENCE_MS });
afterAll(() => shared.close());

const own: PdfEngine[] = [];
afterEach(async () => {
	await Promise.all(own.splice(0).map((engine) => engine.close()));
});

function engineOf(options: PdfEngineOptions = {}): PdfEngine {
	const engine = new PdfEngine({ deadlineMs: PATIENCE_MS, ...options });
	own.push(engine);
	return engine;
}

const ALL = { maxChars: 10_000 };

function linesOf(page: number, count = 3): string[] {
	return Array.from({ length: count }, (_, line) => `Page ${page}, line ${line + 1}: (a \\ b)`);
}

function textPages(count: number, lines = 3): PageContent[] {
	return Array.from({ length: count }, (_, i) => ({ lines: linesOf(i + 1, lines) }));
}

async function textsOf(document: PdfDocument, limit = ALL): Promise<string[]> {
	const pages = await document.pages(1, document.totalPages, limit);
	return pages.map(({ text }) => text);
}

/** About a megabyte of text takes pdfium more than half a second. */
const longLines = Array.from({ length: 10_000 }, (_, i) => `${i} `.padEnd(104, "lorem ipsum "));
const longPage = { lines: longLines };
const longText = longLines.map((line) => line.trimEnd()).join("\n");

/** 12 MB of operators in 30 kB, each of which looks up 2,000 names: busy for most of a minute, without a trace in memory. */
const busyPage = { operators: "/G gs\n".repeat(2_000_000) };
const busyNames = Array.from({ length: 2000 }, (_, i) => `/K${i} 0`).join(" ");
const busyPdf = () =>
	makePdf({
		pages: [...textPages(1), busyPage],
		compress: true,
		resources: `/ExtGState << /G << ${busyNames} >> >>`,
	});

describe("reading", () => {
	test("every page has exactly its text", { tags: "slow" }, async () => {
		const document = await shared.open(makePdf({ pages: textPages(40), compress: true }));
		expect(document.totalPages).toBe(40);
		expect(await document.pages(1, 40, ALL)).toEqual(
			Array.from({ length: 40 }, (_, i) => ({ number: i + 1, text: linesOf(i + 1).join("\n") })),
		);
	});

	test("the first chunk of 2,000 pages looks at no other page, and any page is reached directly", {
		tags: "slow",
	}, async () => {
		const engine = engineOf();
		const document = await engine.open(makePdf({ pages: textPages(2000, 30) }));
		expect(document.totalPages).toBe(2000);
		expect(engine.stats().pagesLoaded).toBe(0);
		const chunk = await document.pages(1, 100, { maxChars: 2000 });
		expect(chunk.length).toBeLessThan(10);
		expect(engine.stats().pagesLoaded).toBe(chunk.length);
		for (const number of [1999, 1000, 2000, 2]) {
			expect(await document.pages(number, 1, ALL)).toEqual([
				{ number, text: linesOf(number, 30).join("\n") },
			]);
		}
		expect(engine.stats().pagesLoaded).toBe(chunk.length + 4);
	});

	test("a call ends with the page that reaches the limit, and pages are whole", {
		tags: "slow",
	}, async () => {
		const document = await shared.open(makePdf({ pages: textPages(5) }));
		const size = linesOf(1).join("\n").length;
		expect(await document.pages(1, 5, { maxChars: 1 })).toHaveLength(1);
		expect(await document.pages(1, 5, { maxChars: size })).toHaveLength(1);
		expect(await document.pages(1, 5, { maxChars: size + 1 })).toHaveLength(2);
		expect(await document.pages(4, 5, ALL)).toHaveLength(2);
	});

	test("the page that ended a call is not read again when the next begins with it", {
		tags: "slow",
	}, async () => {
		const engine = engineOf();
		const document = await engine.open(makePdf({ pages: textPages(5) }));
		const first = await document.pages(1, 3, ALL);
		const second = await document.pages(3, 3, ALL);
		expect(second[0]).toEqual(first[2]);
		expect(second.map(({ number }) => number)).toEqual([3, 4, 5]);
		expect(await document.pages(5, 1, { maxChars: 1 })).toEqual([second[2]]);
		expect(engine.stats().pagesLoaded).toBe(5);
	});

	test("pages that the document does not have are refused", async () => {
		const document = await shared.open(makePdf({ pages: textPages(3) }));
		for (const [first, count] of [
			[0, 1],
			[4, 1],
			[1.5, 1],
			[Number.NaN, 1],
			[1, 0],
		] as const)
			await expect(document.pages(first, count, ALL)).rejects.toMatchObject({
				code: "invalid_pages",
				message: expect.stringContaining("the document has 3"),
			});
	});

	test("words are joined over lines, never over pages", async () => {
		const pages = [
			{ lines: ["This is an exam-", "ple of soft\xad", "ness, 10-", "12 and sen-"] },
			{ lines: ["tences"] },
		];
		const document = await shared.open(makePdf({ pages }));
		expect(await textsOf(document)).toEqual([
			"This is an example of softness, 10-\n12 and sen-",
			"tences",
		]);
	});

	test("two columns are read one after the other", async () => {
		const pages = [
			{ lines: ["left 1", "left 2 hy-", "phen"], rightColumn: ["right 1", "right 2"] },
		];
		const document = await shared.open(makePdf({ pages }));
		expect(await textsOf(document)).toEqual(["left 1\nleft 2 hyphen\nright 1\nright 2"]);
	});

	test("words that are placed one by one make the same lines", async () => {
		const lines = ["Every word, (even) these ones:", "WAVE 10 % of 2,000 i l m W", "the end"];
		const document = await shared.open(
			makePdf({ pages: [{ lines, placeWords: true }, { lines }] }),
		);
		expect(await textsOf(document)).toEqual([lines.join("\n"), lines.join("\n")]);
	});

	test("the title is the document's own", async () => {
		const titleOf = async (title?: string) => {
			const options = title === undefined ? {} : { title };
			return (await shared.open(makePdf({ pages: textPages(1), ...options }))).title;
		};
		expect(await titleOf("Über 日本 😀")).toBe("Über 日本 😀");
		expect(await titleOf(`two\nlines ${"x".repeat(5000)}`)).toMatch(/^two lines x{190}$/);
		expect(await titleOf("")).toBeUndefined();
		expect(await titleOf()).toBeUndefined();
	});

	test("an empty page is empty, and one with only a picture says so", async () => {
		const document = await shared.open(makePdf({ pages: [{}, { image: true }, ...textPages(1)] }));
		expect(await document.pages(1, 3, ALL)).toEqual([
			{ number: 1, text: "" },
			{ number: 2, text: "", warning: "no_text" },
			{ number: 3, text: linesOf(1).join("\n") },
		]);
	});

	test("a map to Unicode is followed, and a broken one is noticed", async () => {
		const lines = ["cipher text in a font of its own"];
		const rotated = makePdf({
			pages: [{ lines: ["ABC"], mapped: true }],
			toUnicode: (code) => (code === 0x42 ? "😀" : String.fromCodePoint(code + 0x400)),
		});
		expect(await textsOf(await shared.open(rotated))).toEqual(["\u0441😀\u0443"]);
		const broken = makePdf({
			pages: [{ lines, mapped: true }, { lines }],
			toUnicode: (code) => String.fromCharCode(code % 32),
		});
		const [bad, good] = await (await shared.open(broken)).pages(1, 2, ALL);
		expect(bad).toMatchObject({ number: 1, warning: "broken_encoding" });
		expect(good).toEqual({ number: 2, text: lines[0] });
	});

	test("a page of a megabyte of text is read whole, and the main thread goes on meanwhile", {
		tags: "slow",
	}, async () => {
		const document = await shared.open(makePdf({ pages: [longPage, ...textPages(1)] }));
		let ticks = 0;
		const timer = setInterval(() => ticks++, 10);
		const [page] = await document.pages(1, 1, { maxChars: 8000 });
		clearInterval(timer);
		expect(page?.text === longText).toBe(true);
		expect(ticks).toBeGreaterThan(5);
		document.close();
	});
});

describe("many pages and documents", () => {
	test("a long range is shared out to the workers and comes back in order", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ workers: 2 });
		const count = 300;
		const document = await engine.open(makePdf({ pages: textPages(count, 40), compress: true }));
		const pages = await document.pages(1, count, { maxChars: Number.POSITIVE_INFINITY });
		expect(pages.map(({ number }) => number)).toEqual(
			Array.from({ length: count }, (_, i) => i + 1),
		);
		expect(pages.every(({ number, text }) => text === linesOf(number, 40).join("\n"))).toBe(true);
		expect(engine.stats().started).toBe(2);
	});

	test("a long range ends with the page that reaches the limit", { tags: "slow" }, async () => {
		const engine = engineOf({ workers: 2 });
		const document = await engine.open(makePdf({ pages: textPages(400, 50), compress: true }));
		const pages = await document.pages(5, 390, { maxChars: 200_000 });
		const chars = pages.reduce((sum, { text }) => sum + text.length, 0);
		expect(chars).toBeGreaterThanOrEqual(200_000);
		expect(chars - (pages.at(-1)?.text.length ?? 0)).toBeLessThan(200_000);
		expect(pages.map(({ number }) => number)).toEqual(pages.map((_, i) => i + 5));
	});

	test("documents are read in turn, and at the same time", async () => {
		const [a, b] = await Promise.all([
			shared.open(makePdf({ pages: textPages(3) })),
			shared.open(makePdf({ pages: [{ lines: ["other"] }, { lines: ["document"] }] })),
		]);
		for (const number of [1, 2]) {
			expect((await a.pages(number, 1, ALL))[0]?.text).toBe(linesOf(number).join("\n"));
			expect((await b.pages(number, 1, ALL))[0]?.text).toBe(["other", "document"][number - 1]);
		}
		expect(await Promise.all([textsOf(b), textsOf(a), textsOf(b)])).toEqual([
			["other", "document"],
			[1, 2, 3].map((number) => linesOf(number).join("\n")),
			["other", "document"],
		]);
	});

	test("a worker keeps a bounded number of documents open, and all of them stay readable", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ workers: 1 });
		const documents: PdfDocument[] = [];
		for (let i = 0; i < 12; i++)
			documents.push(await engine.open(makePdf({ pages: [{ lines: [`document ${i}`] }] })));
		for (const [i, document] of [...documents.entries(), ...documents.entries()])
			expect((await document.pages(1, 1, { maxChars: 1 }))[0]?.text).toBe(`document ${i}`);
		expect(engine.stats()).toMatchObject({ openDocuments: 8, started: 1 });
	});

	test("a closed document gives its memory back", { tags: "slow" }, async () => {
		const engine = engineOf({ workers: 1 });
		const large = Buffer.concat([makePdf({ pages: textPages(2) }), Buffer.alloc(8 << 20, 0x20)]);
		for (let i = 0; i < 12; i++) {
			const document = await engine.open(large);
			await document.pages(1, 2, ALL);
			document.close();
		}
		const last = await engine.open(makePdf({ pages: textPages(1) }));
		expect(await textsOf(last)).toHaveLength(1);
		expect(engine.stats().openDocuments).toBe(1);
		expect(engine.stats().memoryBytes).toBeLessThan(48 << 20);
	});
});

describe("what is no PDF, or not a whole one", () => {
	test.each([
		["nothing", Buffer.alloc(0)],
		["text", Buffer.from("Hello, this is not a document.\n".repeat(100))],
		["random bytes", Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * i * 31 + 7) & 255))],
		["a header alone", Buffer.from("%PDF-1.7\n")],
		[
			"a header and random bytes",
			Buffer.from(`%PDF-1.7\n${"\x93\x02obj<<".repeat(999)}`, "latin1"),
		],
		["half of a document", makePdf({ pages: textPages(20) }).subarray(0, 4000)],
	])("%s is refused with a clear error", async (_, bytes) => {
		await expect(shared.open(bytes)).rejects.toMatchObject({
			name: "PagingError",
			code: "not_a_pdf",
			message: expect.stringContaining("PDF"),
		});
	});

	test("a document that asks for a password is refused as such", async () => {
		const bytes = makePdf({ pages: textPages(2), userPassword: "secret" });
		await expect(shared.open(bytes)).rejects.toMatchObject({
			code: "encrypted_pdf",
			message: expect.stringContaining("password"),
		});
	});

	test("an encrypted document that opens without a password is read", async () => {
		const document = await shared.open(
			makePdf({ pages: textPages(2), title: "Open", userPassword: "", compress: true }),
		);
		expect(document.title).toBe("Open");
		expect(await textsOf(document)).toEqual([1, 2].map((page) => linesOf(page).join("\n")));
	});

	test("junk before the header, a broken table of objects and a cut-off end are got over", async () => {
		const pdf = makePdf({ pages: textPages(3) });
		const texts = [1, 2, 3].map((page) => linesOf(page).join("\n"));
		for (const bytes of [
			Buffer.concat([Buffer.from("junk\n".repeat(200)), pdf]),
			Buffer.concat([pdf, Buffer.from("junk\n".repeat(200))]),
			withBrokenXref(pdf),
			pdf.subarray(0, pdf.lastIndexOf("startxref")),
		])
			expect(await textsOf(await shared.open(bytes))).toEqual(texts);
	});

	test("wherever a document is cut or damaged, the answer is text or a clear error", async () => {
		const whole = makePdf({ pages: textPages(4), title: "Damaged", compress: true });
		const place = fc.nat({ max: whole.length - 1 });
		const damage = fc.array(fc.tuple(place, fc.nat({ max: 255 })), { maxLength: 20 });
		const property = fc.asyncProperty(place, damage, async (end, changes) => {
			const bytes = Buffer.from(whole.subarray(0, changes.length % 2 === 0 ? end : undefined));
			for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
			const read = async () => {
				const document = await shared.open(bytes);
				const texts = document.totalPages > 0 ? await textsOf(document) : [];
				document.close();
				return texts.length === document.totalPages ? "read" : "lost pages";
			};
			const outcome = await read().catch((error) => error.code);
			expect(["read", "not_a_pdf", "encrypted_pdf"]).toContain(outcome);
		});
		await fc.assert(property, { numRuns: runs(150) });
	});

	test("a page that the document promises but does not have is marked", async () => {
		const text = makePdf({ pages: textPages(2) }).toString("latin1");
		const lying = Buffer.from(text.replace("/Count 2", "/Count 900000"), "latin1");
		const document = await shared.open(lying);
		expect(document.totalPages).toBeLessThan(5000);
		expect(await document.pages(2, 2, ALL)).toEqual([
			{ number: 2, text: linesOf(2).join("\n") },
			{ number: 3, text: "", warning: "unreadable" },
		]);
	});
});

describe("trouble", () => {
	test("a document survives the death of its worker, and so does a call", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ workers: 1 });
		const workers: Worker[] = [];
		const remember = (worker: Worker) => workers.push(worker);
		process.on("worker", remember);
		const document = await engine.open(makePdf({ pages: [...textPages(2), longPage] }));
		await document.pages(1, 1, ALL);
		await workers[0]?.terminate();
		expect((await document.pages(2, 1, ALL))[0]?.text).toBe(linesOf(2).join("\n"));

		const reading = document.pages(3, 1, ALL);
		await sleep(50);
		await workers[1]?.terminate();
		expect((await reading)[0]?.text === longText).toBe(true);
		expect(engine.stats().started).toBe(3);
		process.off("worker", remember);
	});

	test("a page that takes too long ends the worker, not the document", {
		tags: "slow",
	}, async () => {
		// Far more than the other jobs need on a busy machine, and far less than the page.
		const engine = engineOf({ workers: 1, deadlineMs: 4000 });
		const document = await engine.open(busyPdf());
		const other = await engine.open(makePdf({ pages: textPages(2) }));
		const overrun = document.pages(2, 1, ALL);
		const queued = textsOf(other);
		await expect(overrun).rejects.toMatchObject({
			code: "timeout",
			message: expect.stringContaining("4 s"),
		});
		expect(await queued).toHaveLength(2);
		expect((await document.pages(1, 1, ALL))[0]?.text).toBe(linesOf(1).join("\n"));
		expect(engine.stats().started).toBe(2);
	});

	test("a page that takes too much memory ends the worker, not the document", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ workers: 1, maxMemoryMb: 40 });
		const document = await engine.open(
			makePdf({ pages: [...textPages(1), longPage], compress: true }),
		);
		await expect(document.pages(2, 1, ALL)).rejects.toMatchObject({
			code: "too_large",
			message: expect.stringContaining("40 MB"),
		});
		expect((await document.pages(1, 1, ALL))[0]?.text).toBe(linesOf(1).join("\n"));
	});

	test("a document larger than the memory is refused", { tags: "slow" }, async () => {
		const engine = engineOf({ workers: 1, maxMemoryMb: 24 });
		const large = Buffer.concat([makePdf({ pages: textPages(1) }), Buffer.alloc(30 << 20, 0x20)]);
		await expect(engine.open(large)).rejects.toMatchObject({ code: "too_large" });
		expect(await textsOf(await engine.open(makePdf({ pages: textPages(1) })))).toHaveLength(1);
	});

	test("abort rejects at once, before, while waiting and while reading", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ workers: 1 });
		const aborted = { name: "PagingError", code: "aborted" };
		const bytes = makePdf({ pages: [longPage, ...textPages(2)] });
		await expect(engine.open(bytes, AbortSignal.abort())).rejects.toMatchObject(aborted);

		const document = await engine.open(bytes);
		await document.pages(2, 1, ALL);
		await expect(document.pages(2, 1, ALL, AbortSignal.abort())).rejects.toMatchObject(aborted);

		const [reading, waiting] = [new AbortController(), new AbortController()];
		let isDone = false;
		const running = document.pages(1, 1, ALL, reading.signal);
		const unaffected = document.pages(1, 1, ALL).then(() => {
			isDone = true;
		});
		const queued = document.pages(3, 1, ALL, waiting.signal);
		waiting.abort();
		await expect(queued).rejects.toMatchObject(aborted);
		await sleep(20);
		reading.abort();
		await expect(running).rejects.toMatchObject(aborted);
		expect(isDone).toBe(false);
		await unaffected;
		expect(engine.stats().started).toBe(1);
	});

	test("an aborted range does not keep the worker busy", { tags: "slow" }, async () => {
		const engine = engineOf({ workers: 1 });
		const document = await engine.open(makePdf({ pages: textPages(2000, 40), compress: true }));
		const controller = new AbortController();
		const range = document.pages(1, 2000, { maxChars: 150_000 }, controller.signal);
		controller.abort();
		await expect(range).rejects.toMatchObject({ code: "aborted" });
		await document.pages(1000, 1, ALL);
		expect(engine.stats().pagesLoaded).toBeLessThan(50);
	});

	test("closing twice is fine, and reading after it is an error", { tags: "slow" }, async () => {
		const engine = engineOf();
		const bytes = makePdf({ pages: [...textPages(1), longPage] });
		const document = await engine.open(bytes);
		document.close();
		document.close();
		const closed = { name: "PagingError", code: "aborted" };
		await expect(document.pages(1, 1, ALL)).rejects.toMatchObject(closed);

		const other = await engine.open(bytes);
		await other.pages(1, 1, ALL);
		const unfinished = other.pages(2, 1, ALL);
		const failure = expect(unfinished).rejects.toMatchObject(closed);
		await Promise.all([engine.close(), engine.close()]);
		await failure;
		await expect(other.pages(2, 1, ALL)).rejects.toMatchObject(closed);
		await expect(engine.open(bytes)).rejects.toMatchObject(closed);
		other.close();
	});

	test("a worker without work ends, and the next call starts another", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ idleMs: 30 });
		const document = await engine.open(makePdf({ pages: textPages(2) }));
		await document.pages(1, 1, ALL);
		while (engine.stats().workers > 0) await sleep(10);
		expect(await textsOf(document)).toHaveLength(2);
		expect(engine.stats().started).toBe(2);
	});
});

describe("large documents", () => {
	test("the bytes reach the worker in parts, also a second time", { tags: "slow" }, async () => {
		const engine = engineOf({ workers: 1 });
		const gap = Buffer.alloc(10 << 20, 0x20);
		const pdf = withGap(makePdf({ pages: textPages(2) }), gap);
		const document = await engine.open(pdf);
		expect(await textsOf(document)).toEqual([1, 2].map((page) => linesOf(page).join("\n")));
		for (let i = 0; i < 8; i++) await engine.open(makePdf({ pages: textPages(1) }));
		expect((await document.pages(1, 1, ALL))[0]?.text).toBe(linesOf(1).join("\n"));
		expect(engine.stats()).toMatchObject({ started: 1, openDocuments: 8 });
	});

	test("a document that is not wanted any more while it is sent is not kept", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ workers: 1 });
		const small = await engine.open(makePdf({ pages: textPages(2) }));
		const pdf = withGap(makePdf({ pages: textPages(1) }), Buffer.alloc(10 << 20, 0x20));
		const controller = new AbortController();
		const opening = engine.open(pdf, controller.signal);
		controller.abort();
		await expect(opening).rejects.toMatchObject({ code: "aborted" });
		const closing = await engine.open(pdf);
		const reading = closing.pages(1, 1, ALL);
		closing.close();
		expect(await reading).toHaveLength(1);
		expect(await textsOf(small)).toHaveLength(2);
		expect(engine.stats()).toMatchObject({ started: 1, openDocuments: 1 });
	});

	test("documents give way to each other before the memory is full", {
		tags: "slow",
	}, async () => {
		const engine = engineOf({ workers: 1, maxMemoryMb: 64 });
		const pdf = withGap(makePdf({ pages: textPages(1) }), Buffer.alloc(12 << 20, 0x20));
		const documents: PdfDocument[] = [];
		for (let i = 0; i < 5; i++) documents.push(await engine.open(pdf));
		for (const document of documents) expect(await textsOf(document)).toHaveLength(1);
		expect(engine.stats()).toMatchObject({ started: 1, openDocuments: 2 });
	});
});

describe("the process", () => {
	test("stays until a call is answered, and then ends without the engine being closed", {
		tags: "slow",
	}, async () => {
		const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
		const script = `
			const { PdfEngine } = await import(${JSON.stringify(here("../../../src/paging/pdf/pdf-engine.ts"))});
			const { makePdf } = await import(${JSON.stringify(here("../../support/make-pdf.ts"))});
			const document = await new PdfEngine().open(makePdf({ pages: [{ lines: ["done"] }] }));
			const [page] = await document.pages(1, 1, { maxChars: 100 });
			console.log(page.text);
		`;
		const run = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
		expect((await run).stdout).toBe("done\n");
	});
});

/** The same document with so many bytes between its header and its objects. */
function withGap(pdf: Buffer, gap: Buffer): Buffer {
	const header = pdf.indexOf("\n1 0 obj") + 1;
	const text = pdf.subarray(header).toString("latin1");
	const moved = text.replace(/^\d{10}(?= \d{5} n)|(?<=startxref\n)\d+/gm, (offset) =>
		String(Number(offset) + gap.length).padStart(offset.length, "0"),
	);
	return Buffer.concat([pdf.subarray(0, header), gap, Buffer.from(moved, "latin1")]);
}
