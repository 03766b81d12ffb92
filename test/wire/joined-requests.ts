import {
	AnswerReader,
	type Format,
	formatOf,
	type Piece,
	ResponseThreads,
	readRequest,
	type WireRequest,
} from "../../src/wire/index.ts";

/** A request as it was observed; `frames` are those of its answer over a WebSocket. */
export interface Observed {
	readonly path: string;
	readonly body: Buffer;
	readonly frames?: readonly string[];
}

/** The requests as the provider sees them: frames of a WebSocket continue what the server stores. */
export function joinedRequests(observed: readonly Observed[]): WireRequest[] {
	const threads = new ResponseThreads();
	return observed.map(({ path: url, body, frames }) => {
		const path = url.replace(/\?.*/, "");
		const format = formatOf(path) as Format;
		const request = threads.join(readRequest(format, body, path) as WireRequest);
		if (!request) throw new Error(`a request to ${path} continues a response that is not there`);
		const reader = new AnswerReader(format, undefined);
		for (const frame of frames ?? []) reader.addData(frame);
		if (frames) threads.add(request, reader.end(true));
		return request;
	});
}

/** The first piece of `before` that `now` does not have in its place. */
export function firstChange(before: WireRequest, now: WireRequest): Piece | undefined {
	return before.pieces.find(({ hash }, at) => hash !== now.pieces[at]?.hash);
}
