import { hash } from "node:crypto";

/** Nesting beyond this is refused: no command of the protocol comes near it, and recursion stays shallow. */
export const MAX_DEPTH = 64;

/**
 * What a command means, apart from its identity: equal for two frames that differ only in `id`, `idempotencyKey`, the
 * order of their keys and the spelling of their numbers and strings. `undefined` for a command nested deeper than
 * {@link MAX_DEPTH}. Opaque; the leading number changes whenever the same command would get another one.
 */
export function fingerprintOf(command: Readonly<Record<string, unknown>>): string | undefined {
	const text = canonical(command, 0);
	return text === undefined ? undefined : `1:${hash("sha256", text, "base64")}`;
}

/** JSON in the one form of RFC 8785: keys in code-unit order, no spaces. */
function canonical(value: unknown, depth: number): string | undefined {
	if (typeof value === "string") return JSON.stringify(value);
	// JSON has no NaN and no infinity, so what String makes of a number is what JSON would.
	if (typeof value !== "object" || value === null) return String(value);
	if (depth === MAX_DEPTH) return undefined;
	return Array.isArray(value) ? canonicalArray(value, depth) : canonicalObject(value, depth);
}

function canonicalArray(values: readonly unknown[], depth: number): string | undefined {
	let text = "";
	for (const value of values) {
		const part = canonical(value, depth + 1);
		if (part === undefined) return undefined;
		text += text === "" ? part : `,${part}`;
	}
	return `[${text}]`;
}

function canonicalObject(value: object, depth: number): string | undefined {
	let text = "";
	for (const key of Object.keys(value).sort()) {
		if (depth === 0 && (key === "id" || key === "idempotencyKey")) continue;
		const part = canonical((value as Record<string, unknown>)[key], depth + 1);
		if (part === undefined) return undefined;
		text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${part}`;
	}
	return `{${text}}`;
}
