import { setImmediate } from "node:timers/promises";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import {
	type RunningJob,
	type WorkerError,
	WorkerSupervisor,
} from "../../core/worker-supervisor.ts";
import { PagingError } from "../errors.ts";
import { decodeEntities } from "./entities.ts";
import type { PageMarkdown } from "./html-to-markdown.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapsed, escaped } from "./inline-text.ts";

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

/** What linear time makes of a page; sent before the answer. */
export interface Draft {
	markdown: string;
	title?: string;
}

/** `too_large`: the draft is the answer, since looking for the main text would not end in time. */
export type ExtractAnswer = PageMarkdown | "too_large";

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

/** For the draft of a page, before its deadline begins: a second or less for 10 MB on a quiet machine. */
const DRAFT_MS = 15_000;

/**
 * The worker first converts a page in linear time and sends that as a draft; then it looks for the main text. A page that
 * takes too long, too much memory or the worker with it is answered with the draft. Without a draft the page is stripped
 * of its tags here, in small slices.
 */
export function createExtractor(options: ExtractorOptions = {}): Extractor {
	const { deadlineMs = 10_000, maxOldGenerationMb = 512, idleMs = 60_000 } = options;
	const closing = new AbortController();
	const entry = workerEntry("./extract-worker", import.meta.url);
	const resourceLimits = { maxOldGenerationSizeMb: maxOldGenerationMb };
	const supervisor = new WorkerSupervisor<ExtractPage, ExtractAnswer, Draft>({
		start: () => thread(entry, { resourceLimits }),
		deadlineMs: DRAFT_MS,
		idleMs,
		endOnFailure: true,
	});

	return {
		async extract(page, signal) {
			const stop = AbortSignal.any(signal ? [signal, closing.signal] : [closing.signal]);
			try {
				return await convert(page, stop);
			} catch (error) {
				if (!stop.aborted) throw error;
				const message = "Reading the page was stopped before its text was found.";
				throw new PagingError("aborted", message, { cause: stop.reason });
			}
		},
		async close() {
			closing.abort(new Error("the extractor was closed"));
			await supervisor.close();
		},
	};

	async function convert(page: ExtractPage, signal: AbortSignal): Promise<Extracted> {
		let draft: Draft | undefined;
		const onNote = (note: Draft, job: RunningJob) => {
			draft = note;
			job.extend(deadlineMs);
		};
		const found = await supervisor.run(page, { signal, onNote }).catch(reasonOf);
		if (typeof found === "object") return { ...found, degraded: false };
		signal.throwIfAborted();
		if (draft) return { ...draft, via: "linear", degraded: true, reason: found };
		const markdown = await strippedText(page.html, signal);
		return { markdown, via: "text", degraded: true, reason: found };
	}
}

function reasonOf({ fault }: WorkerError): NonNullable<Extracted["reason"]> {
	if (fault === "deadline") return fault;
	return fault === "memory" ? "out_of_memory" : "failed";
}

/** How much text is taken at a time, and how many milliseconds before the event loop gets its turn. */
const PIECE = 65_536;
const MS_PER_SLICE = 8;

/**
 * The bare text of a page, tags left out, for when nothing better could be had. Runs on the calling thread, in
 * slices of a few milliseconds; throws the signal's reason once that is aborted.
 */
async function strippedText(html: string, signal?: AbortSignal): Promise<string> {
	const pieces: string[] = [];
	let sliceStart = performance.now();
	for (const piece of textPieces(html)) {
		const text = escaped(collapsed(decodeEntities(piece)).trim());
		if (text !== "") pieces.push(text);
		if (performance.now() - sliceStart < MS_PER_SLICE) continue;
		await setImmediate();
		signal?.throwIfAborted();
		sliceStart = performance.now();
	}
	return pieces.join("\n");
}

/** The text between tags, cut at white space where it is long; an empty piece for each tag. */
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
	const isLowSurrogate = (text.charCodeAt(limit) & 0xfc00) === 0xdc00;
	return isLowSurrogate ? limit - 1 : limit;
}
