import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
	name: string;
	content: string | Buffer;
	/** The size that the archive claims; default: the real one. */
	claimedSize?: number;
}

/** A valid zip archive with deflated entries, unless it lies on purpose. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
	const files: Buffer[] = [];
	const directory: Buffer[] = [];
	let offset = 0;
	for (const { name, content, claimedSize } of entries) {
		const bytes = Buffer.from(content as string);
		const packed = deflateRawSync(bytes);
		const label = Buffer.from(name);
		const fields = Buffer.alloc(26);
		fields.writeUInt16LE(20, 0);
		fields.writeUInt16LE(0x800, 2);
		fields.writeUInt16LE(8, 4);
		fields.writeUInt32LE(crc32(bytes), 10);
		fields.writeUInt32LE(packed.length, 14);
		fields.writeUInt32LE(claimedSize ?? bytes.length, 18);
		fields.writeUInt16LE(label.length, 22);
		const local = Buffer.concat([Buffer.from("PK\x03\x04"), fields, label, packed]);
		const tail = Buffer.alloc(14);
		tail.writeUInt32LE(offset, 10);
		directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), fields, tail, label]));
		files.push(local);
		offset += local.length;
	}
	const list = Buffer.concat(directory);
	const end = Buffer.alloc(18);
	end.writeUInt16LE(entries.length, 4);
	end.writeUInt16LE(entries.length, 6);
	end.writeUInt32LE(list.length, 8);
	end.writeUInt32LE(offset, 12);
	return Buffer.concat([...files, list, Buffer.from("PK\x05\x06"), end]);
}
