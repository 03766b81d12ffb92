import { createHash } from "node:crypto";
import { isRecord } from "../core/property.ts";

/** Makes the hash by which Claude Code names a message that it sent, while its parts arrive. */
export class MessageHash {
	readonly #hashing = createHash("sha256").update('{"content":[');
	#isEmpty = true;

	/** Throws a RangeError if a part is nested too deeply. */
	add(parts: readonly unknown[]): this {
		for (const part of parts) {
			this.#hashing.update(`${this.#isEmpty ? "" : ","}${sortedJson(part)}`);
			this.#isEmpty = false;
		}
		return this;
	}

	/** The hash of the message with these parts: of its JSON with sorted keys, without cache markers. */
	of(role: string): string {
		return this.#hashing
			.copy()
			.update(`],"role":${JSON.stringify(role)}}`)
			.digest("hex");
	}
}

function sortedJson(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
	if (!isRecord(value)) return JSON.stringify(value);
	const keys = Object.keys(value).filter((key) => key !== "cache_control");
	const fields = keys.sort().map((key) => `${JSON.stringify(key)}:${sortedJson(value[key])}`);
	return `{${fields.join(",")}}`;
}
