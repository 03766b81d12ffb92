import { describe, expect, test } from "vitest";
import {
	AnswerReader,
	type Format,
	formatOf,
	readPayload,
	readRequest,
	type WireRequest,
} from "../../src/wire/index.ts";
import { fc, runs } from "../support/property.ts";
import { type SampleChanges, samples } from "./samples.ts";

describe.each(samples)("format $format", (sample) => {
	const format = formatOf(sample.path) as Format;
	const bodyOf = (turns: number, changes?: SampleChanges) =>
		Buffer.from(JSON.stringify(sample.body(turns, changes)));
	const requestOf = (turns: number, changes?: SampleChanges) =>
		readRequest(format, bodyOf(turns, changes), sample.path) as WireRequest;
	const hashes = ({ pieces }: WireRequest) => pieces.map(({ hash }) => hash);
	const firstChange = (before: WireRequest, now: WireRequest) =>
		now.pieces[hashes(before).findIndex((hash, at) => hash !== hashes(now)[at])];

	test("is known by the path alone", () => {
		expect(format.name).toBe(sample.format);
		expect(formatOf("/v1/models")).toBeUndefined();
		expect(formatOf(`${sample.path}/count_tokens`)).toBeUndefined();
	});

	test("pieces come in the order of the cache, with tools, files and kinds", () => {
		const { pieces, model } = requestOf(1);
		expect(model).not.toBe("");
		const parts = pieces.map(({ part }) => part);
		expect(parts).toEqual([...parts].sort((a, b) => PARTS.indexOf(a) - PARTS.indexOf(b)));
		const results = pieces.filter(({ kind }) => kind === "result");
		expect(results).toMatchObject([{ tool: "read", path: "/w/app/secret-free.ts" }]);
		expect(pieces.filter(({ kind }) => kind === "tool")).toMatchObject([
			{ label: "tool read" },
			{ label: "tool bash" },
		]);
		expect(pieces.filter(({ kind }) => kind === "call")).toHaveLength(1);
		expect(pieces.filter(({ kind }) => kind === "system")).toHaveLength(1);
		expect(pieces.filter(({ kind }) => kind === "user")).toHaveLength(2);
	});

	test("every piece is a JSON value at its byte range, in a body with any characters", () => {
		const body = bodyOf(2, { first: 'secret "quotes" \\ ünïcödé 🎈 \u2028' });
		for (const { range } of readRequest(format, body, sample.path)?.pieces ?? []) {
			expect(() => JSON.parse(body.toString("utf8", range.start, range.end))).not.toThrow();
		}
	});

	test("a conversation that grows keeps the hashes of its prefix, also with markers that move", () => {
		for (const turns of [1, 2, 3]) {
			const [before, now] = [requestOf(turns - 1), requestOf(turns)];
			expect(hashes(now).slice(0, before.pieces.length)).toEqual(hashes(before));
			expect(now.pieces.length).toBeGreaterThan(before.pieces.length);
			expect(hashes(requestOf(turns, { marked: false }))).toEqual(hashes(now));
		}
	});

	test("the first changed piece is the one that changed", () => {
		const before = requestOf(2);
		expect(firstChange(before, requestOf(2, { tools: ["read", "bash2"] }))?.label).toBe(
			"tool bash2",
		);
		expect(firstChange(before, requestOf(2, { system: "secret other" }))?.kind).toBe("system");
		const changed = firstChange(before, requestOf(2, { first: "secret other" }));
		expect(changed).toMatchObject({ kind: "user", part: "messages" });
	});

	test("an SDK's payload reads like the body that it becomes", () => {
		const { pieces } = readPayload(sample.body(2)) as WireRequest;
		expect(pieces).toEqual(requestOf(2).pieces);
	});

	test("a stream in chunks of any size has the bill of the whole answer", () => {
		const stream = Buffer.from(sample.events.join(""));
		fc.assert(
			fc.property(fc.array(fc.integer({ min: 1, max: 200 })), fc.boolean(), (sizes, isCrlf) => {
				const reader = new AnswerReader(format, "text/event-stream; charset=utf-8");
				const bytes = isCrlf ? Buffer.from(stream.toString().replaceAll("\n", "\r\n")) : stream;
				let rest = bytes;
				for (const size of sizes) {
					reader.push(rest.subarray(0, size));
					rest = rest.subarray(size);
				}
				reader.push(rest);
				expect(reader.end(true)).toMatchObject({ end: "complete", usage: sample.usage });
			}),
			{ numRuns: runs(100) },
		);
		const whole = new AnswerReader(format, "application/json");
		whole.push(Buffer.from(JSON.stringify(sample.document)));
		expect(whole.end(true)).toMatchObject({ end: "complete", usage: sample.usage });
	});

	test("a stream that stops early is cut, wherever it stops", () => {
		for (let count = 0; count < sample.events.length - 1; count++) {
			const reader = new AnswerReader(format, "text/event-stream");
			reader.push(Buffer.from(sample.events.slice(0, count).join("")));
			expect(reader.end(false).end).toBe("cut");
		}
	});

	test("an error in the middle of a stream is named", () => {
		const reader = new AnswerReader(format, "text/event-stream");
		reader.push(Buffer.from(`${sample.events[0]}${sample.failure.event}`));
		expect(reader.end(true)).toMatchObject({ end: "error", error: sample.failure.name });
	});

	test("nothing that is read holds a text of the conversation", () => {
		const reader = new AnswerReader(format, "text/event-stream");
		reader.push(Buffer.from(sample.events.join("")));
		const kept = JSON.stringify([requestOf(3), reader.end(true)]);
		expect(kept.replaceAll("secret-free.ts", "")).not.toContain("secret");
	});

	test("a body that is damaged anywhere is read or refused, and never throws", () => {
		const body = bodyOf(2);
		const damage = fc.record({ at: fc.nat(body.length - 1), byte: fc.nat(255), cut: fc.boolean() });
		fc.assert(
			fc.property(fc.array(damage, { minLength: 1, maxLength: 4 }), (all) => {
				let damaged = Buffer.from(body);
				for (const { at, byte } of all) damaged[at] = byte;
				if (all[0]?.cut) damaged = damaged.subarray(0, all[0].at);
				const request = readRequest(format, damaged, sample.path);
				expect(request === undefined || Array.isArray(request.pieces)).toBe(true);
			}),
			{ numRuns: runs(300) },
		);
	});

	test("values nested without end are neither a crash nor a loss of the other pieces", () => {
		const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
		const body = Buffer.from(
			JSON.stringify(sample.body(1))
				.replace('"secret text 0"', deep)
				.replace('"output":"secret"', `"output":${deep}`),
		);
		const request = readRequest(format, body, sample.path);
		expect(request?.pieces.length).toBe(requestOf(1).pieces.length);
	});
});

const PARTS = ["tools", "system", "messages"];

test("fields without a value in a later event do not erase the bill", () => {
	const [start = "", , , , stop = ""] = samples[0]?.events ?? [];
	const usage = { output_tokens: 311, input_tokens: null, cache_read_input_tokens: null };
	const delta = `data: ${JSON.stringify({ type: "message_delta", usage })}\n\n`;
	const reader = new AnswerReader(formatOf("/v1/messages") as Format, "text/event-stream");
	reader.push(Buffer.from(start + delta + stop));
	expect(reader.end(true).usage).toEqual(samples[0]?.usage);
});

test("only a path is kept of a call: no address, no query, no text", () => {
	const pathOf = (path: string) => {
		const call = { type: "tool_use", id: "t1", name: "fetch", input: { path } };
		return readPayload({ messages: [{ role: "assistant", content: [call] }] })?.pieces[0]?.path;
	};
	expect(pathOf("/w/my app/a.ts")).toBe("/w/my app/a.ts");
	for (const text of [
		"https://x.test/cb?token=secret",
		"a?token=secret",
		"two\nlines",
		"x".repeat(301),
	]) {
		expect(pathOf(text)).toBeUndefined();
	}
});
