import { isUtf8 } from "node:buffer";
import { type Entry, fromBufferPromise, getFileNameLowLevel, type ZipFile } from "yauzl";
import { decodeText } from "../fetch/content.ts";

/** Limits of one archive. Sizes are counted while unpacking, whatever the archive claims. */
const MAX_ENTRIES = 20_000;
const MAX_UNPACKED = 100_000_000;
/** Deflate packs 1,000 to 1 at best; documents stay far below. Small entries may be anything. */
const MAX_RATIO = 200;
const FREE_BYTES = 1_000_000;

export class BadArchive extends Error {}

/** An archive in memory. Entries are unpacked when asked for. */
export class ZipArchive {
	readonly entries: ReadonlyMap<string, Entry>;
	readonly #file: ZipFile;
	#unpacked = 0;

	private constructor(file: ZipFile, entries: ReadonlyMap<string, Entry>) {
		this.#file = file;
		this.entries = entries;
	}

	static async open(bytes: Uint8Array): Promise<ZipArchive> {
		const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		const entries = new Map<string, Entry>();
		try {
			// Names are not checked, since nothing is written: a name such as ../../x is listed as it is.
			const checks = { validateEntrySizes: true, decodeStrings: false };
			const file = await fromBufferPromise(buffer, { lazyEntries: true, ...checks });
			if (file.entryCount > MAX_ENTRIES)
				throw new BadArchive(`it has ${file.entryCount} entries; ${MAX_ENTRIES} are read`);
			for await (const entry of file.eachEntry()) entries.set(nameOf(entry), entry);
			return new ZipArchive(file, entries);
		} catch (error) {
			if (error instanceof BadArchive) throw error;
			throw new BadArchive(error instanceof Error ? error.message : String(error), {
				cause: error,
			});
		}
	}

	has(name: string): boolean {
		return this.entries.has(name);
	}

	/** Returns the entry as text: by its mark, as its XML declares, or in UTF-8. An empty string if it is missing. */
	async text(name: string): Promise<string> {
		const bytes = await this.bytes(name);
		const declared = /^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)/.exec(
			bytes.toString("latin1", 0, 200),
		)?.[1];
		// Some programs declare another charset than they write.
		const isPlain = declared === undefined || isUtf8(bytes);
		return decodeText(bytes, {
			isHtml: false,
			contentType: `text/xml; charset=${isPlain ? "utf-8" : declared}`,
		}).text;
	}

	async bytes(name: string): Promise<Buffer> {
		const entry = this.entries.get(name);
		if (!entry) return Buffer.alloc(0);
		if (entry.isEncrypted()) throw new BadArchive(`${name} is encrypted`);
		const limit = Math.min(
			MAX_UNPACKED - this.#unpacked,
			Math.max(FREE_BYTES, entry.compressedSize * MAX_RATIO),
		);
		const parts: Buffer[] = [];
		let size = 0;
		try {
			const stream = await this.#file.openReadStreamPromise(entry);
			for await (const part of stream as AsyncIterable<Buffer>) {
				size += part.length;
				if (size > limit) {
					stream.destroy();
					throw new BadArchive(`${name} unpacks to more than ${limit} bytes`);
				}
				parts.push(part);
			}
		} catch (error) {
			if (error instanceof BadArchive) throw error;
			throw new BadArchive(`${name}: ${error instanceof Error ? error.message : String(error)}`, {
				cause: error,
			});
		}
		this.#unpacked += size;
		return Buffer.concat(parts);
	}
}

function nameOf(entry: Entry): string {
	const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
	return getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false);
}
