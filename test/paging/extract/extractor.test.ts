import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { Extractor, type ExtractorOptions } from "../../../src/paging/extract/extractor.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { hostilePages } from "./hostile-pages.ts";

const baseUrl = "https://example.com/";
const article = {
	html: `<html><head><title>Rivers</title></head><body><nav>Menu</nav><article>${"<p>All rivers, in the end, run into the sea, as they say.</p>".repeat(20)}</article></body></html>`,
	baseUrl,
};
/** Its conversion takes seconds, far longer than the deadlines here. */
const endless = { html: `${"<p>some words, and more of them</p>".repeat(600_000)}needle`, baseUrl };

const open: Extractor[] = [];
function extractor(options: ExtractorOptions = {}) {
	const made = new Extractor({ deadlineMs: PATIENCE_MS, ...options });
	open.push(made);
	const extract: Extractor["extract"] = (page, signal) => made.extract(page, signal);
	return { extract, close: () => made.close() };
}

afterEach(async () => {
	await Promise.all(open.splice(0).map((each) => each.close()));
});

describe("an extractor", () => {
	test("finds the text of a page", { tags: "slow" }, async () => {
		const found = await extractor().extract(article);
		expect(found).toMatchObject({ degraded: false, title: "Rivers" });
		expect(found.markdown.match(/All rivers/g)).toHaveLength(20);
		expect(found.markdown).not.toContain("Menu");
	});

	test("takes many pages at once and answers each", { tags: "slow" }, async () => {
		const { extract } = extractor();
		const pages = Array.from({ length: 20 }, (_, i) => ({ html: `<p>page ${i}</p>`, baseUrl }));
		const found = await Promise.all(pages.map((page) => extract(page)));
		expect(found.map(({ markdown }) => markdown)).toEqual(pages.map((_, i) => `page ${i}`));
	});

	test("text of any kind arrives as it was", { tags: "slow" }, async () => {
		const text = "é 漢字 😀 \ud800 – ".repeat(3).trim();
		expect((await extractor().extract({ html: `<p>${text}</p>`, baseUrl })).markdown).toBe(text);
	});

	test.each([
		["by its type", "application/xhtml+xml", ""],
		["by its declaration on disk", undefined, '<?xml version="1.0"?>'],
	])("reads XHTML as such, %s", { tags: "slow" }, async (_, contentType, start) => {
		const xhtml = `${start}<html><head><script src="x.js"/></head><body><p>one</p></body></html>`;
		const html = { bytes: Buffer.from(xhtml), contentType };
		expect((await extractor().extract({ html, baseUrl })).markdown).toBe("one");
	});

	test("an address that is none is no reason to fail", { tags: "slow" }, async () => {
		const { extract } = extractor();
		const found = await extract({
			html: '<p>see <a href="x">this</a></p>',
			baseUrl: "not an address",
		});
		expect(found).toMatchObject({ markdown: "see [this](x)", degraded: false });
	});
});

describe("a page that takes too long", () => {
	test("is stripped of its tags, and the next one is read as usual", {
		tags: "slow",
	}, async () => {
		const { extract } = extractor({ deadlineMs: 300 });
		const [late, next] = await Promise.all([
			extract(endless),
			extract({ html: "<p>x</p>", baseUrl }),
		]);
		expect(late).toMatchObject({ degraded: true, reason: "deadline" });
		expect(late.markdown.endsWith("\nneedle")).toBe(true);
		expect(next).toMatchObject({ markdown: "x", degraded: false });
	});

	test("leaves the main thread alone", { tags: "slow" }, async () => {
		const { extract } = extractor({ deadlineMs: 1500 });
		let ticks = 0;
		const clock = setInterval(() => ticks++, 10);
		await extract({ html: hostilePages["10 MB of paragraphs"]?.() ?? "", baseUrl });
		await extract(endless);
		clearInterval(clock);
		expect(ticks).toBeGreaterThan(20);
	});
});

describe("a page that takes too much memory", () => {
	test("is stripped of its tags, and the next one is read as usual", { tags: "slow" }, async () => {
		const { extract } = extractor({ maxOldGenerationMb: 24 });
		const html = `<title>T</title><style>p{}</style>${"<p>a &lt; b<br>".repeat(400_000)}needle<script>x`;
		const found = await extract({ html, baseUrl });
		expect(found).toMatchObject({ degraded: true, reason: "out_of_memory" });
		expect(found.markdown.slice(0, 12)).toBe("a < b\na < b\n");
		expect(found.markdown.slice(-12)).toBe("a < b\nneedle");
		expect(await extract(article)).toMatchObject({ degraded: false });
	});
});

describe("hostile pages", () => {
	test("blank lines and spaces inside code are converted in time", { tags: "slow" }, async () => {
		const { extract } = extractor({});
		for (const name of ["half a million blank lines of code", "half a million spaces in code"]) {
			const found = await extract({ html: hostilePages[name]?.() ?? "", baseUrl });
			expect(found.degraded).toBe(false);
		}
	});

	test.each(Object.keys(hostilePages))(
		"%s: an answer, and the next page is read",
		{ tags: "slow" },
		async (name) => {
			const { extract } = extractor({ deadlineMs: 1500 });
			let ticks = 0;
			const clock = setInterval(() => ticks++, 10);
			const found = await extract({ html: hostilePages[name]?.() ?? "", baseUrl });
			const next = await extract(article);
			clearInterval(clock);
			expect(found.markdown.includes("needle")).toBe(true);
			expect(/<\/?[a-z]/i.test(found.markdown)).toBe(false);
			expect(next.markdown).toContain("All rivers");
			expect(ticks).toBeGreaterThan(1);
		},
	);
});

describe("stopping", () => {
	test("a signal aborted before, while waiting or while at work rejects at once", {
		tags: "slow",
	}, async () => {
		const { extract } = extractor();
		const [running, waiting] = [new AbortController(), new AbortController()];
		await expect(extract(article, AbortSignal.abort())).rejects.toMatchObject({ code: "aborted" });
		const first = extract(endless, running.signal);
		const second = extract(article, waiting.signal);
		waiting.abort();
		await expect(second).rejects.toMatchObject({ name: "PagingError", code: "aborted" });
		const third = extract(article);
		setTimeout(() => running.abort(), 200);
		await expect(first).rejects.toMatchObject({ code: "aborted" });
		expect(await third).toMatchObject({ degraded: false });
	});

	test("closing rejects what is under way and what comes after", async () => {
		const made = extractor();
		const running = made.extract(endless);
		const settled = expect(running).rejects.toMatchObject({ code: "aborted" });
		await made.close();
		await settled;
		await expect(made.extract(article)).rejects.toMatchObject({ code: "aborted" });
		await made.close();
	});

	test("a worker without work is let go, and started again for the next page", {
		tags: "slow",
	}, async () => {
		const { extract } = extractor({ idleMs: 1 });
		await extract(article);
		await new Promise((resolve) => setTimeout(resolve, 50));
		expect(await extract(article)).toMatchObject({ degraded: false });
	});

	test("a program ends by itself with its last page, the worker still warm", {
		tags: "slow",
	}, async () => {
		const program = `
			import { Extractor } from ${JSON.stringify(new URL("../../../src/paging/extract/extractor.ts", import.meta.url).href)};
			const found = await new Extractor().extract({ html: "<p>the text</p>", baseUrl: "https://example.com/" });
			console.log(found.markdown);`;
		const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
		let output = "";
		child.stdout.on("data", (data) => {
			output += data;
		});
		const [status] = await once(child, "close");
		expect({ status, output }).toEqual({ status: 0, output: "the text\n" });
	});
});
