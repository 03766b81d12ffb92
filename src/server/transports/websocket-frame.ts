import type { Message } from "../engine/message.ts";
import type { Encoded } from "./outbox-queue.ts";

/** FIN and the opcode of text. */
const WHOLE_TEXT = 0x81;

/**
 * A message as one unmasked WebSocket text frame (RFC 6455 §5.2), made once and kept with the message for the other
 * clients. `ws` would make it again for each of them.
 */
export function textFrame(message: Message): Encoded {
	const { shared } = message;
	if (shared !== undefined) {
		const { bytes } = shared.written;
		return [frame(shared.head, bytes.length + END.length), bytes, END];
	}
	message.framed ??= frame(message.json());
	return message.framed;
}

const END = Buffer.from("}");

/** A frame up to the end of `text`; so many bytes `follow` it. */
function frame(text: string, follow = 0): Uint8Array {
	const own = Buffer.byteLength(text);
	const length = own + follow;
	const header = length < 126 ? 2 : length < 65_536 ? 4 : 10;
	const bytes = Buffer.allocUnsafe(header + own);
	bytes[0] = WHOLE_TEXT;
	if (header === 2) {
		bytes[1] = length;
	} else if (header === 4) {
		bytes[1] = 126;
		bytes.writeUInt16BE(length, 2);
	} else {
		bytes[1] = 127;
		bytes.writeBigUInt64BE(BigInt(length), 2);
	}
	// A text of as many bytes as characters has only ASCII, which is copied faster than converted.
	bytes.write(text, header, length === text.length ? "latin1" : "utf8");
	return bytes;
}
