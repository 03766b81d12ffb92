import { Worker } from "node:worker_threads";
import { workerEntry } from "../../core/worker-entry.ts";
import { PagingError } from "../errors.ts";
import type { ExtractReply, ExtractRequest } from "./extract-worker.ts";
import { strippedText } from "./plain-text.ts";

/** A page whose text is wanted. */
export interface ExtractPage {
	html: string;
	/** The address the page was finally found at. */
	baseUrl: string;
}

/** The text of a page, as markdown. */
export interface Extracted {
	markdown: string;
	title?: string;
	/** Which way it was found: two readers for the main text, or without looking for one, down to bare text. */
	via: "defuddle" | "readability" | "linear" | "text";
	/** The page was too much for the readers, so that the text has more around it and less structure than usual. */
	degraded: boolean;
	/** Why, in that case. */
	reason?: "too_large" | "deadline" | "out_of_memory" | "failed";
}

/** Limits of an extractor; all have defaults. */
export interface ExtractorOptions {
	/** Time to look for the main text of a page, from when the worker begins with that. Default: 10 s. */
	deadlineMs?: number;
	/** Memory for the worker's objects, in MiB. Default: 512. */
	maxOldGenerationMb?: number;
	/** How long a worker without work is kept. Default: 60 s. */
	idleMs?: number;
}

/** Converts pages away from the main thread, one at a time. */
export interface Extractor {
	/**
	 * The page's text: always an answer, whatever the page. Rejects only with a `PagingError` "aborted", at once,
	 * when the signal is aborted or the extractor closed.
	 */
	extract(page: ExtractPage, signal?: AbortSignal): Promise<Extracted>;
	close(): Promise<void>;
}

/**
 * Starts a worker with the first page and keeps it warm for the next. It first converts a page in linear time,
 * a second or less for 10 MB, and sends that as a draft; then it looks for the main text. A page that takes too
 * long, too much memory or the worker with it is answered with the draft, and the next one gets a fresh worker.
 * Should even the draft be missing, the page is stripped of its tags here, in small slices.
 *
 * While a page is at work it keeps the process alive; an idle worker does not.
 */
export function createExtractor(options: ExtractorOptions = {}): Extractor {
	const { deadlineMs = 10_000, maxOldGenerationMb = 512, idleMs = 60_000 } = options;
	const closing = new AbortController();
	let worker: Worker | undefined;
	let idleTimer: NodeJS.Timeout | undefined;
	let lastTurn: Promise<unknown> = Promise.resolve();

	return {
		async extract(page, signal) {
			const stop = AbortSignal.any(signal ? [signal, closing.signal] : [closing.signal]);
			if (stop.aborted) throw aborted(stop);
			const turn = lastTurn.then(() => convert(page, stop));
			lastTurn = turn.catch(() => {}); // told to whoever asked for it
			return await untilAborted(turn, stop);
		},
		async close() {
			closing.abort(new Error("the extractor was closed"));
			await dismiss();
		},
	};

	async function convert({ html, baseUrl }: ExtractPage, stop: AbortSignal): Promise<Extracted> {
		if (stop.aborted) throw aborted(stop);
		const { draft, end } = await ask({ html, baseUrl }, stop);
		if (stop.aborted) throw aborted(stop);
		if (end.kind === "done") {
			const { kind: _, ...found } = end;
			return { ...found, degraded: false };
		}
		const reason = end.kind;
		if (draft) return { ...draft, via: "linear", degraded: true, reason };
		return { markdown: await strippedText(html, stop), via: "text", degraded: true, reason };
	}

	async function ask(request: ExtractRequest, stop: AbortSignal): Promise<Conversation> {
		clearTimeout(idleTimer);
		const asked = warmWorker();
		asked.ref();
		asked.postMessage(request);
		const heard = await conversation(asked, deadlineMs, stop);
		if (heard.end.kind === "done" || heard.end.kind === "too_large") {
			asked.unref();
			idleTimer = setTimeout(dismiss, idleMs).unref();
		} else await dismiss(); // it is busy or gone, or nobody knows what is left in it
		return heard;
	}

	function warmWorker(): Worker {
		if (worker) return worker;
		const started = startWorker(maxOldGenerationMb);
		started.once("exit", () => {
			if (worker === started) worker = undefined;
		});
		worker = started;
		return started;
	}

	async function dismiss(): Promise<void> {
		clearTimeout(idleTimer);
		const dismissed = worker;
		worker = undefined;
		await dismissed?.terminate();
	}
}

/** A worker takes up to 0.5 s to start and more on a busy machine, which is not the page's fault; then the draft. */
const DRAFT_MS = 15_000;

function startWorker(maxOldGenerationSizeMb: number): Worker {
	const worker = new Worker(workerEntry("./extract-worker", import.meta.url), {
		resourceLimits: { maxOldGenerationSizeMb },
		// Whatever a library writes there is not for pi's terminal.
		stdout: true,
		stderr: true,
	});
	// Without a listener an error between two pages would end the process.
	worker.on("error", () => {});
	worker.stdout.resume();
	worker.stderr.resume();
	return worker;
}

interface Conversation {
	draft?: { markdown: string; title?: string };
	end:
		| Extract<ExtractReply, { kind: "done" | "too_large" }>
		| { kind: "deadline" | "out_of_memory" | "failed" };
}

/** Listens to what a worker says about a page until it is done, dead or late, or nobody wants to know any more. */
function conversation(worker: Worker, deadlineMs: number, stop: AbortSignal) {
	return new Promise<Conversation>((resolve) => {
		let draft: Conversation["draft"];
		const settle = (end: Conversation["end"]) => {
			clearTimeout(timer);
			stop.removeEventListener("abort", onFailure);
			worker.off("message", onMessage).off("error", onError).off("exit", onFailure);
			resolve({ end, ...(draft ? { draft } : {}) });
		};
		const onFailure = () => settle({ kind: "failed" });
		const onDeadline = () => settle({ kind: "deadline" });
		const onError = ({ code }: NodeJS.ErrnoException) =>
			settle({ kind: code === "ERR_WORKER_OUT_OF_MEMORY" ? "out_of_memory" : "failed" });
		const onMessage = (reply: ExtractReply) => {
			if (reply.kind === "draft") {
				const { kind: _, ...content } = reply;
				draft = content;
				clearTimeout(timer);
				timer = setTimeout(onDeadline, deadlineMs);
			} else if (reply.kind === "failed") onFailure();
			else settle(reply);
		};
		let timer = setTimeout(onDeadline, DRAFT_MS);
		stop.addEventListener("abort", onFailure, { once: true });
		worker.on("message", onMessage).on("error", onError).on("exit", onFailure);
	});
}

/** The promise's outcome, unless the signal is aborted before it. */
async function untilAborted<T>(promise: Promise<T>, stop: AbortSignal): Promise<T> {
	let onAbort = () => {};
	const abort = new Promise<never>((_, reject) => {
		onAbort = () => reject(aborted(stop));
		stop.addEventListener("abort", onAbort, { once: true });
	});
	try {
		return await Promise.race([promise, abort]);
	} finally {
		stop.removeEventListener("abort", onAbort);
	}
}

function aborted(stop: AbortSignal): PagingError {
	return new PagingError("aborted", "Reading the page was stopped before its text was found.", {
		cause: stop.reason,
	});
}
