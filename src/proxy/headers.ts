/** Headers of one connection only (RFC 9110, 7.6.1). All others are an open list and pass. */
const HOP_BY_HOP = new Set([
	"connection",
	"keep-alive",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
]);

/** Raw names and values in turn, as Node has them, without those of this connection and `dropped`. */
export function endToEnd(raw: readonly string[], dropped: ReadonlySet<string> = NONE): string[] {
	const named = new Set<string>();
	for (const [name, value] of pairs(raw)) {
		if (name.toLowerCase() !== "connection") continue;
		for (const option of value.split(",")) named.add(option.trim().toLowerCase());
	}
	const kept: string[] = [];
	for (const [name, value] of pairs(raw)) {
		const lower = name.toLowerCase();
		const isHop = HOP_BY_HOP.has(lower) || lower.startsWith("proxy-") || named.has(lower);
		if (!isHop && !dropped.has(lower)) kept.push(name, value);
	}
	return kept;
}

/** For requests: the upstream has its own name, and `Expect` is answered by us. */
export const OF_REQUEST: ReadonlySet<string> = new Set(["host", "expect"]);

/** Broad on purpose: a header too few in an exchange harms no one, a key does. */
const CREDENTIAL =
	/auth|cookie|credential|secret|token|passw|bearer|jwt|(?:^|[-_]|api)key|account-id|^sec-websocket|^host$/;

/** The headers of a request as an exchange shows them: lower case, without credentials. */
export function publicHeaders(raw: readonly string[]): Record<string, string> {
	const shown = new Map<string, string>();
	for (const [name, value] of pairs(endToEnd(raw))) {
		const lower = name.toLowerCase();
		if (CREDENTIAL.test(lower)) continue;
		const before = shown.get(lower);
		shown.set(lower, before === undefined ? value : `${before}, ${value}`);
	}
	return Object.fromEntries(shown);
}

/** The first header of that name, which is in lower case. */
export function headerIn(raw: readonly string[], name: string): string | undefined {
	for (const [each, value] of pairs(raw)) if (each.toLowerCase() === name) return value;
	return undefined;
}

export function* pairs(raw: readonly string[]): Generator<[name: string, value: string]> {
	for (let at = 0; at + 1 < raw.length; at += 2) yield [raw[at] ?? "", raw[at + 1] ?? ""];
}

const NONE: ReadonlySet<string> = new Set();
