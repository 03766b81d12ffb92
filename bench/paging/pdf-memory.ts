/** Prints the memory of a process that reads a PDF and has generated no documents: `node pdf-memory.ts <file> <pages>`. */
import { readFileSync } from "node:fs";
import { PdfEngine } from "../../src/paging/pdf/pdf-engine.ts";
import { readAll, readFirst } from "./pdf-reads.ts";

const [file = "", pages = ""] = process.argv.slice(2);
const document = { bytes: readFileSync(file), pages: Number(pages) };
const before = rss();
const engine = new PdfEngine();
await readFirst(engine, document);
const first = rss();
await readAll(engine, document);
const { workers, memoryBytes } = engine.stats();
const figures = { before, first, all: rss(), workers, "WebAssembly, MB": megabytes(memoryBytes) };
await engine.close();
console.log(JSON.stringify(figures));

function rss(): number {
	return megabytes(process.memoryUsage().rss);
}

function megabytes(bytes: number): number {
	return Math.round(bytes / 1e6);
}
