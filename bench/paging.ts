/**
 * The claims of paging in one run: the next chunk of a cached resource here, PDF and HTML figures by the two benchmarks
 * beside this one. `npm run bench -- paging`; writes `bench/results/paging.json`, `paging-pdf.json`, `paging-html.json`.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createReader } from "../src/paging/index.ts";
import { startHostileWeb } from "../test/support/hostile-web.ts";
import { makePdf } from "../test/support/make-pdf.ts";
import { type Line, median, printLines, rounded, saveLines, timed } from "./support.ts";

const MAX_CHUNKS = 100;
const PARAGRAPH = `${"Text that goes on for a while, as in a long document. ".repeat(12)}\n\n`;

const root = mkdtempSync(join(tmpdir(), "bench-paging-"));
const web = await startHostileWeb();
const reader = createReader({ root, allowRanges: ["127.0.0.0/8", "::1/128"] });
try {
	writeFileSync(join(root, "text.txt"), PARAGRAPH.repeat(1500));
	writeFileSync(join(root, "document.pdf"), makePdf({ pages: Array(200).fill(pdfPage()) }));
	const body = PARAGRAPH.repeat(300).trim().split("\n\n").join("</p><p>");
	web.serve("/page", {
		headers: { "content-type": "text/html" },
		body: `<main><h1>A page</h1><p>${body}</p></main>`,
	});
	const lines = [
		await nextChunks("a local text of 1 MB", "text.txt"),
		await nextChunks("a web page", web.url("/page").href),
		await nextChunks("a PDF of 200 pages", "document.pdf"),
	];
	printLines(lines);
	saveLines("paging", lines);
} finally {
	await reader.close();
	await web.close();
	rmSync(root, { recursive: true });
}

if (!process.argv.includes("--quick"))
	for (const name of ["paging-pdf", "paging-html"]) {
		const script = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
		const { status } = spawnSync(process.execPath, [script], { stdio: "inherit" });
		if (status !== 0) process.exitCode = 1;
	}

/** Goes on through the resource: every chunk is one that was not read before. */
async function nextChunks(what: string, uri: string): Promise<Line> {
	let { next_cursor: cursor } = await reader.read({ uri });
	const times: number[] = [];
	while (cursor !== undefined && times.length < MAX_CHUNKS) {
		const next: { cursor?: string | undefined } = {};
		const ms = await timed(async () => {
			next.cursor = (await reader.read({ uri, cursor })).next_cursor;
		});
		times.push(ms);
		cursor = next.cursor;
	}
	const sorted = times.toSorted((a, b) => a - b);
	return {
		case: `next chunk of ${what}, cached`,
		unit: "ms",
		value: rounded(median(times), 2),
		target: 5,
		from: {
			"95th percentile, ms": rounded(sorted[Math.floor(times.length * 0.95)] as number, 2),
			chunks: times.length,
		},
	};
}

function pdfPage(): { lines: string[] } {
	return {
		lines: Array(30).fill("A line of some sixty-six characters, as they are in an ordinary book."),
	};
}
