import { deflateRawSync, inflateRawSync } from "node:zlib";
import { MalformedBytes } from "./bytes.ts";

/**
 * Makes bytes that are mostly text smaller: signatures and comments are the largest part of an index. It takes some
 * 20 µs to undo, so it is for what is not looked at in thousands of files at once.
 */
export function squeeze(bytes: Uint8Array): Uint8Array {
	if (bytes.length < WORTHWHILE) return bytes;
	return deflateRawSync(bytes, { dictionary: DICTIONARY, windowBits, level: 3, memLevel: 6 });
}

/** Undoes {@link squeeze}; `length` is that of the bytes before. */
export function unsqueeze(bytes: Uint8Array, length: number): Uint8Array {
	if (length < WORTHWHILE) return bytes;
	try {
		return inflateRawSync(bytes, { dictionary: DICTIONARY, windowBits, maxOutputLength: length });
	} catch (error) {
		throw new MalformedBytes((error as Error).message);
	}
}

const WORTHWHILE = 64;
/** Little memory to set up: most bytes are few. */
const windowBits = 13;

/** What signatures are made of, the most frequent last. Part of the format: to change it is a new schema. */
const DICTIONARY = Buffer.from(
	"extends Omit<Pick<Record<string, unknown>ReadonlyMap<ReadonlySet<Partial<Uint8Array " +
		"abstract protected private override declare enum namespace get set constructor( " +
		"Whether a file is set. The value of the number of the default is the same as if this returns undefined " +
		"import type implements Iterable<AsyncIterable<IterableIterator<Generator<Error unknown): void " +
		"options?: boolean = false, = true, = {}): Promise<void> => Promise<string>(callback: (error " +
		"export default export const export class export interface export type export async function export function " +
		"readonly name: string; readonly path: string; static async (options: string | undefined | null " +
		"(value: number): boolean, (key: string): string[], number, string, ",
);
