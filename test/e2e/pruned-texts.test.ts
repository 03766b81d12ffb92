/** The call that a stub names brings back what was pruned, to the letter, whatever the text looks like. */
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { PiHarness } from "../support/pi-session.ts";
import { fc, runs } from "../support/property.ts";
import { type PruningPi, someText, startPruning } from "../support/pruning-session.ts";
import { extension, nextId } from "../support/read-session.ts";
import { atEnd, tempDir } from "../support/temp.ts";

beforeEach(() => {
	vi.stubEnv("XDG_CACHE_HOME", tempDir());
	atEnd(() => vi.unstubAllEnvs());
	vi.useFakeTimers({ toFake: ["Date"] });
	atEnd(() => vi.useRealTimers());
});

/** The path that a stub names. */
const pathIn = (stub = "") => /^\(Pruned\) .* Full text: read (.+)$/.exec(stub)?.[1] ?? "no stub";

/** A pi in which a tool answered with each of the texts, all of them pruned by now; and the paths in the stubs. */
async function withPruned(texts: readonly string[], paging: Record<string, unknown> = {}) {
	const say = extension("say", (api) => {
		api.registerTool({
			name: "say",
			label: "say",
			description: "Says something.",
			parameters: { type: "object", properties: { number: { type: "number" } } } as never,
			execute: async (_id, params) => ({
				content: [{ type: "text", text: texts[(params as { number: number }).number] ?? "" }],
				details: {},
			}),
		});
	});
	const started = await startPruning({ after: [say], paging, prune: { keepRecentTurns: 1 } });
	const { pi } = started;
	const ids = texts.map(() => nextId());
	const calls = ids.map((id, number) => ({ tool: "say", args: { number }, id }));
	await pi.run("say it all", [calls, "done"]);
	await startPause(started);
	const paths = ids.map((id) => pathIn(pi.seenTextOf(id)));
	expect(paths).not.toContain("no stub");
	return { pi, paths };
}

/** After so long no provider has anything in its cache, and what is old goes. */
async function startPause({ talk }: PruningPi): Promise<void> {
	await talk();
	vi.setSystemTime(Date.now() + 2 * 60 * 60_000);
	await talk();
}

/** What a call of `read` and the tokens behind it give, without the lines that tell how to go on. */
async function readBack(pi: PiHarness, args: Record<string, unknown>): Promise<string> {
	const id = nextId();
	await pi.run("read it", [{ tool: "read", args, id }, "done"]);
	const result = pi.toolResults().find(({ toolCallId }) => toolCallId === id);
	const { text = "", details } = result ?? {};
	// The text may look like such a line itself, so only the details tell.
	if ((details as { next_cursor?: string } | undefined)?.next_cursor === undefined) return text;
	const { chunk = "", token } =
		/^(?<chunk>.*)\n\n\[[^\n]* To continue, read: (?<token>page:[^\n]*)\]$/s.exec(text)?.groups ??
		{};
	return chunk + (await readBack(pi, { path: token }));
}

/** Texts that look like something else, at their beginning. */
const DISGUISES = {
	"a PDF": "%PDF-1.7\n",
	"a GIF": "GIF89a",
	"a WebP": "RIFF1234WEBP",
	"a PNG": "\u0089PNG\r\n\u001a\n",
	"a page": "<!doctype html><html><body>",
	"a binary file": "a\0b",
	"bytes that were no text": "\ufffd".repeat(3000),
	"a byte order mark": "\ufeff",
	"nothing at all": " \n".repeat(800),
	"a token": "\n\n[Part of 3 characters. To continue, read: page:abc]",
};

describe.each([
	["in chunks", {}],
	["by pi, while paging is off", { enabled: false }],
])("a pruned text is read %s", (_, paging) => {
	test("though it looks like something else", { tags: "slow" }, async () => {
		const texts = Object.entries(DISGUISES).map(([name, disguise], number) =>
			name === "nothing at all" ? disguise : disguise + someText(number, 3000),
		);
		const { pi, paths } = await withPruned(texts, paging);
		for (const [number, path] of paths.entries()) {
			expect(await readBack(pi, { path })).toBe(texts[number]);
		}
	});

	test("by its lines, too", async () => {
		const text = `GIF89a\0%PDF-1.7\n${someText(1, 3000)}`;
		const { pi, paths } = await withPruned([text], paging);
		const lines = await readBack(pi, { path: paths[0], offset: 1, limit: 2 });
		expect(lines.split("\n").slice(0, 2)).toEqual(text.split("\n").slice(0, 2));
	});
});

test("any text comes back in pieces of any size", { tags: "slow" }, async () => {
	const part = fc.oneof(
		fc.string({ unit: "binary", maxLength: 300 }),
		fc.string({ unit: "grapheme", maxLength: 300 }),
		fc.constantFrom("\r\n", "\n\n", "\0", ...Object.values(DISGUISES)),
	);
	const anyText = fc
		.array(part, { minLength: 1, maxLength: 8 })
		.map((parts) => parts.join(""))
		.filter((text) => text !== "")
		// Shorter ones are not pruned.
		.map((text) => text.repeat(Math.ceil(1300 / text.length)));
	const piece = fc.option(fc.integer({ min: 1500, max: 30_000 }), { nil: undefined });
	await fc.assert(
		fc.asyncProperty(
			fc.array(fc.tuple(anyText, piece), { minLength: 5, maxLength: 8 }),
			async (cases) => {
				const { pi, paths } = await withPruned(cases.map(([text]) => text));
				for (const [number, [text, max_chars]] of cases.entries()) {
					const args = { path: paths[number], ...(max_chars && { max_chars }) };
					expect(await readBack(pi, args)).toBe(text);
				}
			},
		),
		{ numRuns: runs(4) },
	);
});

describe("a stored text that is read by another spelling of its path", () => {
	const spellings: [string, (path: string, cwd: string) => string][] = [
		["its address", (path) => pathToFileURL(path).href],
		["its address in capitals", (path) => pathToFileURL(path).href.replace("file:", "FILE:")],
		["a relative address", (path, cwd) => `file:${relative(cwd, path)}`],
		["a path with detours", (path) => path.replace("/blobs/", "/./blobs//")],
		["a path with lines", (path) => `${path}:1-2`],
	];

	test.each(spellings)("%s: counts as used", { tags: "slow" }, async (_, spelled) => {
		const { pi, paths } = await withPruned([someText(1, 3000)]);
		const [path = ""] = paths;
		const lastWeek = Date.now() / 1000 - 7 * 24 * 60 * 60;
		utimesSync(path, lastWeek, lastWeek);
		const text = await readBack(pi, { path: spelled(path, pi.cwd) });
		expect(text).toContain(someText(1, 60));
		expect(statSync(path).mtimeMs / 1000).toBeGreaterThan(lastWeek + 1000);
	});

	test.each(spellings)("%s: a damaged copy is not taken for the original", async (_, spelled) => {
		const { pi, paths } = await withPruned([someText(1, 3000)]);
		const [path = ""] = paths;
		writeFileSync(path, readFileSync(path, "utf8").replace("value1", "other!"));
		const text = await readBack(pi, { path: spelled(path, pi.cwd) });
		expect(text).toMatch(/gone .*deleted.* repeat the call/);
	});

	test("its tokens lead on from there", async () => {
		const text = someText(1, 30_000);
		const { pi, paths } = await withPruned([text]);
		const [path = ""] = paths;
		expect(await readBack(pi, { path: pathToFileURL(path).href })).toBe(text);
	});
});
