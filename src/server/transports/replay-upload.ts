import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { MAX_UPLOAD, tooLarge } from "../../text/upload-size.ts";
import { type Call, CommandError } from "../engine/call.ts";
import { asCommandError } from "../safe-text.ts";

/** Replays a session file that a client sends. */
export type ReplayUpload = (
	body: Readable,
	caller: Pick<Call, "principal" | "signal">,
) => Promise<unknown>;

interface UploadOptions {
	readonly principal: string;
	readonly replays: { readonly ofUpload: ReplayUpload };
	/** The time for sending, waiting and replaying together. */
	readonly maxMs: number;
}

/**
 * Answers `POST /replay`, whose body is a session file. The answer is JSON with the fields of a response of
 * the protocol: `success` and `data`, or `error` and `code`. Closing the connection aborts the replay.
 */
export async function answerUpload(
	request: IncomingMessage,
	response: ServerResponse,
	options: UploadOptions,
): Promise<{ status: number; text: string }> {
	try {
		return { status: 200, text: JSON.stringify({ success: true, data: await replayed() }) };
	} catch (error) {
		const { code, message } = asCommandError(error);
		return {
			status: STATUS.get(code) ?? 422,
			text: JSON.stringify({ success: false, error: message, code }),
		};
	} finally {
		// A client reads the answer after it has sent everything.
		request.resume();
	}

	async function replayed(): Promise<unknown> {
		const bytes = Number(request.headers["content-length"]);
		if (bytes > MAX_UPLOAD) throw new CommandError("too_large", tooLarge("content", bytes));
		const gone = new AbortController();
		const onClose = () => gone.abort();
		response.once("close", onClose);
		const deadline = AbortSignal.timeout(options.maxMs);
		const signal = AbortSignal.any([gone.signal, deadline]);
		try {
			return await options.replays.ofUpload(request, { principal: options.principal, signal });
		} catch (error) {
			if (!deadline.aborted) throw error;
			const seconds = Math.round(options.maxMs / 1000);
			throw new CommandError("timeout", `the replay took longer than ${seconds} s`);
		} finally {
			response.off("close", onClose);
		}
	}
}

const STATUS: ReadonlyMap<string, number> = new Map([
	["too_large", 413],
	["busy", 503],
	["timeout", 504],
]);
