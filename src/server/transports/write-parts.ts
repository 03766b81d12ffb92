import type { Writable } from "node:stream";

/** Up to here copying the parts together costs less than handing them over one by one. */
const COPY_BYTES = 128 * 1024;

/** Writes several parts as one. `done` is called when the system has taken all of them; not at all when it never does. */
export function writeParts(stream: Writable, parts: Uint8Array[], done: () => void): void {
	const finished = (error?: Error | null) => {
		if (!error) done();
	};
	const [only] = parts;
	if (only && parts.length === 1) {
		stream.write(only, finished);
		return;
	}
	const bytes = parts.reduce((sum, part) => sum + part.length, 0);
	if (bytes <= COPY_BYTES) {
		stream.write(Buffer.concat(parts, bytes), finished);
		return;
	}
	stream.cork();
	for (const part of parts.slice(0, -1)) stream.write(part);
	stream.write(parts.at(-1), finished);
	stream.uncork();
}
