/** Paging as our own extension does it: the first link of `read`, before the read cache. */
import { isUtf8 } from "node:buffer";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Config } from "../../../src/core/config.ts";
import { decodePageToken } from "../../../src/core/read-input.ts";
import { createPagingSystem } from "../../../src/paging/system.ts";
import type { SessionView } from "../../../src/session/index.ts";
import type { Result } from "./meddlers.ts";
import type { Deed } from "./oracle.ts";
import { settled } from "./tools.ts";
import type { Found, World } from "./world.ts";

/** What answers reads in chunks. One for each life of pi. */
export interface GamePaging {
	/** The answer to a read and what it did; `undefined` when the read is not paging's. */
	read(args: ReadArgs): Promise<{ result: Result; deed: Deed } | undefined>;
	close(): Promise<void>;
}

/** Arguments of `read` in pi's form. */
export interface ReadArgs {
	path: string;
	offset?: number;
	limit?: number;
}

export interface GamePagingOptions {
	world: World;
	settings: Config;
	/** Where the tokens of answers go: the model may read on there at any time. */
	tokens: string[];
}

export function createGamePaging({ world, settings, tokens }: GamePagingOptions): GamePaging {
	const { cwd } = world;
	const system = createPagingSystem();
	// All that it looks at.
	const session = { cwd, config: settings } as SessionView;
	const plain = () => Promise.reject(new Error("paging never asks for pi's own answer"));

	return {
		async read(args) {
			const found = world.look(fileNamed(args.path, cwd));
			const call = { toolCallId: "paged", ...args, signal: undefined };
			const answer = await settled(system.read(call, session, plain));
			if (!answer) return undefined;
			const { file, isLinked } = found;
			if ("error" in answer) {
				const content = [{ type: "text", text: answer.error }];
				// It shows no text. Through a link it does not even say which file it is about.
				const deed: Deed = isLinked ? { kind: "nothing" } : { kind: "opaque", file };
				return { result: { content, details: {}, isError: true }, deed };
			}
			const content = answer.content as Result["content"];
			const text = content[0]?.text ?? "";
			checkChunk(text, found);
			const token = /To continue, read: (page:[^\]]+)\]$/.exec(text)?.[1];
			if (token !== undefined) tokens.push(token);
			if (tokens.length > 10) tokens.shift();
			// Nobody follows it line by line: what was known of the file is not the newest any more.
			const deed: Deed = { kind: "opaque", file, isLinked };
			return { result: { content, details: answer.details, isError: false }, deed };
		},
		close: async () => await system.stop?.(),
	};
}

/** The files in which pruned texts are kept, in the same order each time. */
export function blobPathsIn(folder: string): string[] {
	const names = readdirSync(folder).filter((name) => name.endsWith(".txt"));
	return names.sort().map((name) => join(folder, name));
}

/** The path behind what a call of `read` names: a token, an address or a path. */
function fileNamed(path: string, cwd: string): string {
	const uri = decodePageToken(path)?.uri ?? path;
	return uri.startsWith("file:") ? fileURLToPath(new URL(uri, `${pathToFileURL(cwd).href}/`)) : uri;
}

/** Throws unless a chunk is a piece of the file as it is now. */
function checkChunk(text: string, { file, bytes }: Found): void {
	if (!bytes) throw new Error(`a chunk of ${file}, which is not there`);
	if (!isUtf8(bytes)) return; // paging tells other encodings apart by itself
	const chunk = text.replace(/(\n\n\[[^[\]]*(page:[^\]]*)?\])+$/, "");
	if (chunk !== "[no text]" && !readFileSync(file, "utf8").includes(chunk)) {
		throw new Error(
			`a chunk that is not a piece of ${file}: ${JSON.stringify(chunk.slice(0, 200))}`,
		);
	}
}
