import type { Readable, Writable } from "node:stream";
import { createMcpServer, type McpOptions } from "./mcp-server.ts";
import type { McpTransport } from "./peer.ts";

/** A call is small. A client that sends more without a line feed is not one. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Serves the client at standard input and output. Resolves when it has gone. */
export async function serveStdio(options: McpOptions): Promise<void> {
	const server = createMcpServer(options);
	const { stdin, stdout } = process;
	const isGone = new Promise<void>((resolve) => {
		stdin.once("end", resolve).once("close", resolve);
		// The client no longer reads.
		stdout.once("error", () => resolve());
	});
	await server.connect(lineTransport(stdin, stdout));
	await isGone;
	await server.close();
}

/** One message, or an array of them, per line of JSON. Each is answered by a line of its own. Only a line feed ends a line. Lines that are not JSON are ignored. */
export function lineTransport(input: Readable, output: Writable): McpTransport {
	const transport: McpTransport = {
		async start() {
			input.on("data", receive);
		},
		async send(message) {
			if (output.write(`${JSON.stringify(message)}\n`)) return;
			drained ??= drain();
			await drained;
		},
		async close() {
			isClosed = true;
			input.off("data", receive);
			input.pause();
			transport.onclose?.();
		},
	};
	let isClosed = false;
	let drained: Promise<void> | undefined;
	/** While the client does not read, no more is read from it: its answers would pile up. */
	const drain = async () => {
		input.pause();
		await new Promise<void>((resolve) => {
			const end = () => {
				output.off("drain", end).off("close", end);
				resolve();
			};
			output.on("drain", end).on("close", end);
		});
		drained = undefined;
		if (!isClosed) input.resume();
	};
	let parts: Buffer[] = [];
	let bytes = 0;
	const receive = (chunk: Buffer) => {
		let from = 0;
		for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
			parts.push(chunk.subarray(from, at));
			deliver(Buffer.concat(parts).toString());
			parts = [];
			bytes = 0;
			from = at + 1;
		}
		parts.push(chunk.subarray(from));
		bytes += chunk.length - from;
		if (bytes > MAX_LINE_BYTES) input.destroy();
	};
	const deliver = (line: string) => {
		let message: unknown;
		try {
			message = JSON.parse(line);
		} catch {
			return;
		}
		for (const one of Array.isArray(message) ? message : [message]) {
			transport.onmessage?.(one as never);
		}
	};
	return transport;
}
