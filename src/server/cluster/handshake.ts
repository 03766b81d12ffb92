import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Servers with another version refuse each other's links. */
export const LINK_VERSION = 1;

/** What a dialing server sends as headers of its request. */
interface Hello {
	readonly version: number;
	/** The dialing server's id. */
	readonly from: string;
	/** The id of the server that it wants to reach. */
	readonly to: string;
	readonly nonce: string;
	readonly proof: string;
}

const HEADERS = {
	version: "x-strata-link",
	from: "x-strata-from",
	to: "x-strata-to",
	nonce: "x-strata-nonce",
	proof: "x-strata-proof",
} as const;

function newNonce(): string {
	return randomBytes(16).toString("base64url");
}

/** Proves that the dialing server has the secret, before anything is read from it. */
export function createHello(secret: string, from: string, to: string): Hello {
	const nonce = newNonce();
	return {
		version: LINK_VERSION,
		from,
		to,
		nonce,
		proof: proofOf(secret, "hello", from, to, nonce, ""),
	};
}

export function helloHeaders(hello: Hello): Record<string, string> {
	return Object.fromEntries(
		Object.entries(HEADERS).map(([field, header]) => [header, String(hello[field as keyof Hello])]),
	);
}

type ReadHello =
	| { readonly ok: true; readonly hello: Hello }
	| {
			readonly ok: false;
			readonly status: "401 Unauthorized" | "409 Conflict";
			readonly why: string;
	  };

/** Whether to let the sender in. Reasons contain no part of the secret. */
export function readHello(
	headers: Readonly<Record<string, string | string[] | undefined>>,
	secret: string,
	self: string,
): ReadHello {
	const field = (name: keyof typeof HEADERS) => String(headers[HEADERS[name]] ?? "");
	const [from, to, nonce, proof] = [field("from"), field("to"), field("nonce"), field("proof")];
	const version = Number(field("version"));
	if (!isSame(proof, proofOf(secret, "hello", from, to, nonce, ""))) {
		return { ok: false, status: "401 Unauthorized", why: "the cluster secret is missing or wrong" };
	}
	if (version !== LINK_VERSION) {
		const why = `this server speaks version ${LINK_VERSION} of the link protocol, the other one ${version}; update the older one`;
		return { ok: false, status: "409 Conflict", why };
	}
	if (to !== self) {
		return { ok: false, status: "409 Conflict", why: "this address belongs to another server now" };
	}
	return { ok: true, hello: { version, from, to, nonce, proof } };
}

/** Sent by the accepting server. Its nonce makes a recorded hello useless. */
export interface Challenge {
	readonly nonce: string;
	readonly proof: string;
}

export function createChallenge(secret: string, { from, to, nonce }: Hello): Challenge {
	const own = newNonce();
	return { nonce: own, proof: proofOf(secret, "accept", from, to, nonce, own) };
}

/** The third message of the handshake, by the dialing server, or `undefined` if the other side does not have the secret. */
export function answerChallenge(
	secret: string,
	{ from, to, nonce }: Hello,
	challenge: Challenge,
): string | undefined {
	const expected = proofOf(secret, "accept", from, to, nonce, challenge.nonce);
	if (!isSame(challenge.proof, expected)) return undefined;
	return proofOf(secret, "dial", from, to, nonce, challenge.nonce);
}

export function isAnswered(
	secret: string,
	{ from, to, nonce }: Hello,
	challenge: Challenge,
	answer: string,
): boolean {
	return isSame(answer, proofOf(secret, "dial", from, to, nonce, challenge.nonce));
}

function proofOf(secret: string, ...parts: readonly string[]): string {
	return createHmac("sha256", secret).update(JSON.stringify(parts)).digest("base64url");
}

function isSame(given: string, expected: string): boolean {
	const [a, b] = [Buffer.from(given), Buffer.from(expected)];
	return a.length === b.length && timingSafeEqual(a, b);
}
