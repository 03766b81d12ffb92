import { DEMO_OF } from "../core/demo-model.ts";
import { lastServerAddress, runningServer, serverFolderIn } from "../core/server-address.ts";
import type { CommandFields, ResponseData } from "../protocol/index.ts";
import type {
	AnswerDelta,
	PartialAnswer,
	Progress,
	SessionView,
	System,
} from "../session/index.ts";
import { answerReport, clip, MAX_ANSWER_CHARACTERS, outputTail } from "./answer-report.ts";

export type ProgressReport = CommandFields<"report_progress">;

export interface ProgressConnection {
	/** Rejects if the server does not answer in time. */
	report(report: ProgressReport): Promise<ResponseData["report_progress"]>;
	close(): void;
}

/** Pause between two reports. Words that come meanwhile go into one. */
const REPORT_MS = 100;
/** Pause between two looks for a server, and between two reports that no client follows. */
const LOOK_MS = 2_000;
/** A run without news is reported as often: the server takes longer silence for its end. */
const KEEP_ALIVE_MS = 5_000;
const ANSWER_MS = 5_000;
/** Pause after a server that did not answer. */
const RETRY_MS = 10_000;
const MAX_CALLS = 100;

/**
 * Reports the answer in flight to a running server, so that a page can follow it. Never delays pi: events only note
 * references, one report is in flight at a time, and each has what is new since the last that the server confirmed.
 * Without a server, a run looks for its file every two seconds and does nothing else.
 */
export class ProgressReporter implements System {
	readonly name = "progress";
	readonly #connect: () => Promise<ProgressConnection | undefined>;
	#file: string | undefined;
	#connection: ProgressConnection | undefined;
	#isLooking = false;
	#nextLookMs = 0;
	#isRunning = false;
	#answer: PartialAnswer | undefined;
	/** Arguments of calls that are being written, by block. Absent for one whose start came before the connection. */
	readonly #json = new Map<number, string>();
	readonly #calls = new Map<string, { readonly toolName: string; readonly output: unknown }>();
	#has: readonly number[] = [];
	#isWatched = false;
	/** The connection with a report in flight. */
	#sending: ProgressConnection | undefined;
	/** Whether something happened since the last report was made. */
	#hasNews = false;
	#timer: NodeJS.Timeout | undefined;
	#dueMs = 0;

	constructor(
		agentDir: string,
		connect: () => Promise<ProgressConnection | undefined> = () => connectToServer(agentDir),
	) {
		this.#connect = connect;
	}

	start({ sessionManager }: SessionView): void {
		this.stop();
		this.#file = sessionManager.getSessionFile();
	}

	stop(): void {
		this.#disconnect();
		this.#file = undefined;
		this.#isRunning = false;
		this.#answer = undefined;
		this.#calls.clear();
	}

	onProgress(progress: Progress): void {
		if (this.#file === undefined) return;
		this.#note(progress);
		this.#hasNews = true;
		if (this.#connection) this.#schedule(this.#isWatched ? REPORT_MS : LOOK_MS);
		else if (this.#isRunning && !this.#isLooking) this.#scheduleLook();
	}

	#note(progress: Progress): void {
		switch (progress.kind) {
			case "run":
				this.#isRunning = progress.isRunning;
				this.#answer = undefined;
				this.#calls.clear();
				return;
			case "answer":
				if (progress.answer.timestamp !== this.#answer?.timestamp) {
					this.#has = [];
					this.#json.clear();
				}
				this.#answer = progress.answer;
				if (progress.delta && this.#connection) this.#noteJson(progress.delta);
				return;
			case "answered":
				this.#answer = undefined;
				return;
			case "call": {
				const { toolCallId, toolName } = progress.call;
				this.#calls.set(toolCallId, { toolName, output: progress.output });
				return;
			}
			case "called":
				this.#calls.delete(progress.call.toolCallId);
		}
	}

	#noteJson(delta: AnswerDelta): void {
		if (delta.type === "toolcall_start") this.#json.set(delta.contentIndex, "");
		if (delta.type !== "toolcall_delta") return;
		const written = this.#json.get(delta.contentIndex);
		if (written === undefined || written.length > MAX_ANSWER_CHARACTERS) return;
		this.#json.set(delta.contentIndex, written + delta.delta);
	}

	#scheduleLook(): void {
		this.#schedule(Math.max(0, this.#nextLookMs - performance.now()));
	}

	/** Looks again while the run lasts: a server may start in the middle of it. */
	async #look(): Promise<void> {
		const file = this.#file;
		this.#isLooking = true;
		// No server that can be used is no error: the next look may find one.
		const connection = await this.#connect().catch(() => undefined);
		this.#isLooking = false;
		this.#nextLookMs = performance.now() + LOOK_MS;
		const isWanted = this.#file !== undefined && this.#file === file && this.#isRunning;
		if (!isWanted) return connection?.close();
		this.#connection = connection;
		if (connection) this.#schedule(0);
		else this.#scheduleLook();
	}

	/** Unreferenced, so that pi can end. An earlier date stays. */
	#schedule(ms: number): void {
		const dueMs = performance.now() + ms;
		if (this.#timer && this.#dueMs <= dueMs) return;
		clearTimeout(this.#timer);
		this.#dueMs = dueMs;
		this.#timer = setTimeout(() => {
			this.#timer = undefined;
			void (this.#connection ? this.#send() : this.#look());
		}, ms).unref();
	}

	async #send(): Promise<void> {
		const connection = this.#connection;
		const file = this.#file;
		if (!connection || file === undefined || this.#sending === connection) return;
		this.#sending = connection;
		this.#hasNews = false;
		const report = this.#report(file);
		const answered = await connection.report(report).catch(() => undefined);
		if (this.#connection !== connection) return;
		this.#sending = undefined;
		if (!answered) {
			this.#disconnect(RETRY_MS);
			if (this.#isRunning) this.#scheduleLook();
			return;
		}
		this.#isWatched = answered.watched;
		if (report.message && report.message.timestamp === this.#answer?.timestamp) {
			this.#has = answered.has;
		}
		const unreported = this.#isWatched && this.#message();
		if (this.#hasNews || (unreported && unreported.blocks.length > 0)) {
			this.#schedule(this.#isWatched ? REPORT_MS : LOOK_MS);
		}
		// An idle pi holds no connection: it would keep a server that stops when idle.
		else if (!this.#isRunning) this.#disconnect();
		else this.#schedule(this.#isWatched ? KEEP_ALIVE_MS : LOOK_MS);
	}

	#report(sessionPath: string): ProgressReport {
		const about = { sessionPath, isRunning: this.#isRunning };
		if (!this.#isWatched) return about;
		const calls = [...this.#calls]
			.slice(0, MAX_CALLS)
			.map(([id, { toolName, output: partial }]) => {
				const output = outputTail(partial);
				const name = { toolCallId: clip(id), toolName: clip(toolName) };
				return { ...name, ...(output !== undefined && { output }) };
			});
		const message = this.#message();
		return { ...about, ...(message && { message }), calls };
	}

	/** What the server does not have of the answer in flight. */
	#message(): ProgressReport["message"] {
		const jsonOf = (index: number) => this.#json.get(index) ?? "";
		return this.#answer && answerReport(this.#answer, this.#has, jsonOf);
	}

	#disconnect(pauseMs = 0): void {
		clearTimeout(this.#timer);
		this.#timer = undefined;
		this.#hasNews = false;
		this.#connection?.close();
		this.#connection = undefined;
		this.#sending = undefined;
		this.#isWatched = false;
		this.#json.clear();
		this.#nextLookMs = performance.now() + pauseMs;
	}
}

/** The server of this user, if one runs. Its own record says where; its token file is the user's alone. */
async function connectToServer(agentDir: string): Promise<ProgressConnection | undefined> {
	const folder = serverFolderIn(process.env[DEMO_OF] ?? agentDir);
	// The file first: without one, nothing else is loaded or opened.
	if ((await lastServerAddress(folder)) === undefined) return undefined;
	const address = await runningServer(folder);
	if (!address) return undefined;
	const [{ createClient }, { endableTransport }] = await Promise.all([
		import("../protocol/client.ts"),
		import("./server-transport.ts"),
	]);
	const ending = new AbortController();
	const client = createClient({ transport: endableTransport(address, ending.signal) });
	return {
		async report(report) {
			return (await client.request("report_progress", report, { timeoutMs: ANSWER_MS })).data;
		},
		close() {
			client.close();
			ending.abort();
		},
	};
}
