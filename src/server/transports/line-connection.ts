import type { Readable, Writable } from "node:stream";
import type { Message } from "../engine/message.ts";
import type { Connections } from "./connections.ts";
import { createLineSplitter, type Line } from "./line-splitter.ts";
import type { Encoded } from "./outbox-queue.ts";
import { writeParts } from "./write-parts.ts";

export interface LineConnectionOptions {
	input: Readable;
	output: Writable;
	principal: string;
	connections: Connections;
	maxFrameBytes: number;
	/** Whether the client still wants answers when its input has ended. */
	outlivesInput: boolean;
	/** The input, or the connection as a whole, has ended. May be called for both. */
	onEnd(): void;
	/** Ends the connection after what was written has gone out. */
	hangUp(): void;
}

/** A client that speaks one JSON object a line: over stdin and stdout, or over a Unix socket. */
export function openLineConnection(options: LineConnectionOptions): void {
	const { input, output, principal, connections, maxFrameBytes, onEnd, hangUp } = options;
	const splitter = createLineSplitter(maxFrameBytes);
	let isOver = false;
	const connection = connections.open(principal, {
		encode: line,
		write(parts, done) {
			if (output.writable) writeParts(output, parts, done);
		},
		pause(isPaused) {
			if (isPaused) input.pause();
			else input.resume();
		},
		close: end,
		cut: end,
	});

	function end(): void {
		over();
		hangUp();
	}

	function receive(lines: Line[]): void {
		for (const found of lines) {
			if (found.kind === "line") connection.receive(found.bytes);
			else connection.refuseTooLarge();
		}
	}

	function over(): void {
		if (isOver) return;
		isOver = true;
		connection.gone();
		onEnd();
	}

	function inputOver(): void {
		if (options.outlivesInput) onEnd();
		else over();
	}

	input.on("data", (chunk: Buffer) => {
		if (isOver) return;
		receive(splitter.push(chunk));
		connection.holds(splitter.held);
	});
	input.on("end", () => {
		receive(splitter.end());
		if (options.outlivesInput) onEnd();
		else void connection.settled().then(hangUp);
	});
	input.on("error", inputOver);
	input.on("close", inputOver);
	output.on("error", over);
	output.on("close", over);
}

function line(message: Message): Encoded {
	const { shared } = message;
	if (shared === undefined) return Buffer.from(`${message.json()}\n`);
	return [Buffer.from(shared.head), shared.written.bytes, END];
}

const END = Buffer.from("}\n");
