import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { expect } from "vitest";
import strata from "../../src/extension/index.ts";
import type { Metadata, Mode } from "../../src/readcache/metadata.ts";
import type { NamedExtension } from "./pi-runtime.ts";
import { sdk } from "./pi-sdk.ts";
import { BIRTH_OFF, type PiHarness, type PiOptions, startPi } from "./pi-session.ts";

/** The extension under test. */
export const strataExtension: NamedExtension = { name: "strata", factory: strata };

/** The arguments of a `read` besides its path. */
export interface Range {
	offset?: number;
	limit?: number;
}

/** The result of a `read`. */
export interface Reading {
	toolCallId: string;
	entryId: string;
	/** Its text in the next request; `undefined` if there is none. */
	text: string | undefined;
	isError: boolean;
	details: unknown;
	/** `details.readcache`, as stored. */
	meta: Metadata | undefined;
}

/** Options of {@link startReads}: those of pi, other extensions around ours, and our settings. */
export interface ReadsOptions extends PiOptions {
	before?: readonly NamedExtension[];
	after?: readonly NamedExtension[];
	/** The group `readcache` of `strata.json` in the agent folder, which must then be given too. */
	settings?: Record<string, unknown>;
}

/** A pi session with our extension, and a `read` in it as a prompt of its own. */
export async function startReads(options: ReadsOptions = {}) {
	const { before = [], after = [], settings, ...rest } = options;
	if (settings && rest.agentDir) {
		const all = { ...BIRTH_OFF, readcache: settings };
		writeFileSync(join(rest.agentDir, "strata.json"), JSON.stringify(all));
	}
	const extensions = [...before, strataExtension, ...after];
	const pi = await startPi({ extensions, mode: "rpc", ...rest });
	const read = (path: string, range: Range = {}) => readIn(pi, path, range);
	return { pi, read };
}

/** Lets the model read a file in a turn of its own. */
export async function readIn(pi: PiHarness, path: string, range: Range = {}): Promise<Reading> {
	const id = nextId();
	await pi.run(`read ${path}`, [readCall(path, id, range), "done"]);
	return readingOf(pi, id);
}

/** A call of `read` for a script. */
export function readCall(path: string, id: string, range: Range = {}) {
	return { tool: "read", args: { path, ...range }, id };
}

let ids = 0;
/** A tool call id that no other test of the file uses. */
export function nextId(): string {
	ids += 1;
	return `read-${ids}`;
}

/** The stored result of a call of the current branch, with its text in the last request. */
export function readingOf(pi: PiHarness, toolCallId: string): Reading {
	const stored = pi.toolResults().find((result) => result.toolCallId === toolCallId);
	if (!stored) throw new Error(`No result for ${toolCallId} on this branch`);
	const { entryId, isError, details } = stored;
	const meta = (details as { readcache?: Metadata } | undefined)?.readcache;
	return { toolCallId, entryId, text: pi.seenTextOf(toolCallId), isError, details, meta };
}

/** Pi's own answer to the same read, or its error. */
export async function ownAnswer(pi: PiHarness, path: string, range: Range = {}) {
	const definition = sdk.createReadToolDefinition(pi.cwd);
	const ctx = { cwd: pi.cwd, model: pi.session.model } as never;
	try {
		const { content, details } = await definition.execute(
			"own",
			{ path, ...range },
			undefined,
			undefined,
			ctx,
		);
		const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
		return { text: texts.join("\n"), isError: false, details, content };
	} catch (error) {
		return { text: (error as Error).message, isError: true, details: undefined, content: [] };
	}
}

/** The expected reading, down to the metadata of the specification. */
export interface Expected {
	mode: Mode;
	text: string | undefined;
	/** The file's text at the time of the read. */
	file: string;
	/** The text the answer refers to. */
	base?: string;
	/** The lines asked for. Default: all. */
	range?: [number, number];
	/** Real path of the file. */
	pathKey: string;
}

export function expectReading(reading: Reading, expected: Expected): void {
	const { mode, text, file, base, pathKey } = expected;
	const totalLines = file.split("\n").length;
	const [rangeStart, rangeEnd] = expected.range ?? [1, totalLines];
	const isFull = rangeStart === 1 && rangeEnd === totalLines;
	expect(reading.text).toBe(text);
	expect(reading.isError).toBe(false);
	// The optional fields are ours alone; the rest is the specification's, neither more nor less.
	const { shown, textHash, plainBytes, ...meta } = reading.meta ?? {};
	expect(meta).toEqual({
		v: 1,
		pathKey,
		scopeKey: isFull ? "full" : `r:${rangeStart}:${rangeEnd}`,
		servedHash: sha256(file),
		...(base !== undefined && { baseHash: sha256(base) }),
		mode,
		totalLines,
		rangeStart,
		rangeEnd,
		bytes: Buffer.byteLength(file),
	});
}

/** `count` lines "line 1", "line 2", …, with a final newline: `count + 1` lines as pi counts. */
export function numbered(count: number, word = "line"): string {
	return Array.from({ length: count }, (_, index) => `${word} ${index + 1}\n`).join("");
}

export function sha256(content: string | Uint8Array): string {
	return createHash("sha256").update(content).digest("hex");
}

/** The files of the store: name to content. */
export function storedObjects(folder: string): Map<string, string> {
	const objects = join(folder, "objects");
	if (!existsSync(objects)) return new Map();
	return new Map(
		readdirSync(objects).map((name) => [name, readFileSync(join(objects, name), "utf8")]),
	);
}

/** Where the store is unless it is configured: the temp folders of tests are in no git repository. */
export function storeFolder(pi: PiHarness): string {
	return join(pi.cwd, ".pi", "readcache");
}

/** An extension from a few handlers. */
export function extension(name: string, factory: (pi: ExtensionAPI) => void): NamedExtension {
	return { name, factory };
}

/** The texts of the reports that our commands made, the last one last. */
export function reportTexts(pi: PiHarness): string[] {
	return pi.reports
		.filter(({ customType }) => customType === "strata-report")
		.map(({ data }) => (data as { text: string }).text);
}
