/**
 * Reads to the end, since a writer may fail if its pipe is closed early. Returns `undefined` if there are
 * more than `maxBytes`, of which no more are kept in memory.
 */
export async function readUpTo(
	chunks: AsyncIterable<Buffer>,
	maxBytes: number,
): Promise<Buffer | undefined> {
	const kept: Buffer[] = [];
	let bytes = 0;
	for await (const chunk of chunks) {
		bytes += chunk.length;
		if (bytes <= maxBytes) kept.push(chunk);
		else kept.length = 0;
	}
	return bytes <= maxBytes ? Buffer.concat(kept) : undefined;
}
