import type { IncomingMessage, ServerResponse } from "node:http";

/** Takes the body of a request and returns JSON. */
export type OwnAnswer = (body: Buffer) => Promise<string>;

const MAX_BYTES = 64 * 1024 * 1024;

/** Answers `{}` in doubt, which agents take as no opinion. Never rejects. */
export async function answerOwn(
	request: IncomingMessage,
	response: ServerResponse,
	answer: OwnAnswer,
): Promise<void> {
	// An abort of the client ends the body early.
	request.on("error", () => undefined);
	response.on("error", () => undefined);
	const body = await bodyOf(request);
	const text = body ? await answer(body).catch(() => "{}") : "{}";
	if (response.destroyed) return;
	response.writeHead(200, { "content-type": "application/json" }).end(text);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
	const parts: Buffer[] = [];
	let length = 0;
	try {
		for await (const part of request) {
			parts.push(part);
			length += part.length;
			if (length > MAX_BYTES) return undefined;
		}
		return Buffer.concat(parts);
	} catch {
		return undefined;
	}
}
