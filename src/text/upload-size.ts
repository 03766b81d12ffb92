const MIB = 2 ** 20;

/** Maximum size of a session file that is sent to the server, in bytes. */
export const MAX_UPLOAD = 64 * MIB;

/** The error for a larger file. Without `bytes` its size is not known, because the rest was not read. */
export function tooLarge(name: string, bytes?: number): string {
	const most = `${MAX_UPLOAD / MIB} MiB`;
	// Rounded up, so that it is never shown as the limit itself.
	const size = bytes !== undefined && `${(Math.ceil((10 * bytes) / MIB) / 10).toFixed(1)} MiB`;
	const what = size ? `too large: ${size}` : `larger than ${most}`;
	return `${name} is ${what}, but the server accepts at most ${most}`;
}
