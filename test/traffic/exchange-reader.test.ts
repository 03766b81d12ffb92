import { describe, expect, test } from "vitest";
import { ExchangeReader } from "../../src/traffic/exchange-reader.ts";
import type { Exchange } from "../../src/wire/exchange.ts";
import { fc, runs } from "../support/property.ts";
import { samples } from "../wire/samples.ts";

const bytes = (text: string) => new Uint8Array(Buffer.from(text));

function exchange(path: string, changes: Partial<Exchange>): Exchange {
	return {
		...{ startedMs: 1, endedMs: 2, upstream: "x", method: "POST", path, status: 200 },
		...{ requestHeaders: {}, answerType: "text/event-stream", end: "complete" },
		...changes,
	};
}

/** The value with one of its parts replaced by another value. */
function withPart(value: unknown, way: readonly number[], part: unknown): unknown {
	const [first, ...rest] = way;
	if (first === undefined || typeof value !== "object" || value === null) return part;
	const keys = Object.keys(value);
	const key = keys[first % Math.max(1, keys.length)];
	if (key === undefined) return part;
	const old = (value as Record<string, unknown>)[key];
	if (Array.isArray(value)) return value.with(Number(key), withPart(old, rest, part));
	return { ...value, [key]: withPart(old, rest, part) };
}

const WAY = fc.array(fc.nat(30), { maxLength: 6 });

describe.each(samples.map((sample) => [sample.format, sample] as const))(
	"reading the format %s",
	(_, { path, body, events, document }) => {
		const good = { answerBody: bytes(events.join("")) };

		test("never throws, whatever stands where in a request or an answer", () => {
			fc.assert(
				fc.property(WAY, fc.jsonValue(), fc.boolean(), (way, part, isRequest) => {
					const request = isRequest ? withPart(body(2), way, part) : body(2);
					const answer = isRequest ? document : withPart(document, way, part);
					const reading = new ExchangeReader().read(
						exchange(path, {
							requestBody: bytes(JSON.stringify(request)),
							...{ answerType: "application/json", answerBody: bytes(JSON.stringify(answer)) },
						}),
					);
					expect(["request", "unreadable"]).toContain(reading.kind);
				}),
				{ numRuns: runs(300) },
			);
		});

		test("never throws for random bytes", () => {
			const random = fc.uint8Array({ maxLength: 300 });
			fc.assert(
				fc.property(random, random, (requestBody, answerBody) => {
					const garbage = { requestBody, answerBody };
					expect(new ExchangeReader().read(exchange(path, garbage)).kind).not.toBe("other");
					const requestBody2 = bytes(JSON.stringify(body(1)));
					const half = { requestBody: requestBody2, answerBody };
					expect(new ExchangeReader().read(exchange(path, half)).kind).toBe("request");
				}),
				{ numRuns: runs(200) },
			);
		});

		test("never throws for deep values in a request or an answer", () => {
			const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
			const requestBody = bytes(JSON.stringify(body(1)).replace("{", `{"deep":${deep},`));
			expect(new ExchangeReader().read(exchange(path, { ...good, requestBody })).kind).toBe(
				"request",
			);
			const data = events.map((event) => event.replace("data: {", `data: {"deep":${deep},`));
			const items = `data: {"type":"response.output_item.done","item":{"deep":${deep}}}\n\n`;
			const answerBody = bytes([items, ...data].join(""));
			const whole = { requestBody: bytes(JSON.stringify(body(1))), answerBody };
			expect(new ExchangeReader().read(exchange(path, whole)).kind).toBe("request");
		});
	},
);
