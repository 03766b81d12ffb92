import { FRAME_START } from "../../src/wire/exchange.ts";

/** Frames of a WebSocket as an exchange has them, in memory of their own. */
export function framesOf(texts: readonly string[]): Uint8Array {
	const parts = texts.flatMap((text) => [FRAME_START, Buffer.from(text)]);
	return new Uint8Array(Buffer.concat(parts));
}
