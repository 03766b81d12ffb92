import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, test } from "vitest";
import { createBlobStore } from "../../src/core/blob-store.ts";
import { estimateTokens } from "../../src/core/tokens.ts";
import { makePdf } from "../support/make-pdf.ts";
import { tempDir } from "../support/temp.ts";
import { connect, SHOP, writeProject } from "./connect.ts";

const INDEXED = { settings: { kota: { confirmIndex: false } } };

test("all tools are listed in 1,800 tokens, those that Claude Code always loads in 600", async () => {
	const { client } = await connect(writeProject());
	const { tools } = await client.listTools();
	expect(tools.map(({ name }) => name)).toEqual([
		...["kota_search", "kota_deps", "kota_outline", "kota_symbol", "kota_usages", "kota_impact"],
		...["kota_task_context", "kota_index", "read_page", "strata_recall"],
	]);
	const tokensOf = (some: typeof tools) => estimateTokens(JSON.stringify(some).length);
	expect(tokensOf(tools)).toBeLessThanOrEqual(1800);
	const loaded = tools.filter(({ _meta }) => _meta?.["anthropic/alwaysLoad"] === true);
	expect(loaded.map(({ name }) => name)).toEqual(["kota_search", "kota_usages"]);
	expect(tokensOf(loaded)).toBeLessThanOrEqual(600);
});

test("tools that the settings switch off are not listed", async () => {
	const settings = { kota: { enabled: false }, paging: { enabled: false } };
	const { client, call } = await connect(writeProject(), { settings });
	const { tools } = await client.listTools();
	expect(tools.map(({ name }) => name)).toEqual(["strata_recall"]);
	expect(await call("read_page", { uri: "src/cart.ts" })).toMatchObject({ isError: true });
});

test("a question is answered about the folder in which the agent starts", async () => {
	const { call } = await connect(writeProject(), INDEXED);
	const { text, isError } = await call("kota_usages", { symbol: "price" });
	expect(isError).toBeUndefined();
	expect(text).toContain("src/cart.ts");
});

test("a question is answered about the root that holds the named file", async () => {
	const [one, other] = [writeProject(), writeProject({ "lib/other.ts": "export const o = 1;\n" })];
	const { call } = await connect(tempDir(), { ...INDEXED, roots: [one, other] });
	expect((await call("kota_deps", { file_path: join(other, "lib/other.ts") })).text).toContain(
		"lib/other.ts",
	);
	expect((await call("kota_deps", { file_path: "src/cart.ts" })).text).toContain("src/price.ts");
});

test("a page named file#symbol is that symbol, unless a file has that very name", async () => {
	const files = { "src/a.ts": "export function a() {\n\treturn 1;\n}\n", "src/b#a.ts": "// b\n" };
	const { call } = await connect(writeProject(files), INDEXED);
	const symbol = await call("read_page", { uri: "src/a.ts#a" });
	expect(symbol.text).toContain("src/a.ts:1-3  function a\nlines 1-3:\nexport function a() {");
	expect((await call("read_page", { uri: "src/b#a.ts" })).text).toContain("// b");
	expect((await call("kota_outline", { target: "src/a.ts" })).text).toContain(
		"1-3 export function a()",
	);
	expect((await call("read_page", { uri: "src/c.ts#a" })).isError).toBe(true);
});

test("pages of a PDF are pages, not symbols, in a project that is indexed", async () => {
	const root = writeProject({ "src/a.ts": "export const a = 1;\n" });
	const pages = ["first page", "second page"].map((text) => ({ lines: [text] }));
	writeFileSync(join(root, "report.pdf"), makePdf({ pages }));
	const { call } = await connect(root, INDEXED);
	await call("kota_outline", { target: "src/a.ts" });
	expect((await call("read_page", { uri: "report.pdf#page=2" })).text).toContain("second page");
});

test("a search shows no line of a document that is excluded", async () => {
	const secret = "database password: hunter2hunter2\n";
	const files = {
		"src/a.ts": "export const a = 1;\n",
		"docs/setup.md": "The database password is in the vault.\n",
		"config/secrets.yml": secret,
		"config/.env.json": secret,
		"config/internal.yml": secret,
	};
	const { call } = await connect(writeProject(files), {
		settings: {
			...INDEXED.settings,
			readcache: { exclude: ["internal.yml", ".env*", "secrets.yml"] },
		},
	});
	const { text } = await call("kota_search", { query: "database password" });
	expect(text).toContain("docs/setup.md");
	expect(text).not.toContain("hunter2");
});

test("a file of another root is found by its address, too", async () => {
	const [one, other] = [writeProject(), writeProject({ "a b/ä.txt": "there" })];
	const { call } = await connect(tempDir(), { roots: [one, other] });
	const { href } = pathToFileURL(join(other, "a b", "ä.txt"));
	expect((await call("read_page", { uri: href })).text).toBe("there");
});

test("a first call that is cancelled does not lose the client's roots", async () => {
	const root = writeProject({ "here.txt": "here" });
	const { client, call } = await connect(tempDir(), { roots: [root] });
	const abort = new AbortController();
	let asked = 0;
	client.setRequestHandler(ListRootsRequestSchema, async () => {
		asked++;
		if (asked === 1) {
			abort.abort();
			await new Promise(() => {}); // never answered
		}
		return { roots: [{ uri: pathToFileURL(root).href }] };
	});
	const cancelled = call("read_page", { uri: "here.txt" }, { signal: abort.signal });
	const other = call("read_page", { uri: "here.txt" });
	await expect(cancelled).rejects.toThrow();
	expect((await other).text).toBe("here");
	expect((await call("read_page", { uri: "here.txt" })).text).toBe("here");
	expect(asked).toBe(2);
});

test("a page of another root is continued there", async () => {
	const lines = Array.from({ length: 2000 }, (_, at) => `line ${at}`).join("\n");
	const [one, other] = [writeProject(), writeProject({ "long.txt": lines })];
	const { call } = await connect(tempDir(), { roots: [one, other] });
	const first = await call("read_page", { uri: join(other, "long.txt") });
	const token = /(page:.+)\]$/.exec(first.text)?.[1];
	const next = await call("read_page", { uri: token });
	expect(next.isError).toBeUndefined();
	expect(lines).toContain(next.text.split("\n\n[")[0]);
});

test("what was open is closed when no call needs it for long, and opened by the next", async () => {
	const { call } = await connect(writeProject(), { ...INDEXED, idleMs: 1 });
	for (let at = 0; at < 3; at++) {
		expect((await call("kota_usages", { symbol: "price" })).text).toContain("src/cart.ts");
		await delay(20);
	}
});

test("without an index and a way to ask, the error names the command that indexes", async () => {
	const { call } = await connect(writeProject());
	const { text, isError } = await call("kota_search", { query: "price" });
	expect(isError).toBe(true);
	expect(text).toContain("strata index");
});

test("the user is asked once before a project is indexed, and may refuse", async () => {
	const root = writeProject();
	const asked: string[] = [];
	let action: "accept" | "decline" = "decline";
	const consent = (message: string) => {
		asked.push(message);
		return action;
	};
	const { call } = await connect(root, { consent });
	expect(await call("kota_search", { query: "price" })).toMatchObject({ isError: true });
	action = "accept";
	expect((await call("kota_search", { query: "price" })).text).toContain("does not want");
	expect(asked).toHaveLength(1);
	expect(asked[0]).toContain(root);
	const again = await connect(root, { consent });
	expect((await again.call("kota_search", { query: "price" })).text).toContain("src/price.ts");
	expect((await again.call("kota_usages", { symbol: "price" })).text).toContain("src/cart.ts");
	expect(asked).toHaveLength(2);
});

test("a question that is dismissed is no refusal: it is asked again", async () => {
	const actions = ["cancel", "accept"] as const;
	let asked = 0;
	const consent = () => actions[asked++] ?? "decline";
	const { call } = await connect(writeProject(), { consent });
	expect((await call("kota_search", { query: "price" })).text).toContain("run `strata index`");
	expect((await call("kota_search", { query: "price" })).text).toContain("src/price.ts");
});

test("an index that exists needs no consent, and follows changes of files", async () => {
	const root = writeProject();
	const { call } = await connect(root, INDEXED);
	await call("kota_index");
	writeFileSync(join(root, "src/new.ts"), 'import { price } from "./price.ts";\nprice(1);\n');
	const asking = await connect(root);
	expect((await asking.call("kota_usages", { symbol: "price" })).text).toContain("src/new.ts");
});

test("indexing reports progress that grows", async () => {
	const files = Object.fromEntries(
		Array.from({ length: 300 }, (_, at) => [`src/f${at}.ts`, `export const v${at} = ${at};\n`]),
	);
	const { call } = await connect(writeProject(files), INDEXED);
	const seen: number[] = [];
	const onprogress = ({ progress }: { progress: number }) => seen.push(progress);
	expect((await call("kota_index", {}, { onprogress })).text).toContain("300 files");
	expect(seen.length).toBeGreaterThan(0);
	expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});

test("an answer over the budget is cut, and the whole one can be recalled part by part", async () => {
	const files = Object.fromEntries(
		Array.from({ length: 400 }, (_, at) => [
			`src/some/folder/with-a-name-${at}.ts`,
			`import { price } from "../../price.ts";\nexport const user${at} = price(${at});\n`,
		]),
	);
	const { call } = await connect(writeProject({ ...SHOP, ...files }), INDEXED);
	const cut = await call("kota_usages", { symbol: "price" });
	expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(5000);
	expect(cut.details).toMatchObject({ truncated: true });
	const { blobPath, originalBytes } = cut.details as { blobPath: string; originalBytes: number };
	expect(cut.text).toContain(blobPath);
	let text = "";
	let id: string | undefined = blobPath;
	while (id !== undefined) {
		const part: Awaited<ReturnType<typeof call>> = await call("strata_recall", { id });
		expect(part.isError).toBeUndefined();
		expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(5000);
		const [content, note] = part.text.split(/\n\n\[Part of/);
		text += content;
		id = /(page:\S+)\]$/.exec(note ?? "")?.[1];
	}
	expect(Buffer.byteLength(text)).toBe(originalBytes);
});

test("a stored text is recalled by path or id; others are refused", async () => {
	const { call, blobFolder } = await connect(writeProject());
	const settings = { enabled: true, dir: blobFolder, maxBytes: 1e9, maxAgeDays: 30 };
	const kept = await createBlobStore(settings).keep("first\nsecond");
	if (kept.kind !== "kept") throw new Error(kept.why);
	expect((await call("strata_recall", { id: kept.blob.path })).text).toBe("first\nsecond");
	expect((await call("strata_recall", { id: kept.blob.id })).text).toBe("first\nsecond");
	expect((await call("read_page", { uri: kept.blob.path })).text).toBe("first\nsecond");
	expect(await call("strata_recall", { id: "/etc/passwd" })).toMatchObject({ isError: true });
	const missing = "0".repeat(64);
	expect((await call("strata_recall", { id: missing })).text).toContain("That text is gone");
});

test("a page is read within the budget in any script, and continued to its end", async () => {
	const whole = Array.from({ length: 900 }, (_, at) => `行${at}: 文字を読む`).join("\n");
	const { call } = await connect(writeProject({ "notes.txt": whole }));
	let text = "";
	let uri: string | undefined = "notes.txt";
	while (uri !== undefined) {
		const part: Awaited<ReturnType<typeof call>> = await call("read_page", { uri });
		expect(part.isError).toBeUndefined();
		expect(Buffer.byteLength(part.text)).toBeLessThanOrEqual(5000);
		const [content, note] = part.text.split(/\n\n\[Part of/);
		text += content;
		uri = /(page:\S+)\]$/.exec(note ?? "")?.[1];
	}
	expect(text).toBe(whole);
	const large = await call("read_page", { uri: "notes.txt", max_chars: 20_000 });
	expect(large.text).toBe(whole);
});

test("files outside of the project and excluded files are refused", async () => {
	const root = writeProject({ ".env": "KEY=secret-value-1234\n" });
	const { call } = await connect(root);
	const outside = join(tempDir(), "other.txt");
	writeFileSync(outside, "other");
	expect((await call("read_page", { uri: outside })).text).toContain("outside the folders");
	const { text, isError } = await call("read_page", { uri: ".env" });
	expect(isError).toBe(true);
	expect(text).toContain("is excluded by readcache.exclude");
	expect(text).not.toContain("secret-value");
});

test("an input that does not fit names what is wrong, and a single string is a list", async () => {
	const { call } = await connect(writeProject(), INDEXED);
	const { text, isError } = await call("kota_deps", { file: "src/cart.ts" });
	expect(isError).toBe(true);
	expect(text).toContain("kota_deps: file_path is missing");
	expect((await call("kota_task_context", { files: "src/cart.ts" })).text).toContain("src/cart.ts");
	expect((await call("kota_fly")).text).toContain("There is no tool kota_fly");
});

test("a call that is cancelled ends, and the next one is answered", async () => {
	const files = Object.fromEntries(
		Array.from({ length: 400 }, (_, at) => [`src/f${at}.ts`, `export const v${at} = ${at};\n`]),
	);
	const { call } = await connect(writeProject(files), INDEXED);
	const abort = new AbortController();
	const pending = call("kota_index", {}, { signal: abort.signal, onprogress: () => abort.abort() });
	await expect(pending).rejects.toThrow();
	expect((await call("kota_index")).text).toContain("400 files");
});
