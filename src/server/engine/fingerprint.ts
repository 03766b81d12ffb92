import { hash } from "node:crypto";

/**
 * What a command means, apart from its identity: equal for two frames that differ only in `id`, `idempotencyKey`, the
 * order of their keys and the spelling of their numbers and strings. For commands that `parseCommand` took, which bounds
 * how deep they nest. Opaque; the leading number changes when the same command would get another one.
 */
export function fingerprintOf(command: Readonly<Record<string, unknown>>): string {
	const text = canonicalObject(command, true);
	return recent.get(text) ?? computed(text);
}

/** Fingerprints of short commands: a client that asks again and again asks the same. */
const recent = new Map<string, string>();
const MAX_RECENT = 1_000;
const MAX_RECENT_CHARACTERS = 500;

function computed(text: string): string {
	const fingerprint = `1:${hash("sha256", text, "base64")}`;
	if (text.length > MAX_RECENT_CHARACTERS) return fingerprint;
	if (recent.size === MAX_RECENT) recent.clear();
	recent.set(text, fingerprint);
	return fingerprint;
}

/** JSON in the one form of RFC 8785: keys in code-unit order, no spaces. */
function canonical(value: unknown): string {
	if (typeof value === "string") return JSON.stringify(value);
	// JSON has no NaN and no infinity, so what String makes of a number is what JSON would.
	if (typeof value !== "object" || value === null) return String(value);
	return Array.isArray(value) ? `[${value.map(canonical).join(",")}]` : canonicalObject(value);
}

function canonicalObject(value: object, isCommand = false): string {
	let text = "";
	for (const key of Object.keys(value).sort()) {
		if (isCommand && (key === "id" || key === "idempotencyKey")) continue;
		const part = canonical((value as Record<string, unknown>)[key]);
		text += `${text === "" ? "{" : ","}${JSON.stringify(key)}:${part}`;
	}
	return text === "" ? "{}" : `${text}}`;
}
