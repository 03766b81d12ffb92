import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type { Data, Response } from "../../../src/protocol/index.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { atEnd } from "../../support/temp.ts";
import { connectClient } from "./ws-client.ts";

/** Anything that goes out as one frame: an object is sent as JSON, text and bytes as they are. */
export type Outgoing = object | string | Uint8Array;

/** A client that speaks the bare protocol: it sends any frame, and keeps every frame it gets, in order. */
export interface WireClient {
	readonly transport: Transport;
	/** What came since the client was made. */
	readonly frames: readonly Data<"ServerMessage">[];
	/** Bytes of these frames, without what the transport puts around them. */
	bytes(): number;
	/** Sends frames in one go, so that the server finds them together. */
	send(...frames: Outgoing[]): void;
	/** The first frame that fits, of those there are or of those to come. Gives up after a while, and shows what came instead. */
	next<Found extends Data<"ServerMessage">>(
		fits: (frame: Data<"ServerMessage">) => frame is Found,
	): Promise<Found>;
	next(fits: (frame: Data<"ServerMessage">) => boolean): Promise<Data<"ServerMessage">>;
	/** The response of that id, now or later. */
	response(id: string): Promise<Answer>;
	/** Sends a command, under an id of its own unless it has one, and resolves with the response. */
	ask(command: { type: string; id?: string; [field: string]: unknown }): Promise<Answer>;
	/** Resolves when everything that the server had to say by now is here: frames come in order. */
	caughtUp(): Promise<void>;
	close(): void;
}

export type Transport = "websocket" | "stdio";

/** A response whose data a test may look into without further ado. */
export type Answer = Response<Record<string, never>>;

/** Frames as they come in, for one or more clients. */
interface Intake {
	listen(listener: (text: string) => void): () => void;
	write(frames: readonly (string | Uint8Array)[]): void;
	close(): void;
}

const LAST_SHOWN = 25;
let lastNumber = 0;

/** A name that nobody has used in this process. */
export function fresh(name: string): string {
	return `${name}-${++lastNumber}`;
}

/** A client over a WebSocket of its own. */
export async function connectWire(url: string, token?: string): Promise<WireClient> {
	const { socket, received } = await connectClient(url, token === undefined ? {} : { token });
	const early = received.map((message) => JSON.stringify(message));
	const client = createWireClient("websocket", {
		listen(listener) {
			for (const text of early) listener(text);
			const hear = (data: unknown) => listener(String(data));
			socket.on("message", hear);
			return () => socket.off("message", hear);
		},
		write: (frames) => {
			for (const frame of frames) socket.send(frame);
		},
		close: () => socket.close(),
	});
	return client;
}

/** The standard streams of a server as a wire. There is one, which any number of clients of a test can share. */
export function createStdioWire(child: ChildProcessWithoutNullStreams) {
	const lines: string[] = [];
	const listeners = new Set<(text: string) => void>();
	const parts: Buffer[] = [];
	child.stdout.on("data", (chunk: Buffer) => {
		let start = 0;
		for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
			const line = Buffer.concat([...parts.splice(0), chunk.subarray(start, end)]).toString("utf8");
			lines.push(line);
			for (const listener of [...listeners]) listener(line);
			start = end + 1;
		}
		if (start < chunk.length) parts.push(chunk.subarray(start));
	});
	return {
		/** All lines since the process began. */
		lines: lines as readonly string[],
		client: () =>
			createWireClient("stdio", {
				listen(listener) {
					listeners.add(listener);
					return () => listeners.delete(listener);
				},
				write(frames) {
					const ended = frames.map((frame) => Buffer.concat([Buffer.from(frame), LINE_END]));
					child.stdin.write(Buffer.concat(ended));
				},
				close() {},
			}),
	};
}

const LINE_END = Buffer.from("\n");

/** What befell a command, as this client saw it: `accepted`, `started`, `finished`, `response`. */
export function course({ frames }: WireClient, id: string): string[] {
	return frames.flatMap((frame) => {
		if (frame.type === "response") return frame.id === id ? ["response"] : [];
		return isLifecycle(frame) && frame.data.commandId === id
			? [frame.type.slice("command_".length)]
			: [];
	});
}

/** Several commands' phases in the order in which they came, such as `a started`. */
export function courses({ frames }: WireClient, ids: readonly string[]): string[] {
	return frames.flatMap((frame) =>
		isLifecycle(frame) && ids.includes(frame.data.commandId)
			? [`${frame.data.commandId} ${frame.type.slice("command_".length)}`]
			: [],
	);
}

export type Lifecycle = Extract<
	Data<"ServerEvent">,
	{ type: "command_accepted" | "command_started" | "command_finished" }
>;

export function isLifecycle(frame: Data<"ServerMessage">): frame is Lifecycle {
	return /^command_(accepted|started|finished)$/.test(frame.type);
}

/** The `command_finished` of a command; there has to be one by now. */
export function finished({ frames }: WireClient, id: string): Lifecycle["data"] {
	const found = frames
		.filter(isLifecycle)
		.find(({ type, data }) => type === "command_finished" && data.commandId === id);
	if (!found) throw new Error(`no command_finished of ${id}`);
	return found.data;
}

/** Events of a session, as frames. */
export function eventsOf({ frames }: WireClient, sessionId: string) {
	return frames.filter(
		(frame) => frame.type === "event" && frame.sessionId === sessionId,
	) as Extract<Data<"ServerMessage">, { type: "event" }>[];
}

function createWireClient(transport: Transport, wire: Intake): WireClient {
	const frames: Data<"ServerMessage">[] = [];
	const waiting = new Set<() => void>();
	let bytes = 0;
	const stop = wire.listen((text) => {
		bytes += Buffer.byteLength(text);
		frames.push(JSON.parse(text));
		for (const look of [...waiting]) look();
	});
	atEnd(() => {
		stop();
		wire.close();
	});

	const next = (fits: (frame: Data<"ServerMessage">) => boolean): Promise<never> => {
		const { promise, resolve, reject } = Promise.withResolvers<never>();
		let seen = 0;
		const look = () => {
			while (seen < frames.length) {
				const frame = frames[seen++] as Data<"ServerMessage">;
				if (!fits(frame)) continue;
				settle();
				resolve(frame as never);
				return;
			}
		};
		// Frames that never come would otherwise be a test that ends without a word of what did come.
		const error = new Error("the frame did not come");
		const timer = setTimeout(() => {
			settle();
			const last = frames.slice(-LAST_SHOWN).map((frame) => JSON.stringify(frame).slice(0, 300));
			error.message += `; the last of ${frames.length} are:\n${last.join("\n")}`;
			reject(error);
		}, PATIENCE_MS);
		const settle = () => {
			clearTimeout(timer);
			waiting.delete(look);
		};
		waiting.add(look);
		look();
		return promise;
	};
	const client: WireClient = {
		transport,
		frames,
		bytes: () => bytes,
		send: (...outgoing) => wire.write(outgoing.map(written)),
		next,
		response: (id) => next((frame) => frame.type === "response" && frame.id === id),
		ask(command) {
			const id = command.id ?? fresh(command.type);
			const answers = frames.filter((frame) => frame.type === "response" && frame.id === id).length;
			client.send({ ...command, id });
			let seen = 0;
			return next((frame) => {
				if (frame.type !== "response" || frame.id !== id) return false;
				return ++seen > answers;
			});
		},
		async caughtUp() {
			await client.ask({ type: "health_check" });
		},
		close() {
			stop();
			wire.close();
		},
	};
	return client;
}

function written(frame: Outgoing): string | Uint8Array {
	return typeof frame === "string" || frame instanceof Uint8Array ? frame : JSON.stringify(frame);
}
