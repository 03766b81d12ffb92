import { type ChildProcessByStdio, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { AbortedError } from "../../core/aborted.ts";
import { describeError } from "../../core/errno.ts";
import { property } from "../../core/property.ts";
import { frame, frameReader } from "./message-frames.ts";

/** `path` is relative to the project. Line and column are 1-based, columns in UTF-16 code units. */
export interface Place {
	readonly path: string;
	readonly line: number;
	readonly column: number;
}

interface ServerOptions {
	/** Security: only the user's own configuration sets it. It runs without a shell. */
	readonly command: string;
	readonly args: readonly string[];
	readonly root: string;
	/** Ends the process, and rejects. */
	readonly signal: AbortSignal;
}

/**
 * References to what is declared at each place, without the declarations. Each call starts a process of its own, which sees
 * the files as they are now and is killed at the end.
 */
export async function findReferences(
	places: readonly Place[],
	{ command, args, root, signal }: ServerOptions,
): Promise<readonly (readonly Place[])[]> {
	if (signal.aborted) throw new AbortedError(signal.reason);
	const server = new LanguageServer(
		spawn(command, args, {
			cwd: root,
			env: environment(),
			stdio: ["pipe", "pipe", "ignore"],
			// A separate process group, so that its children can be killed with it.
			detached: process.platform !== "win32",
			windowsHide: true,
		}),
	);
	const stop = () => server.end(new AbortedError(signal.reason));
	signal.addEventListener("abort", stop);
	try {
		return await ask(server, places, root);
	} finally {
		signal.removeEventListener("abort", stop);
		server.end(new Error("it has ended"));
	}
}

async function ask(
	server: LanguageServer,
	places: readonly Place[],
	root: string,
): Promise<readonly (readonly Place[])[]> {
	const rootUri = pathToFileURL(root).href;
	await server.request("initialize", {
		// Servers end by themselves if this process is gone.
		processId: process.pid,
		rootUri,
		workspaceFolders: [{ uri: rootUri, name: "project" }],
		capabilities: {
			general: { positionEncodings: ["utf-16"] },
			workspace: { configuration: true },
		},
	});
	server.notify("initialized", {});
	const opened = new Set<string>();
	const found: (readonly Place[])[] = [];
	for (const { path, line, column } of places) {
		const file = join(root, path);
		const uri = pathToFileURL(file).href;
		if (!opened.has(path)) {
			opened.add(path);
			const text = await readFile(file, "utf8");
			const languageId = languageOf(path);
			server.notify("textDocument/didOpen", {
				textDocument: { uri, languageId, version: 1, text },
			});
		}
		const position = { line: line - 1, character: column - 1 };
		const context = { includeDeclaration: false };
		const query = { textDocument: { uri }, position, context };
		found.push(placesIn(await server.request("textDocument/references", query), root));
	}
	return found;
}

/** Nothing with a secret is passed on. */
function environment(): NodeJS.ProcessEnv {
	const names = ["PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SystemRoot", "USERPROFILE"];
	return Object.fromEntries(
		names.flatMap((name) => {
			const value = process.env[name];
			return value === undefined ? [] : [[name, value]];
		}),
	);
}

function languageOf(path: string): string {
	if (/\.tsx$/.test(path)) return "typescriptreact";
	if (/\.jsx$/.test(path)) return "javascriptreact";
	return /\.[cm]?ts$/.test(path) ? "typescript" : "javascript";
}

/** Locations outside of the project, such as TypeScript's own library, are left out. */
function placesIn(result: unknown, root: string): readonly Place[] {
	if (result === null || result === undefined) return [];
	if (!Array.isArray(result)) throw new Error("it sent references that are no list");
	return result.flatMap((location: unknown): Place[] => {
		const uri = property(location, "uri");
		const start = property(property(location, "range"), "start");
		const line = property(start, "line");
		const character = property(start, "character");
		if (typeof uri !== "string" || typeof line !== "number" || typeof character !== "number") {
			throw new Error("it sent a reference without a place");
		}
		if (!uri.startsWith("file:")) return [];
		const file = fileURLToPath(uri);
		if (!file.startsWith(root + sep)) return [];
		const path = file.slice(root.length + 1).replaceAll(sep, "/");
		return [{ path, line: line + 1, column: character + 1 }];
	});
}

class LanguageServer {
	readonly #child: ChildProcessByStdio<Writable, Readable, null>;
	readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
	#last = 0;
	#failure: Error | undefined;

	constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
		this.#child = child;
		process.once("exit", this.#kill);
		child.once("error", (error) =>
			this.end(new Error(`it did not start: ${describeError(error)}`)),
		);
		child.once("exit", (code, signal) => {
			this.end(new Error(`it ended with ${code === null ? `signal ${signal}` : `status ${code}`}`));
		});
		const read = frameReader((message) => this.#receive(message));
		child.stdout.on("data", (chunk: Buffer) => {
			try {
				read(chunk);
			} catch (error) {
				this.end(error as Error);
			}
		});
		// The end of the process is reported by `exit`.
		for (const stream of [child.stdin, child.stdout]) stream.on("error", () => {});
	}

	request(method: string, params: object): Promise<unknown> {
		if (this.#failure) return Promise.reject(this.#failure);
		const id = ++this.#last;
		const waiting = Promise.withResolvers<unknown>();
		this.#pending.set(id, waiting);
		this.#child.stdin.write(frame({ id, method, params }));
		return waiting.promise;
	}

	notify(method: string, params: object): void {
		if (!this.#failure) this.#child.stdin.write(frame({ method, params }));
	}

	/** Kills the process and rejects requests in flight. */
	end(failure: Error): void {
		if (this.#failure) return;
		this.#failure = failure;
		process.off("exit", this.#kill);
		this.#kill();
		for (const { reject } of this.#pending.values()) reject(failure);
		this.#pending.clear();
	}

	#receive(message: unknown): void {
		const id = property(message, "id");
		if (typeof property(message, "method") === "string") {
			if (id === undefined) return;
			// Settings are the server's own; other requests have nothing to return.
			const items = property(property(message, "params"), "items");
			const result = Array.isArray(items) ? items.map(() => null) : null;
			if (!this.#failure) this.#child.stdin.write(frame({ id, result }));
			return;
		}
		const waiting = this.#pending.get(id as number);
		this.#pending.delete(id as number);
		const error = property(message, "error");
		if (error === undefined) waiting?.resolve(property(message, "result"));
		else
			waiting?.reject(
				new Error(`it reported: ${String(property(error, "message")).slice(0, 200)}`),
			);
	}

	/** Windows has no process groups: only the process itself is killed. */
	readonly #kill = () => {
		const { pid } = this.#child;
		if (pid === undefined) return;
		try {
			if (process.platform === "win32") this.#child.kill("SIGKILL");
			else process.kill(-pid, "SIGKILL");
		} catch {
			// The process has already exited.
		}
	};
}
