import { setImmediate } from "node:timers/promises";
import { workerEntry } from "../../core/worker-entry.ts";
import { thread } from "../../core/worker-port.ts";
import { type WorkerError, WorkerSupervisor } from "../../core/worker-supervisor.ts";
import { splitsPair } from "../chunk.ts";
import type { DocumentJob, DocumentText } from "../documents/convert.ts";
import { PagingError, truncate } from "../errors.ts";
import { decodeInSlices } from "../fetch/content.ts";
import { decodeEntities } from "./entities.ts";
import type { PageMarkdown } from "./html-to-markdown.ts";
import { HtmlTokenizer } from "./html-tokenizer.ts";
import { collapse, escapeTags } from "./inline-text.ts";

export interface ExtractPage {
	/** Bytes are decoded in the worker: the main thread would spend longer on the string than on the rest. */
	readonly html: string | EncodedPage;
	/** The address after redirects. */
	readonly baseUrl: string;
	/** Convert the whole page, not only its main text. */
	readonly everything?: boolean | undefined;
}

interface EncodedPage {
	readonly bytes: Buffer;
	readonly contentType: string | undefined;
}

interface Extracted extends PageMarkdown {
	/** True if the conversion failed, so the text is the page without its tags. */
	readonly degraded: boolean;
	readonly reason?: "deadline" | "out_of_memory" | "failed";
}

export interface ExtractorOptions {
	/** Time limit for one page. Default: 10 s. */
	readonly deadlineMs?: number;
	/** Maximum old generation of the worker's heap, in MiB. Default: 512. */
	readonly maxOldGenerationMb?: number;
	/** Idle workers end after this time. Default: 60 s. */
	readonly idleMs?: number;
}

/** Converts pages in a worker. If the worker fails, tags are stripped in this thread, in slices. */
export class Extractor {
	readonly #closing = new AbortController();
	readonly #supervisor: WorkerSupervisor<ExtractPage | DocumentJob, PageMarkdown | DocumentText>;

	constructor(options: ExtractorOptions = {}) {
		const { deadlineMs = 10_000, maxOldGenerationMb = 512, idleMs = 60_000 } = options;
		const entry = workerEntry("./extract-worker", import.meta.url);
		this.#supervisor = new WorkerSupervisor({
			start: () =>
				thread(entry, { resourceLimits: { maxOldGenerationSizeMb: maxOldGenerationMb } }),
			deadlineMs,
			idleMs,
			endOnFailure: true,
		});
	}

	/** Rejects with the `PagingError` code `bad_document` if the document cannot be read, and on abort. */
	async document(job: DocumentJob, name: string, signal?: AbortSignal): Promise<PageMarkdown> {
		return this.#stoppable(signal, async (stop) => {
			try {
				return await this.#supervisor.run(job, { signal: stop });
			} catch (error) {
				stop.throwIfAborted();
				const { fault, message } = error as WorkerError;
				const why = FAULTS[fault] ?? message;
				throw new PagingError("bad_document", `cannot read ${name}: ${truncate(why)}`, {
					cause: error,
				});
			}
		});
	}

	/** Always returns a text. Rejects only on abort or close, with the `PagingError` code `aborted`. */
	async extract(page: ExtractPage, signal?: AbortSignal): Promise<Extracted> {
		return this.#stoppable(signal, (stop) => this.#convert(page, stop));
	}

	async #stoppable<T>(
		signal: AbortSignal | undefined,
		work: (stop: AbortSignal) => Promise<T>,
	): Promise<T> {
		const closing = this.#closing.signal;
		const stop = AbortSignal.any(signal ? [signal, closing] : [closing]);
		try {
			return await work(stop);
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
		const found = await this.#supervisor.run(page, { signal }).catch(reasonOf);
		if (typeof found === "object") return { ...(found as PageMarkdown), degraded: false };
		signal.throwIfAborted();
		const markdown = await stripTags(await textOf(page), signal);
		return { markdown, degraded: true, reason: found };
	}
}

async function textOf({ html }: ExtractPage): Promise<string> {
	if (typeof html === "string") return html;
	return decodeInSlices(html.bytes, { contentType: html.contentType, isHtml: true });
}

const FAULTS: Partial<Record<WorkerError["fault"], string>> = {
	deadline: "it took too long",
	memory: "it needs too much memory",
};

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
