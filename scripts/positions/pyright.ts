import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

interface Location {
	readonly uri: string;
	readonly range: { readonly start: { readonly line: number; readonly character: number } };
}

/** Asks pyright's language server for the references of each place. Places are `path:line:column`. */
export async function askPyright(
	server: string,
	root: string,
	places: readonly string[],
): Promise<Record<string, string[]>> {
	const process_ = spawn(process.execPath, [server, "--stdio"], {
		stdio: ["pipe", "pipe", "ignore"],
	});
	const waiting = new Map<number, (result: unknown) => void>();
	let buffer = Buffer.alloc(0);
	let last = 0;
	const send = (message: object) => {
		const text = JSON.stringify({ jsonrpc: "2.0", ...message });
		process_.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
	};
	const ask = (method: string, params: object) =>
		new Promise<unknown>((resolve) => {
			waiting.set(++last, resolve);
			send({ id: last, method, params });
		});
	process_.stdout.on("data", (data: Buffer) => {
		buffer = Buffer.concat([buffer, data]);
		for (;;) {
			const head = buffer.indexOf("\r\n\r\n");
			const length = Number(
				/Content-Length: (\d+)/i.exec(buffer.subarray(0, head).toString())?.[1],
			);
			if (head < 0 || buffer.length < head + 4 + length) return;
			const message = JSON.parse(buffer.subarray(head + 4, head + 4 + length).toString());
			buffer = buffer.subarray(head + 4 + length);
			if (message.method !== undefined && message.id !== undefined) {
				const items: unknown[] = message.params?.items ?? [];
				const settings = {
					analysis: { diagnosticMode: "workspace", extraPaths: [join(root, "src")] },
				};
				send({ id: message.id, result: items.map(() => settings) });
			} else waiting.get(message.id)?.(message.result);
		}
	});
	const uri = pathToFileURL(root).href;
	await ask("initialize", {
		processId: process.pid,
		rootUri: uri,
		workspaceFolders: [{ uri, name: "project" }],
		capabilities: { workspace: { configuration: true, workspaceFolders: true } },
	});
	send({ method: "initialized", params: {} });
	const found: Record<string, string[]> = {};
	const opened = new Set<string>();
	for (const place of places) {
		const [path = "", line, column] = place.split(":");
		const textDocument = { uri: pathToFileURL(join(root, path)).href };
		if (!opened.has(path)) {
			opened.add(path);
			const text = readFileSync(join(root, path), "utf8");
			const document = { ...textDocument, languageId: "python", version: 1, text };
			send({ method: "textDocument/didOpen", params: { textDocument: document } });
		}
		const position = { line: Number(line) - 1, character: Number(column) - 1 };
		const context = { includeDeclaration: true };
		const all = await ask("textDocument/references", { textDocument, position, context });
		found[place] = ((all ?? []) as Location[])
			.map(({ uri: at, range: { start } }) => {
				const inside = decodeURIComponent(at.slice(uri.length + 1));
				return `${inside}:${start.line + 1}:${start.character + 1}`;
			})
			.filter((one) => one !== place);
	}
	process_.kill();
	return found;
}
