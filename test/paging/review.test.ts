import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { encodePageToken } from "../../src/core/read-input.ts";
import { decodeText } from "../../src/paging/fetch/content.ts";
import { readPdfChunk } from "../../src/paging/pdf-chunk.ts";
import { ResourceCache } from "../../src/paging/resource-cache.ts";
import { createPagingSystem } from "../../src/paging/system.ts";
import { fakeSession } from "../support/fake-host.ts";
import { tempDir } from "../support/temp.ts";

function textCache(clock = { ms: 0 }) {
	return new ResourceCache<string>({
		ttlMs: 1000,
		maxEntries: 3,
		maxBytes: 100,
		sizeOf: (text) => text.length,
		now: () => clock.ms,
	});
}

test("who saw a newer version does not join the load of the older one", async () => {
	const cache = textCache();
	const slow = Promise.withResolvers<string>();
	const show = (text: string) => text;
	const older = cache.use({ key: "a", version: "1", load: () => slow.promise }, show);
	const newer = cache.use({ key: "a", version: "2", load: async () => "new" }, show);
	expect(await newer).toBe("new");
	slow.resolve("old");
	expect(await older).toBe("old");
	const load = () => Promise.reject(new Error("must not be loaded"));
	expect(await cache.use({ key: "a", load }, show)).toBe("new");
});

test("frequent use does not keep a value fresh for who counts from the load", async () => {
	const clock = { ms: 0 };
	const cache = textCache(clock);
	let loads = 0;
	const read = (sinceLoad: boolean) =>
		cache.use({ key: "a", sinceLoad, load: async () => `${++loads}` }, (text) => text);
	expect(await read(true)).toBe("1");
	clock.ms = 900;
	expect(await read(true)).toBe("1");
	clock.ms = 1100;
	expect(await read(false)).toBe("1");
	expect(await read(true)).toBe("2");
});

test("10 MB of windows-1252 quotes are decoded", () => {
	const bytes = Buffer.alloc(10 * 1024 * 1024, 0x93);
	const { text } = decodeText(bytes, {
		contentType: "text/plain; charset=windows-1252",
		isHtml: false,
	});
	expect(text.length).toBe(bytes.length);
	expect(text.slice(0, 2)).toBe("““");
});

test("a million pages without text do not take for ever", async () => {
	const pages = {
		totalPages: 1_000_000,
		get: async (number: number) => {
			await new Promise((done) => setTimeout(done, 1));
			return { number, text: "", warning: "unreadable" as const };
		},
	};
	const reading = readPdfChunk(pages, { page: 1, char: 0, size: 100, budgetMs: 50 });
	await expect(reading).rejects.toMatchObject({ code: "timeout" });
});

test("damaged pages are called damaged", async () => {
	const get = async (number: number) => ({ number, text: "", warning: "unreadable" as const });
	const chunk = await readPdfChunk({ totalPages: 2, get }, { page: 1, char: 0, size: 100 });
	expect(chunk.warning).toMatch(/damage/);
});

test("no chunk of a PDF is only the blank line below a page, however small", {
	tags: "slow",
}, async () => {
	for (const unit of ["word ", "x", "e\u0301", "🇩🇪", "👨‍👩‍👧‍👦"]) {
		for (let length = 60; length <= 135; length++) {
			const text = unit.repeat(length).slice(0, length).trimEnd();
			if (!text.isWellFormed()) continue;
			const get = async (number: number) => ({ number, text });
			for (const size of [64, 65, 66, 80, 130]) {
				let content = "";
				let at: { page: number; char: number } | undefined = { page: 1, char: 0 };
				while (at) {
					const chunk = await readPdfChunk({ totalPages: 2, get }, { ...at, size });
					expect(chunk.content.trim(), `${unit} ${length} ${size}`).not.toBe("");
					expect(chunk.content.length).toBeLessThanOrEqual(size);
					content += chunk.content;
					at = chunk.next;
				}
				expect(content).toBe(`[page 1]\n${text}\n\n[page 2]\n${text}\n\n`);
			}
		}
	}
});

test.skipIf(process.platform === "win32")("a pipe named like a PDF is not waited for", async () => {
	const cwd = tempDir();
	execFileSync("mkfifo", [join(cwd, "pipe.pdf")]);
	const call = { path: "pipe.pdf", toolCallId: "1" };
	const session = fakeSession({ cwd }).view();
	const plain = () => Promise.reject(new Error("not asked for"));
	expect(await createPagingSystem().read(call, session, plain)).toBeUndefined();
});

test("a read in flight when its session ends does not open its path to the next session", async () => {
	const path = join(tempDir(), "outside.pdf");
	writeFileSync(path, "%PDF-1.7");
	const session = fakeSession({ cwd: tempDir() }).view();
	const system = createPagingSystem();
	const read = (written: string) => {
		const plain = () => Promise.reject(new Error("not asked for"));
		return system.read({ path: written, toolCallId: "1" }, session, plain);
	};
	const inFlight = Promise.allSettled([read(path)]);
	await system.stop();
	expect(await inFlight).toMatchObject([{ status: "rejected" }]);
	const token = encodePageToken({ uri: path });
	await expect(read(token)).rejects.toMatchObject({ code: "outside_root" });
	await system.stop();
});
