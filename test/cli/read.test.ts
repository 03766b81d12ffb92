import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import type { Chunk } from "../../src/paging/index.ts";
import { startHostileWeb } from "../support/hostile-web.ts";
import { makePdf } from "../support/make-pdf.ts";
import { atEnd, tempDir } from "../support/temp.ts";

const TEXT = Array.from({ length: 900 }, (_, index) => `Line ${index} of a long text.\n`).join("");

describe("strata read", () => {
	test("prints a chunk, and on standard error how to go on", async () => {
		const strata = setUp();
		const first = await strata("read", "a.txt");
		expect(first.status).toBe(0);
		expect(first.out.length).toBeLessThanOrEqual(8000);
		const cursor = /^There is more\. To continue, add --cursor (\S+)$/.exec(first.err)?.[1] ?? "";
		const second = await strata("read", "a.txt", "--cursor", cursor);
		expect(TEXT.startsWith(first.out + second.out)).toBe(true);
		expect(second.out).not.toBe("");
	});

	test("ends its output with a line feed, and says nothing more at the end", async () => {
		const strata = setUp();
		writeFileSync(join(strata.cwd, "short.txt"), "no line feed");
		expect(await strata("read", "short.txt")).toEqual({
			status: 0,
			out: "no line feed\n",
			err: "",
		});
	});

	test("--all prints the whole text to the letter", async () => {
		const strata = setUp();
		expect(await strata("read", "a.txt", "--all")).toEqual({ status: 0, out: TEXT, err: "" });
		const small = await strata("read", "a.txt", "--all", "--max-chars", "100");
		expect(small).toEqual({ status: 0, out: TEXT, err: "" });
		writeFileSync(join(strata.cwd, "short.txt"), "no line feed");
		expect((await strata("read", "short.txt", "--all")).out).toBe("no line feed");
	});

	test("--json prints the object, with --all one a line", async () => {
		const strata = setUp();
		const one = JSON.parse((await strata("read", "a.txt", "--json")).out) as Chunk;
		expect(one).toMatchObject({ uri: "a.txt", truncated: true, kind: "text" });
		expect(one.total_chars).toBe(TEXT.length);
		const { out, err } = await strata("read", "a.txt", "--json", "--all");
		expect(err).toBe("");
		const answers = out
			.trimEnd()
			.split("\n")
			.map((line) => JSON.parse(line) as Chunk);
		expect(answers[0]).toEqual(one);
		expect(answers.map(({ content }) => content).join("")).toBe(TEXT);
	});

	test("--max-chars bounds the chunk", async () => {
		const strata = setUp();
		expect((await strata("read", "a.txt", "--max-chars", "100")).out.length).toBeLessThan(101);
	});

	test("reads PDFs, and tells of scans", { tags: "slow" }, async () => {
		const strata = setUp();
		const pages = [{ lines: ["The first page."] }, { image: true }];
		writeFileSync(join(strata.cwd, "a.pdf"), makePdf({ pages }));
		expect(await strata("read", "a.pdf")).toEqual({
			status: 0,
			out: "[page 1]\nThe first page.\n\n",
			err: expect.stringMatching(/^Page 2 has no text layer/),
		});
	});

	test("reads the web as far as the user's settings allow, whatever the project says", {
		tags: "slow",
	}, async () => {
		const web = await startHostileWeb();
		atEnd(() => web.close());
		const strata = setUp();
		const settings = JSON.stringify({ paging: { allowRanges: ["127.0.0.0/8"] } });
		mkdirSync(join(strata.cwd, ".pi"));
		writeFileSync(join(strata.cwd, ".pi", "strata.json"), settings);
		const refused = await strata("read", web.url("/ok").href);
		expect(refused).toMatchObject({ status: 1, out: "" });
		expect(refused.err).toContain("paging.allowRanges");
		expect(web.connections).toBe(0);
		writeFileSync(join(strata.agentDir, "strata.json"), settings);
		expect(await strata("read", web.url("/ok").href)).toMatchObject({
			status: 0,
			out: expect.stringContaining("All is well."),
		});
		expect(await strata("read", web.url("/status/404").href)).toMatchObject({
			status: 1,
			err: expect.stringContaining("404"),
		});
	});

	test("a cursor of changed content starts over with a word about it", async () => {
		const strata = setUp();
		const { next_cursor: cursor = "" } = JSON.parse((await strata("read", "a.txt", "--json")).out);
		writeFileSync(join(strata.cwd, "a.txt"), "changed");
		expect(await strata("read", "a.txt", "--cursor", cursor)).toEqual({
			status: 0,
			out: "changed\n",
			err: expect.stringContaining("has changed"),
		});
	});

	test.each([[[]], [["--json"]]])("--all %j ends where the content changes", async (more) => {
		const strata = setUp();
		let changes = 0;
		strata.progress = (line) => {
			if (!line.startsWith("continuing") || changes === 20) return;
			writeFileSync(join(strata.cwd, "a.txt"), `changed ${++changes}\n${TEXT}`);
		};
		const { status, out, err } = await strata("read", "a.txt", "--all", ...more);
		expect({ status, changes }).toEqual({ status: 1, changes: 1 });
		expect(err).toMatch(/a\.txt has changed .*read it again from the beginning/);
		const content = more.length > 0 ? (JSON.parse(out) as Chunk).content : out;
		expect(content).not.toBe("");
		expect(TEXT.startsWith(content)).toBe(true);
	});

	test("--all with a cursor of changed content prints nothing of the other", async () => {
		const strata = setUp();
		const { next_cursor: cursor = "" } = JSON.parse((await strata("read", "a.txt", "--json")).out);
		writeFileSync(join(strata.cwd, "a.txt"), "changed");
		expect(await strata("read", "a.txt", "--all", "--cursor", cursor)).toEqual({
			status: 1,
			out: "",
			err: expect.stringContaining("has changed"),
		});
	});

	test.each([
		[["missing.txt"], 1, /missing\.txt/],
		[["/etc/passwd"], 1, /outside the folders.*; start strata in a folder that contains it/],
		[
			["picture.bin"],
			1,
			/read supports only text, PDF, office documents, books and archives; picture\.bin is binary/,
		],
		[["long.txt"], 1, /long\.txt is larger than the limit of 10 MB\. .*raise the limit/],
		[["."], 1, /not an ordinary file/],
		[["ftp://x/"], 1, /only http:, https: and file:/],
		[["a.txt", "--cursor", "nonsense"], 1, /Malformed cursor/],
		[[], 2, /no address or path given[\s\S]*usage: strata read/],
		[["a.txt", "b.txt"], 2, /unexpected argument "b\.txt"/],
		[["a.txt", "--max-chars", "63"], 2, /--max-chars: .*at least 64[\s\S]*usage:/],
		[["a.txt", "--max-chars", "many"], 2, /--max-chars must be a number, got "many"/],
		[["a.txt", "--max-chars", "99.5"], 2, /--max-chars: .*at least 64/],
		[["a.txt", "--max-chars"], 2, /usage:/],
		[["a.txt", "--pages", "3"], 2, /--pages/],
	])("%j exits %d", async (args, status, message) => {
		const strata = setUp();
		expect(await strata("read", ...args)).toEqual({
			status,
			out: "",
			err: expect.stringMatching(message),
		});
	});

	test("shows progress only where somebody watches, and clears it", async () => {
		const strata = setUp();
		const lines: string[] = [];
		strata.progress = (line) => lines.push(line);
		const { out } = await strata("read", "a.txt", "--all");
		expect(out).toBe(TEXT);
		expect(lines[0]).toBe("reading a.txt …");
		expect(lines[2]).toBe("continuing a.txt …");
		expect(lines.at(-1)).toBe("");
		lines.length = 0;
		await strata("read", "missing.txt");
		expect(lines).toEqual(["reading missing.txt …", ""]);
	});
});

/** A project with a long text, and `strata` in it. */
function setUp() {
	const cwd = tempDir();
	const agentDir = tempDir();
	writeFileSync(join(cwd, "a.txt"), TEXT);
	writeFileSync(join(cwd, "picture.bin"), Buffer.from([0, 1, 2, 255]));
	writeFileSync(join(cwd, "long.txt"), Buffer.alloc(10_000_001, "x"));
	const strata = Object.assign(run, {
		cwd,
		agentDir,
		progress: undefined as ((line: string) => void) | undefined,
	});
	return strata;

	async function run(...argv: string[]) {
		let out = "";
		const err: string[] = [];
		const status = await main(argv, {
			cwd,
			env: { PI_CODING_AGENT_DIR: agentDir },
			print: (line) => {
				out += `${line}\n`;
			},
			write: (text) => {
				out += text;
			},
			printError: (line) => err.push(line),
			...(strata.progress && { progress: strata.progress }),
		});
		return { status, out, err: err.join("\n") };
	}
}
