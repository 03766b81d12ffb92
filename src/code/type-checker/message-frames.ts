/** Maximum size of one message of a language server. */
const MAX_MESSAGE_BYTES = 20 * 1024 * 1024;
const MAX_HEADER_BYTES = 4096;
const HEADER_END = "\r\n\r\n";

/** A message of the Language Server Protocol: its length in a header, then JSON. */
export function frame(message: object): string {
	const text = JSON.stringify({ jsonrpc: "2.0", ...message });
	return `Content-Length: ${Buffer.byteLength(text)}${HEADER_END}${text}`;
}

/** Splits a stream into messages. Throws if it is not a stream of such messages, or a message is too large. */
export function frameReader(onMessage: (message: unknown) => void): (chunk: Buffer) => void {
	let parts: Buffer[] = [];
	let bytes = 0;
	/** Bytes up to the end of the header or message. Joining the parts earlier would take quadratic time. */
	let needed = 1;
	return (chunk) => {
		parts.push(chunk);
		bytes += chunk.length;
		while (bytes >= needed) {
			const all = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
			const head = all.indexOf(HEADER_END);
			if (head < 0) {
				if (bytes > MAX_HEADER_BYTES) throw new Error("it sent no header of a message");
				parts = [all];
				needed = bytes + 1;
				return;
			}
			const [, digits] =
				/^content-length: *(\d{1,10}) *$/im.exec(all.toString("latin1", 0, head)) ?? [];
			if (digits === undefined) throw new Error("it sent a message without a length");
			const start = head + HEADER_END.length;
			const end = start + Number(digits);
			if (end - start > MAX_MESSAGE_BYTES) {
				throw new Error(`it sent a message of more than ${MAX_MESSAGE_BYTES} bytes`);
			}
			if (bytes < end) {
				parts = [all];
				needed = end;
				return;
			}
			parts = [all.subarray(end)];
			bytes -= end;
			needed = 1;
			onMessage(JSON.parse(all.toString("utf8", start, end)));
		}
	};
}
