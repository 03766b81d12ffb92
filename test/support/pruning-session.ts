import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Message } from "@earendil-works/pi-ai";
import type { NamedExtension } from "./pi-runtime.ts";
import { BIRTH_OFF, type PiHarness, type PiOptions, startPi } from "./pi-session.ts";
import { strataExtension } from "./read-session.ts";
import { tempDir } from "./temp.ts";

/** How {@link startPruning} sets pi up. */
export interface PruningOptions extends Omit<PiOptions, "extensions"> {
	/** Groups of `strata.json`. */
	prune?: Record<string, unknown>;
	blobs?: Record<string, unknown>;
	readcache?: Record<string, unknown>;
	paging?: Record<string, unknown>;
	/** Other extensions, loaded before or after ours. */
	before?: readonly NamedExtension[];
	after?: readonly NamedExtension[];
}

/** A pi with our whole extension, and a blob folder of its own. */
export interface PruningPi {
	readonly pi: PiHarness;
	readonly blobs: string;
	/** Files of the blob folder. */
	blobNames(): string[];
	/** Runs a command and returns its report. */
	ask(line: string): Promise<string>;
	/** A prompt in which the model reads a new file of so many characters; returns the call and the file's text. */
	readNew(chars?: number): Promise<{ id: string; path: string; text: string }>;
	/** A prompt that the model answers without tools. */
	talk(): Promise<void>;
}

/** Starts it. Indexes of kota go to a temp folder too, if the test sets XDG_CACHE_HOME. */
export async function startPruning(options: PruningOptions = {}): Promise<PruningPi> {
	const { prune = {}, blobs = {}, readcache = {}, paging = {}, ...others } = options;
	const { before = [], after = [], ...rest } = others;
	const agentDir = rest.agentDir ?? tempDir();
	const dir = join(tempDir(), "blobs");
	const kota = { confirmIndex: false };
	const settings = { ...BIRTH_OFF, prune, blobs: { dir, ...blobs }, readcache, paging, kota };
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify(settings));
	const extensions = [...before, strataExtension, ...after];
	const pi = await startPi({ mode: "rpc", thinking: "free", ...rest, agentDir, extensions });
	let files = 0;
	return {
		pi,
		blobs: dir,
		blobNames: () => blobNamesIn(dir),
		async ask(line) {
			const seen = pi.reports.length;
			await pi.command(line);
			return pi.reports
				.slice(seen)
				.filter(({ customType }) => customType === "strata-report")
				.map(({ data }) => (data as { text: string }).text)
				.join("\n");
		},
		async readNew(chars = 8000) {
			const number = ++files;
			const path = `files/file-${number}.txt`;
			const text = someText(number, chars);
			pi.write(path, text);
			const id = `new-${number}`;
			await pi.run(`read ${path}`, [{ tool: "read", args: { path }, id }, "done"]);
			return { id, path, text };
		},
		talk: () => pi.run("go on", ["done"]),
	};
}

export function blobNamesIn(folder: string): string[] {
	try {
		return readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.txt$/.test(name));
	} catch {
		return [];
	}
}

/** A text of `chars` characters, different for each number. */
export function someText(number: number, chars: number): string {
	const line = `export const value${number} = "the text of file ${number}";\n`;
	return line.repeat(Math.ceil(chars / line.length)).slice(0, chars);
}

/** Characters of a request, counted as in pi. */
export function charsOf(messages: readonly Message[]): number {
	return messages.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0);
}

/** Throws unless every call has its result, right behind it and in order, and there are no other results. */
export function checkPairs(messages: readonly Message[]): void {
	let expected: string[] = [];
	for (const message of messages) {
		if (message.role === "toolResult") {
			const next = expected.shift();
			if (next !== message.toolCallId) {
				throw new Error(`result of ${message.toolCallId} where that of ${next} should be`);
			}
			continue;
		}
		if (message.role === "system") continue;
		if (expected.length > 0) throw new Error(`no result of ${expected[0]}`);
		if (message.role === "assistant") {
			expected = message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
		}
	}
}
