import { describe, expect, test } from "vitest";
import { type Format, formatOf, readRequest, type WireRequest } from "../../src/wire/index.ts";

function read(path: string, body: object): WireRequest {
	const format = formatOf(path) as Format;
	return readRequest(format, Buffer.from(JSON.stringify(body)), path) as WireRequest;
}

const message = (fields: object) => read("/v1/messages", { messages: [], ...fields });

describe("a setting", () => {
	test("is compared whole, however long it is", () => {
		const schema = (last: string) => ({
			output_config: { format: { type: "json_schema", schema: `${"x".repeat(500)}${last}` } },
		});
		expect(message(schema("a")).settings).not.toEqual(message(schema("b")).settings);
		expect(message(schema("a")).settings).toEqual(message(schema("a")).settings);
	});

	test("is the same in any order of its keys", () => {
		expect(message({ thinking: { type: "enabled", budget_tokens: 1000 } }).settings).toEqual(
			message({ thinking: { budget_tokens: 1000, type: "enabled" } }).settings,
		);
	});

	test("of Anthropic's default effort is the same as none", () => {
		const effort = (value: string) => message({ output_config: { effort: value } }).settings;
		expect(effort("high")).toEqual(message({}).settings);
		expect(effort("low")).not.toEqual(message({}).settings);
	});

	test("says whether the messages have images, also within a result", () => {
		const block = { type: "image", source: { type: "base64", data: "AAAA" } };
		const result = { type: "tool_result", tool_use_id: "t", content: [block] };
		for (const content of [[block], [result]]) {
			expect(message({ messages: [{ role: "user", content }] }).settings.images).toBe("true");
		}
		const text = { type: "text", text: 'of type "image"' };
		const said = message({ messages: [{ role: "user", content: [text] }] });
		expect(said.settings.images).toBeUndefined();
	});
});

const marked = (marker: object) => ({ type: "input_text", text: "x", ...marker });

describe("a lifetime", () => {
	test("of Anthropic is that of the last marker", () => {
		const block = (ttl: string) => marked({ cache_control: { type: "ephemeral", ttl } });
		const said = (ttl: string) => ({ messages: [{ role: "user", content: [block(ttl)] }] });
		expect(message({ system: [block("1h")], ...said("5m") }).ttl).toBe("5m");
		expect(message({ system: [block("1h")], ...said("1h") }).ttl).toBe("1h");
		expect(message({}).ttl).toBeUndefined();
	});

	test.each([
		[{ prompt_cache_options: { ttl: "12h" } }, "1h"],
		[{ prompt_cache_retention: "24h" }, "1h"],
		[{ prompt_cache_options: { ttl: "30m" } }, undefined],
		[{ input: [{ role: "user", content: [marked({ prompt_cache_breakpoint: {} })] }] }, undefined],
		[{}, undefined],
	])("of OpenAI: %j", (fields, ttl) => {
		expect(read("/v1/responses", { input: [], ...fields }).ttl).toBe(ttl);
	});
});

describe("a marker that moves away from the blocks of a result", () => {
	const marker = { cache_control: { type: "ephemeral", ttl: "1h" } };
	const block = (marked: boolean) => ({ type: "text", text: "out", ...(marked && marker) });

	test("leaves a chat message of a tool the same, also if it is a plain text then", () => {
		const tool = (content: unknown) =>
			read("/v1/chat/completions", { messages: [{ role: "tool", tool_call_id: "c", content }] })
				.pieces[0];
		const marked = tool([block(true)]);
		expect(marked?.breakpoint).toBe("1h");
		expect(tool([block(false)])?.hash).toBe(marked?.hash);
		expect(tool("out")?.hash).toBe(marked?.hash);
		expect(tool([block(true), block(true)])?.hash).not.toBe(marked?.hash);
		expect(tool([block(true), block(true)])?.hash).toBe(tool([block(false), block(false)])?.hash);
	});

	test("leaves a result of Anthropic the same", () => {
		const result = (marked: boolean) => ({
			role: "user",
			content: [{ type: "tool_result", tool_use_id: "t", content: [block(marked)] }],
		});
		const [before] = message({ messages: [result(true)] }).pieces;
		expect(before?.breakpoint).toBe("1h");
		expect(message({ messages: [result(false)] }).pieces[0]?.hash).toBe(before?.hash);
	});
});
