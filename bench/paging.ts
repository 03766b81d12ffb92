/** The time to the next chunk of a cached resource. */
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createPagedReader } from "../src/paging/index.ts";
import { startHostileWeb } from "../test/support/hostile-web.ts";
import { makePdf } from "../test/support/make-pdf.ts";
import {
	type Line,
	median,
	quantile,
	report,
	rounded,
	sized,
	tempFolder,
	timed,
} from "./support.ts";

const MAX_CHUNKS = sized(100, 3);
const PARAGRAPH = `${"Text that goes on for a while, as in a long document. ".repeat(12)}\n\n`;

const root = tempFolder();
const web = await startHostileWeb();
const reader = createPagedReader({ root, allowRanges: ["127.0.0.0/8", "::1/128"] });
try {
	writeFileSync(join(root, "text.txt"), PARAGRAPH.repeat(sized(1500, 200)));
	writeFileSync(
		join(root, "document.pdf"),
		makePdf({ pages: Array(sized(200, 20)).fill(pdfPage()) }),
	);
	const body = PARAGRAPH.repeat(sized(300, 60)).trim().split("\n\n").join("</p><p>");
	web.serve("/page", {
		headers: { "content-type": "text/html" },
		body: `<main><h1>A page</h1><p>${body}</p></main>`,
	});
	report([
		await nextChunks("a local text of 1 MB", "text.txt"),
		await nextChunks("a web page", web.url("/page").href),
		await nextChunks("a PDF of 200 pages", "document.pdf"),
	]);
} finally {
	await reader.close();
	await web.close();
}

/** Reads through the resource: every chunk is a new one. */
async function nextChunks(what: string, uri: string): Promise<Line> {
	let { next_cursor: cursor } = await reader.read({ uri });
	const times: number[] = [];
	const plain: number[] = [];
	while (cursor !== undefined && times.length < MAX_CHUNKS) {
		const next: { cursor?: string | undefined } = {};
		const ms = await timed(async () => {
			next.cursor = (await reader.read({ uri, cursor })).next_cursor;
		});
		times.push(ms);
		plain.push(await timed(() => readFile(join(root, "text.txt"))));
		cursor = next.cursor;
	}
	return {
		case: `next chunk of ${what}, cached`,
		unit: "ms",
		value: median(times),
		digits: 2,
		target: 5,
		baseline: { name: "a read of the text file", value: median(plain) },
		from: {
			"95th percentile, ms": rounded(quantile(times, 0.95), 2),
			chunks: times.length,
		},
	};
}

function pdfPage(): { lines: string[] } {
	return {
		lines: Array(30).fill("A line of some sixty-six characters, as they are in an ordinary book."),
	};
}
