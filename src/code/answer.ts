import type { Coverage } from "../codeindex/index.ts";
import type { BlobStore } from "../core/blob-store.ts";
import { bytesOf, clip } from "../text/clip.ts";
import { grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { commandAdvice } from "./advice.ts";
import { fitText, type Outline, wholeText } from "./budget.ts";
import { coverageLine } from "./coverage-text.ts";

/** An answer before it is known how much of it fits. */
export interface Draft {
	/** From what was asked for to the briefest; see {@link fitText}. */
	readonly forms: readonly (() => Outline)[];
	/** Ends the answer: what it covers. */
	readonly lastLine: string;
}

/** How an answer is brought within its budget. */
export interface Delivery {
	/** `kota.maxAnswerBytes` */
	readonly maxBytes: number;
	readonly blobs: Pick<BlobStore, "keep">;
	/** Asks the user, if there is one, whether the model shall get an answer of this size. */
	readonly offerWhole?: (bytes: number) => Promise<boolean>;
}

/** What goes to the model. */
export interface Delivered {
	readonly text: string;
	readonly details: AnswerDetails;
}

/** About an answer: whether all of it was given, and where the whole of it is. */
export type AnswerDetails =
	| { readonly truncated: false; readonly originalBytes: number }
	| {
			readonly truncated: true;
			/** Both absent if the whole answer could not be kept. */
			readonly blobId?: string;
			readonly blobPath?: string;
			readonly originalBytes: number;
			readonly excerptBytes: number;
	  };

/** The most that a user can let through, whatever the answer has. */
export const MOST_BYTES = 50_000;

/**
 * Brings an answer within its budget, everything included. One that does not fit is kept as a blob first; then a
 * briefer form is taken, and of the briefest as much as fits. Only if that is not possible either is a line cut, and
 * never within a character.
 */
export async function deliver(draft: Draft, delivery: Delivery): Promise<Delivered> {
	const [first] = draft.forms;
	const whole = [first ? wholeText(first()) : "", draft.lastLine].join("\n");
	const originalBytes = bytesOf(whole);
	if (originalBytes <= delivery.maxBytes) {
		return { text: whole, details: { truncated: false, originalBytes } };
	}
	const kept = await delivery.blobs.keep(whole);
	const wanted = await delivery.offerWhole?.(Math.min(originalBytes, MOST_BYTES));
	const maxBytes = wanted ? MOST_BYTES : delivery.maxBytes;
	if (originalBytes <= maxBytes) {
		return { text: whole, details: { truncated: false, originalBytes } };
	}
	const tail = [
		pointer(kept, originalBytes, maxBytes),
		clip(draft.lastLine, Math.floor(maxBytes / 4)),
	].join("\n");
	const { text } = fitText(draft.forms, maxBytes - bytesOf(tail) - 1);
	const answer = `${text}\n${tail}`;
	return {
		text: answer,
		details: {
			truncated: true,
			...(kept.kind === "kept" && { blobId: kept.blob.id, blobPath: kept.blob.path }),
			originalBytes,
			excerptBytes: bytesOf(answer),
		},
	};
}

/** All of an answer in the form that was asked for, for a person at the command line. */
export function wholeAnswer(
	[first]: Draft["forms"],
	{ coverage }: { readonly coverage: Coverage },
	nowMs = Date.now(),
): string {
	return [first ? wholeText(first()) : "", coverageLine(coverage, nowMs, commandAdvice)].join("\n");
}

type Kept = Awaited<ReturnType<BlobStore["keep"]>>;

/** Where the rest is. Paths that would eat up a small budget are left to the details. */
function pointer(kept: Kept, originalBytes: number, maxBytes: number): string {
	const shortened = `shortened from ${grouped(originalBytes)} bytes`;
	const most = maxBytes / 2;
	if (kept.kind === "not-kept") {
		const line = `[${shortened}; the whole answer is not kept (${oneLine(kept.why)}): ask for less at a time]`;
		return bytesOf(line) <= most
			? line
			: `[${shortened}; the whole answer is not kept: ask for less]`;
	}
	const line = `[${shortened}; ask for less, or read parts of the whole answer: ${oneLine(kept.blob.path)}]`;
	return bytesOf(line) <= most ? line : `[${shortened}; whole answer: blob ${kept.blob.id}]`;
}
