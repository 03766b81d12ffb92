import { hash } from "node:crypto";

/** An answer's `data` that was written before: its JSON, and the same as bytes for all who are sent it. */
export class WrittenData {
	readonly json: string;
	#bytes: Uint8Array | undefined;
	#digest: string | undefined;

	constructor(json: string) {
		this.json = json;
	}

	/** In UTF-8. Made when first asked for, then shared: not to be changed. */
	get bytes(): Uint8Array {
		this.#bytes ??= Buffer.from(this.json);
		return this.#bytes;
	}

	/** Of its JSON. Made when first asked for. */
	get digest(): string {
		this.#digest ??= sha256(this.json);
		return this.#digest;
	}
}

export function sha256(text: string): string {
	return hash("sha256", text, "base64");
}
