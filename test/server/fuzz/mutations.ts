import type { Random } from "../../readcache/law/random.ts";

/** Frames of an honest client, to be spoiled. */
const SEEDS: readonly string[] = [
	'{"type":"list_sessions","id":"a"}',
	'{"type":"get_state","id":"b","sessionId":"ghost","ifSessionVersion":3}',
	'{"type":"prompt","sessionId":"ghost","message":"hello","dependsOn":["a","b"]}',
	'{"type":"subscribe","sessionId":"ghost","after":0,"lifecycle":"own"}',
	'{"type":"set_tools","sessionId":"ghost","tools":["read","bash"],"idempotencyKey":"k"}',
	'{"type":"extension_ui_response","sessionId":"g","requestId":"r","response":{"value":"x"}}',
];

/** Pieces that parsers stumble over. */
const THORNS: readonly string[] = [
	"\u0000",
	"\u2028",
	"\ufeff",
	'"',
	"\\",
	"{",
	"}",
	"[",
	",",
	":",
	"null",
	"-",
	"1e999",
	"\\ud800",
	'"__proto__":{"id":"z"},',
	'"constructor":null,',
	'"type":"get_metrics",',
	'"id":{},',
	"é",
	"🙂",
];

/** A frame with a few random faults: bytes changed, cut out, doubled or put in, or nothing but noise. */
export function spoiledFrame(random: Random): Buffer {
	if (random.chance(0.15)) return noise(random, random.below(400));
	let bytes = Buffer.from(random.pick(SEEDS));
	for (let faults = random.between(1, 4); faults > 0; faults--) {
		const at = random.below(bytes.length + 1);
		const to = Math.min(bytes.length, at + random.below(12));
		const put = random.weighted<() => Buffer>([
			[3, () => Buffer.from(random.pick(THORNS))],
			[2, () => noise(random, random.between(1, 6))],
			[2, () => Buffer.alloc(0)],
			[1, () => Buffer.concat([bytes.subarray(at, to), bytes.subarray(at, to)])],
			[1, () => Buffer.from('[{"x":'.repeat(random.below(3_000)))],
			[1, () => Buffer.from("x".repeat(random.below(100_000)))],
		])();
		bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(to)]);
	}
	return bytes;
}

function noise(random: Random, length: number): Buffer {
	return Buffer.from(Array.from({ length }, () => random.below(256)));
}
