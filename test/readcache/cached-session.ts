import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { JsonValue, ToolCall, ToolResultMessage } from "@earendil-works/pi-ai";
import type { Config } from "../../src/core/config.ts";
import { returnedHash } from "../../src/readcache/file-event-log.ts";
import { type Metadata, parseMetadata } from "../../src/readcache/metadata.ts";
import { ReadCache } from "../../src/readcache/read-cache.ts";
import { createReadCacheStore } from "../../src/readcache/store.ts";
import { noteOwnEdit } from "../../src/readcache/system.ts";
import { Ledger, type PlainRead, type ReadAnswer } from "../../src/session/index.ts";
import { appendCalls, appendResult, newSession } from "../session/sessions.ts";
import { sdk } from "../support/pi-sdk.ts";
import { atEnd, tempDir } from "../support/temp.ts";

export const LIMITS = { maxLines: sdk.DEFAULT_MAX_LINES, maxBytes: sdk.DEFAULT_MAX_BYTES };

export const SETTINGS: Config["readcache"] = {
	mode: "on",
	maxFileBytes: 8 * 1024 * 1024,
	maxDiffBytes: 2 * 1024 * 1024,
	maxDiffLines: 12_000,
	maxDiffRatio: 0.9,
	maxDiffChain: 3,
	compactionNote: true,
	exclude: [".env*"],
	storeDir: "",
	storeMaxBytes: 1024 * 1024,
	storeMaxAgeDays: 30,
};

export interface Range {
	offset?: number;
	limit?: number;
}

/** What a read gave, and where it is in the session. */
export interface Read {
	text: string;
	meta: Metadata | undefined;
	entryId: string;
}

/** A session of pi with the read cache in it, in a folder of its own; nothing is observed on its way to the model. */
export function cachedSession(
	settings: Partial<Config["readcache"]> = {},
	{ cwd, session } = { cwd: tempDir(), session: newSession() },
) {
	const ledger = new Ledger({ returnedHash });
	const store = createReadCacheStore({ ...SETTINGS, ...settings }, cwd);
	const options = { settings: { ...SETTINGS, ...settings }, cwd, ledger, store, limits: LIMITS };
	const cache = new ReadCache(options);
	atEnd(() => cache.flush());

	return { cwd, session, ledger, cache, store, write, read, edit, rewrite, piRead: plain(cwd) };

	/** Somebody else writes a file. */
	function write(path: string, content: string | Uint8Array): string {
		const full = join(cwd, path);
		mkdirSync(dirname(full), { recursive: true });
		writeFileSync(full, content);
		return full;
	}

	/** Reads as the model does: the call, the tool, and its result or error in the session. */
	async function read(path: string, range: Range = {}): Promise<Read> {
		const id = `call-${session.getEntries().length}`;
		appendCalls(session, { id, args: { path, ...range } });
		const call = { toolCallId: id, path, ...range };
		const result = await cache.read(call, session, plain(cwd)).catch((error: Error) => error);
		const text = result instanceof Error ? result.message : textOf(result);
		const details = (result as ReadAnswer).details as NonNullable<ToolResultMessage["details"]>;
		const isError = result instanceof Error;
		const entryId = appendResult(session, id, text, { isError, ...(details && { details }) });
		return { text, meta: parseMetadata(details), entryId };
	}

	/** The model replaces a text that is in a file once. */
	function edit(path: string, oldText: string, newText: string): Promise<string> {
		const args = { path, edits: [{ oldText, newText }] };
		const tool = sdk.createEditToolDefinition(cwd);
		return change("edit", args, (id) => tool.execute(id, args, undefined, undefined, CONTEXT));
	}

	/** The model writes a whole file. */
	function rewrite(path: string, content: string): Promise<string> {
		const args = { path, content };
		const tool = sdk.createWriteToolDefinition(cwd);
		return change("write", args, (id) => tool.execute(id, args, undefined, undefined, CONTEXT));
	}

	/** The call, pi's own tool, and its result with the note of the extension; returns the id of the result's entry. */
	async function change(
		toolName: "edit" | "write",
		args: ToolCall["arguments"],
		execute: (id: string) => Promise<{ content: unknown; details: unknown }>,
	): Promise<string> {
		const id = `call-${session.getEntries().length}`;
		appendCalls(session, { id, tool: toolName, args });
		const before = await noteOwnEdit(args, cwd, options.settings);
		const { content, details } = await execute(id);
		const after = await noteOwnEdit(args, cwd, options.settings);
		const readcache = after && { ...after, ...(before && { baseHash: before.servedHash }) };
		return appendResult(session, id, content as ToolResultMessage["content"], {
			toolName,
			details: { ...(details as object | undefined), ...(readcache && { readcache }) } as JsonValue,
		});
	}
}

/** Pi's tools look at nothing else when they are given a folder. */
const CONTEXT = undefined as never;

/** Pi's own `read` in a folder, as the extension calls it. */
export function plain(cwd: string): PlainRead {
	return ({ toolCallId, path, offset, limit, signal }, bytes) => {
		const operations = { readFile: async () => bytes as Buffer, access: async () => {} };
		const definition = sdk.createReadToolDefinition(cwd, bytes ? { operations } : {});
		const input = {
			path,
			...(offset !== undefined && { offset }),
			...(limit !== undefined && { limit }),
		};
		return definition.execute(toolCallId, input, signal, undefined, CONTEXT);
	};
}

export function textOf({ content }: ReadAnswer): string {
	return content.map((block) => (block.type === "text" ? block.text : undefined)).join("\n");
}

/** `line 1` to `line <count>`, each ended by a newline. */
export function numbered(count: number): string {
	return Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");
}
