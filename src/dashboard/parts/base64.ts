/** So many letters are read at a time; a multiple of four, which is where base64 can be cut. */
const SLICE = 1 << 19;

/**
 * The bytes of a text in base64. Undefined when it is none. Reading goes on in slices with a pause between them, so that
 * megabytes do not stop the page.
 */
export async function bytesOf(
	base64: string,
	pause: () => Promise<void>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
	const bytes = new Uint8Array(byteCount(base64));
	let at = 0;
	for (let from = 0; from < base64.length; from += SLICE) {
		if (from > 0) await pause();
		const slice = decoded(base64.slice(from, from + SLICE));
		// Only the last slice may end early.
		if (slice === undefined || at + slice.length > bytes.length) return undefined;
		for (let index = 0; index < slice.length; index++) bytes[at++] = slice.charCodeAt(index);
	}
	return at === bytes.length ? bytes : undefined;
}

/** The first bytes of a text in base64, at most those of `letters` letters. Undefined when it is none. */
export function firstBytes(base64: string, letters: number): Uint8Array | undefined {
	const head = decoded(base64.slice(0, letters - (letters % 4)));
	return head === undefined ? undefined : Uint8Array.from(head, (letter) => letter.charCodeAt(0));
}

/** How many bytes a text in base64 stands for. */
export function byteCount(base64: string): number {
	const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
	return Math.floor(((base64.length - padding) * 3) / 4);
}

function decoded(base64: string): string | undefined {
	try {
		return atob(base64);
	} catch {
		return undefined;
	}
}
