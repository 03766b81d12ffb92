import { type Readable, Writable } from "node:stream";
import type { Connections } from "./connections.ts";
import { openLineConnection } from "./line-connection.ts";

/** The streams of this process, as one client. */
export interface Stdio {
	input: Readable;
	output: Writable;
}

export interface StdioOptions extends Stdio {
	connections: Connections;
	maxFrameBytes: number;
	/** There is nobody any more to serve over stdio. */
	onEnd(): void;
}

/** Serves the process that started this one. It is the principal `local`: it runs as the same user. */
export function serveStdio(options: StdioOptions): void {
	openLineConnection({
		...options,
		principal: "local",
		outlivesInput: true,
		hangUp: () => void options.input.destroy(),
	});
}

/**
 * Takes standard output for the protocol: whatever else prints there from now on (`console.log` of an extension) goes to
 * standard error. A reader that goes away is from now on the returned stream's business.
 */
export function claimStdio(): Stdio {
	const { stdin, stdout, stderr } = process;
	const write = stdout.write.bind(stdout);
	const output = new Writable({
		write: (chunk: Buffer, _encoding, done) => void write(chunk, done),
		writev: (chunks, done) =>
			void write(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)), done),
	});
	stdout.removeAllListeners("error");
	stdout.on("error", (error) => output.destroy(error));
	stdout.write = stderr.write.bind(stderr);
	return { input: stdin, output };
}
