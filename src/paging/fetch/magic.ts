/** Whether the bytes begin like an archive: a zip, which office documents and books are too, gzip, or a tar. */
export function isArchive(bytes: Uint8Array): boolean {
	return isZip(bytes) || isGzip(bytes) || isTar(bytes);
}

/** The mark of a tar is behind the name of its first entry. */
export const isTar = (bytes: Uint8Array) => USTAR.every((code, i) => bytes[257 + i] === code);
const USTAR = [...Buffer.from("ustar")];

const isZip = (bytes: Uint8Array) =>
	bytes[0] === 0x50 &&
	bytes[1] === 0x4b &&
	(bytes[2] === 3 || bytes[2] === 5) &&
	(bytes[3] === 4 || bytes[3] === 6);
export const isGzip = (bytes: Uint8Array) =>
	bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === 8;

/** Whether the bytes begin like a compound file: Office documents before 2007, and newer ones with a password. */
export const isCompoundFile = (bytes: Uint8Array) =>
	[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1].every((byte, i) => bytes[i] === byte);
