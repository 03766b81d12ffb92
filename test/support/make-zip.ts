import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
	name: string;
	content: string | Buffer;
	/** The size that the archive claims; default: the real one. */
	claimedSize?: number;
	/** Says that the entry needs a password; its content is not encrypted. */
	isEncrypted?: boolean;
}

/** A valid zip archive with deflated entries, unless it lies on purpose. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
	const files: Buffer[] = [];
	const directory: Buffer[] = [];
	let offset = 0;
	for (const { name, content, claimedSize, isEncrypted } of entries) {
		const bytes = Buffer.from(content as string);
		const packed = deflateRawSync(bytes);
		const label = Buffer.from(name);
		const fields = Buffer.alloc(26);
		fields.writeUInt16LE(20, 0);
		fields.writeUInt16LE(isEncrypted ? 0x801 : 0x800, 2);
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

/** A tar archive of plain files. */
export function makeTar(entries: readonly Pick<ZipEntry, "name" | "content">[]): Buffer {
	const blocks = entries.flatMap(({ name, content }) => {
		const bytes = Buffer.from(content as string);
		const header = Buffer.alloc(512);
		header.write(name, 0, 100);
		header.write(`${bytes.length.toString(8).padStart(11, "0")}\0`, 124);
		header.write("0", 156);
		header.write("ustar", 257);
		return [header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)];
	});
	// Without entries, the mark of the format is missing too.
	const end = Buffer.alloc(1024);
	if (entries.length === 0) end.write("ustar", 257);
	return Buffer.concat([...blocks, end]);
}
