import { setImmediate } from "node:timers/promises";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import {
	type RunningJob,
	type WorkerError,
	WorkerSupervisor,
} from "../../core/worker-supervisor.ts";
import { splitsPair } from "../chunk.ts";
import { PagingError } from "../errors.ts";
import { decodeEntities } from "./entities.ts";
import type { PageMarkdown } from "./html-to-markdown.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapse, escapeTags } from "./inline-text.ts";

export interface ExtractPage {
	readonly html: string;
	/** The address after redirects. */
	readonly baseUrl: string;
}

/** The result of the linear conversion, which the worker sends before its answer. */
export type Fallback = Omit<PageMarkdown, "via">;

/** `too_large`: use the fallback, since Defuddle and Readability would miss the deadline. */
export type ExtractAnswer = PageMarkdown | "too_large";

export interface Extracted extends Fallback {
	readonly via: PageMarkdown["via"] | "text";
	/** True if Defuddle and Readability gave no result, so the text has more clutter and less structure. */
	readonly degraded: boolean;
	readonly reason?: "too_large" | "deadline" | "out_of_memory" | "failed";
}

export interface ExtractorOptions {
	/** Time limit for finding the main text, counted from the fallback's arrival. Default: 10 s. */
	readonly deadlineMs?: number;
	/** Maximum old generation of the worker's heap, in MiB. Default: 512. */
	readonly maxOldGenerationMb?: number;
	/** Idle workers end after this time. Default: 60 s. */
	readonly idleMs?: number;
}

/** Time limit for the fallback. The deadline starts afterwards. 10 MB take up to 1 s on an idle machine. */
const FALLBACK_MS = 15_000;

/**
 * Converts pages in a worker, which sends a linear-time fallback first. The fallback is the answer
 * if the search for the main text fails; without a fallback, tags are stripped in this thread, in slices.
 */
export class Extractor {
	readonly #deadlineMs: number;
	readonly #closing = new AbortController();
	readonly #supervisor: WorkerSupervisor<ExtractPage, ExtractAnswer, Fallback>;

	constructor(options: ExtractorOptions = {}) {
		const { deadlineMs = 10_000, maxOldGenerationMb = 512, idleMs = 60_000 } = options;
		const entry = workerEntry("./extract-worker", import.meta.url);
		this.#deadlineMs = deadlineMs;
		this.#supervisor = new WorkerSupervisor({
			start: () =>
				thread(entry, { resourceLimits: { maxOldGenerationSizeMb: maxOldGenerationMb } }),
			deadlineMs: FALLBACK_MS,
			idleMs,
			endOnFailure: true,
		});
	}

	/** Always returns a text. Rejects only on abort or close, with the `PagingError` code `aborted`. */
	async extract(page: ExtractPage, signal?: AbortSignal): Promise<Extracted> {
		const closing = this.#closing.signal;
		const stop = AbortSignal.any(signal ? [signal, closing] : [closing]);
		try {
			return await this.#convert(page, stop);
		} catch (error) {
			if (!stop.aborted) throw error;
			const message = "Reading the page was stopped before its text was found.";
			throw new PagingError("aborted", message, { cause: stop.reason });
		}
	}

	async close(): Promise<void> {
		this.#closing.abort(new Error("the extractor was closed"));
		await this.#supervisor.close();
	}

	async #convert(page: ExtractPage, signal: AbortSignal): Promise<Extracted> {
		let fallback: Fallback | undefined;
		const onNote = (note: Fallback, job: RunningJob) => {
			fallback = note;
			job.extend(this.#deadlineMs);
		};
		const found = await this.#supervisor.run(page, { signal, onNote }).catch(reasonOf);
		if (typeof found === "object") return { ...found, degraded: false };
		signal.throwIfAborted();
		if (fallback) return { ...fallback, via: "linear", degraded: true, reason: found };
		const markdown = await stripTags(page.html, signal);
		return { markdown, via: "text", degraded: true, reason: found };
	}
}

function reasonOf({ fault }: WorkerError): NonNullable<Extracted["reason"]> {
	if (fault === "deadline") return fault;
	return fault === "memory" ? "out_of_memory" : "failed";
}

/** Characters per step, and milliseconds before yielding to the event loop. */
const PIECE = 65_536;
const MS_PER_SLICE = 8;

/** Runs on the calling thread in slices of a few milliseconds. On abort, throws the signal's reason. */
async function stripTags(html: string, signal: AbortSignal): Promise<string> {
	const pieces: string[] = [];
	let sliceStart = performance.now();
	for (const piece of textPieces(html)) {
		const text = escapeTags(collapse(decodeEntities(piece)).trim());
		if (text !== "") pieces.push(text);
		if (performance.now() - sliceStart < MS_PER_SLICE) continue;
		await setImmediate();
		signal.throwIfAborted();
		sliceStart = performance.now();
	}
	return pieces.join("\n");
}

/** Cuts long text at white space; yields an empty piece for each tag. */
function* textPieces(html: string): Generator<string> {
	const tokens = new HtmlTokenizer(html);
	for (let kind = tokens.next(); kind !== "end"; kind = tokens.next()) {
		if (kind !== "text") {
			yield "";
			continue;
		}
		const text = tokens.source;
		for (let at = 0; at < text.length; ) {
			const end = at + PIECE < text.length ? cutBefore(text, at + PIECE, at) : text.length;
			yield text.slice(at, end);
			at = end;
		}
	}
}

function cutBefore(text: string, limit: number, start: number): number {
	const space = text.slice(start, limit).lastIndexOf(" ");
	if (space > 0) return start + space;
	return splitsPair(text, limit) ? limit - 1 : limit;
}
