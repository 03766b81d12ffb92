/** Puts the lines of a byte stream together, however the stream is cut, and holds at most `maxBytes` of one. */
export interface LineSplitter {
	write(chunk: Buffer): void;
}

export interface LineSplitterOptions {
	readonly maxBytes: number;
	onLine(line: string): void;
	/** A line is longer than `maxBytes`. Called once; everything after it is dropped. */
	onTooLong(): void;
}

/** Each byte is looked at once, also in lines of many megabytes that come in small pieces. */
export function createLineSplitter({
	maxBytes,
	onLine,
	onTooLong,
}: LineSplitterOptions): LineSplitter {
	let parts: Buffer[] = [];
	let bytes = 0;
	let tooLong = false;

	return {
		write(chunk) {
			let from = 0;
			while (!tooLong) {
				const end = chunk.indexOf(NEWLINE, from);
				take(chunk.subarray(from, end < 0 ? chunk.length : end));
				if (end < 0 || tooLong) return;
				finish();
				from = end + 1;
			}
		},
	};

	function take(part: Buffer): void {
		bytes += part.length;
		if (bytes > maxBytes) {
			tooLong = true;
			parts = [];
			onTooLong();
		} else if (part.length > 0) parts.push(part);
	}

	function finish(): void {
		const line = Buffer.concat(parts).toString("utf8");
		parts = [];
		bytes = 0;
		onLine(line);
	}
}

const NEWLINE = 0x0a;
