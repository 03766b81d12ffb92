import { Readable, Writable } from "node:stream";
import { ndJsonStream } from "@agentclientprotocol/sdk";
import { type AcpOptions, createAcpAgent } from "./agent.ts";

/** A prompt may hold images; the server takes frames of 10 MiB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** Serves the editor at standard input and output. Resolves when it has gone. */
export async function serveStdio(
	options: AcpOptions,
	{ input, output }: { input: Readable; output: Writable } = {
		...{ input: process.stdin, output: process.stdout },
	},
): Promise<void> {
	const { app, close } = createAcpAgent(options);
	const stream = ndJsonStream(
		Writable.toWeb(output),
		Readable.toWeb(input) as ReadableStream<Uint8Array>,
		{ maxMessageBytes: MAX_MESSAGE_BYTES },
	);
	try {
		await app.connect(stream).closed;
	} finally {
		close();
	}
}
