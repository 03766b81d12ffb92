import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate for `localhost` that signs itself, and its key, in PEM: generated each time, so that none is stored. */
export function selfSigned(): { cert: string; key: string } {
	const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
	const name = sequence(set(sequence(oid("550403"), utf8("localhost"))));
	const algorithm = sequence(oid("2a8648ce3d040302")); // ECDSA with SHA-256
	const always = sequence(time("200101000000Z"), time("491231235959Z"));
	const facts = sequence(
		der(0xa0, der(0x02, Buffer.from([2]))), // version 3
		der(0x02, Buffer.from([1])),
		algorithm,
		name,
		always,
		name,
		publicKey.export({ type: "spki", format: "der" }),
	);
	const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", facts, privateKey)]));
	const certificate = sequence(facts, algorithm, signature).toString("base64");
	const lines = certificate.match(/.{1,64}/g) ?? [];
	return {
		cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
		key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
	};
}

/** One value in DER: its tag, its length, its bytes. */
function der(tag: number, bytes: Buffer): Buffer {
	const { length } = bytes;
	const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
	return Buffer.concat([Buffer.from(head), bytes]);
}

function sequence(...parts: Buffer[]): Buffer {
	return der(0x30, Buffer.concat(parts));
}

function set(...parts: Buffer[]): Buffer {
	return der(0x31, Buffer.concat(parts));
}

function oid(hex: string): Buffer {
	return der(0x06, Buffer.from(hex, "hex"));
}

function utf8(text: string): Buffer {
	return der(0x0c, Buffer.from(text));
}

function time(text: string): Buffer {
	return der(0x17, Buffer.from(text));
}
