import { describe, expect, test } from "vitest";
import { MemoryMarks, Rewriter, type RewriterOptions } from "../../src/savings/index.ts";
import { bodyOf, code, PATHS, read, type Turn, textsIn, WIRES, type WireName } from "./talks.ts";

const START: Turn = { user: "What does a.ts do?" };
const FIRST = read("call_1", "a.ts", code("a"));
const AGAIN = read("call_2", "a.ts", code("a"));

function rewriter(options: Partial<RewriterOptions> = {}) {
	return new Rewriter({ marks: new MemoryMarks(), maxMs: 1e9, ...options });
}

function send(one: Rewriter, wire: WireName, turns: readonly Turn[], more = {}) {
	const body = bodyOf(wire, turns, more);
	const rewriting = one.rewrite({ path: PATHS[wire], body });
	return { original: body, sent: rewriting.body ?? body, ...rewriting };
}

describe.each(WIRES)("%s", (wire) => {
	test("a result that repeats an earlier one becomes a reference, and nothing else changes", () => {
		const one = rewriter();
		expect(send(one, wire, [START, FIRST]).body).toBeUndefined();
		const { original, sent, savings } = send(one, wire, [START, FIRST, AGAIN]);
		const reference = "[strata: lines 1-30 of the output of `read a.ts` above, unchanged]";
		expect(textsIn(wire, sent)).toEqual([code("a"), reference]);
		const [whole, short] = [code("a"), reference].map((text) => JSON.stringify(text));
		const at = original.lastIndexOf(whole ?? "");
		expect(sent.toString()).toBe(
			original.toString("utf8", 0, at) +
				short +
				original.toString("utf8", at + Buffer.byteLength(whole ?? "")),
		);
		expect(savings).toMatchObject({ results: 1 });
		const saved = (original.length - sent.length) / 4;
		expect(Math.abs((savings?.tokens ?? 0) - saved)).toBeLessThanOrEqual(1);
	});

	test("later requests begin with the same bytes, with and without memory", () => {
		const marks = new MemoryMarks();
		const one = rewriter({ marks });
		send(one, wire, [START, FIRST]);
		const before = send(one, wire, [START, FIRST, AGAIN]);
		const more = [START, FIRST, AGAIN, read("call_3", "b.ts", code("b"))];
		const after = send(one, wire, more);
		const texts = textsIn(wire, before.sent);
		expect(textsIn(wire, after.sent).slice(0, 2)).toEqual(texts);
		expect(send(rewriter({ marks, maxMs: -1 }), wire, more).sent).toEqual(after.sent);
		expect(send(rewriter({ marks, maxConversations: 0 }), wire, more).sent).toEqual(after.sent);
	});

	test("a conversation that is seen late stays as it is up to its last answer", () => {
		const marks = new MemoryMarks();
		const late = [START, FIRST, AGAIN, { answer: "It computes." }, { user: "And again?" }];
		const { body, savings } = send(rewriter({ marks }), wire, late);
		expect(body).toBeUndefined();
		expect(savings?.kept).toBe("late");
		const more = [...late, read("call_3", "a.ts", code("a"))];
		const { sent } = send(rewriter({ marks }), wire, more);
		const [, second, third] = textsIn(wire, sent);
		expect(second).toBe(code("a"));
		expect(third).toMatch(/^\[strata: lines 1-30 /);
		// After a lost store, all that was answered is sent as the agent wrote it.
		const lost = send(rewriter(), wire, [...more, { answer: "Yes." }, { user: "Thanks." }]);
		expect(lost.body).toBeUndefined();
	});

	test("going back to before an answer keeps what was answered as it is", () => {
		const one = rewriter();
		send(one, wire, [START, FIRST, AGAIN, { answer: "It computes." }, { user: "And?" }]);
		const { body } = send(one, wire, [START, FIRST, AGAIN]);
		expect(body).toBeUndefined();
	});

	test("results that are new after the time allowed stay, now and later", () => {
		const marks = new MemoryMarks();
		send(rewriter({ marks }), wire, [START, FIRST]);
		const slow = send(rewriter({ marks, maxMs: -1 }), wire, [START, FIRST, AGAIN]);
		expect(slow.body).toBeUndefined();
		expect(slow.savings?.kept).toBe("slow");
		expect(send(rewriter({ marks }), wire, [START, FIRST, AGAIN]).body).toBeUndefined();
	});

	test("without a store new results stay, and those that were sent short are sent short", () => {
		const marks = new MemoryMarks();
		const one = rewriter({ marks });
		send(one, wire, [START, FIRST]);
		const before = send(one, wire, [START, FIRST, AGAIN]);
		marks.put = () => {
			throw new Error("the disk is full");
		};
		const turns = [START, FIRST, AGAIN, read("call_3", "a.ts", code("a"))];
		const { sent, savings } = send(one, wire, turns);
		expect(savings?.kept).toBe("no-store");
		expect(textsIn(wire, sent)).toEqual([...textsIn(wire, before.sent), code("a")]);
		expect(send(rewriter({ marks }), wire, turns).sent).toEqual(sent);
	});

	test("a mark that could not be stored is stored with the next request", () => {
		const marks = new MemoryMarks();
		const one = rewriter({ marks });
		send(one, wire, [START, FIRST]);
		const put = marks.put.bind(marks);
		marks.put = () => {
			throw new Error("the disk is full");
		};
		expect(send(one, wire, [START, FIRST, AGAIN]).body).toBeUndefined();
		marks.put = put;
		send(one, wire, [START, FIRST, AGAIN, read("call_3", "b.ts", code("b"))]);
		// Back to before the answer, in another process: it was sent as it is.
		expect(send(rewriter({ marks }), wire, [START, FIRST, AGAIN]).body).toBeUndefined();
	});

	test("a process that marks a result first decides for others", () => {
		const marks = new MemoryMarks();
		const one = rewriter({ marks });
		send(one, wire, [START, FIRST]);
		const put = marks.put.bind(marks);
		marks.put = (mine) => {
			put(mine.map(([chain]) => [chain, 0]));
			put(mine);
		};
		expect(send(one, wire, [START, FIRST, AGAIN]).body).toBeUndefined();
	});

	test("a store that cannot be read is no store", () => {
		const marks = new MemoryMarks();
		const one = rewriter({ marks });
		send(one, wire, [START, FIRST]);
		const before = send(one, wire, [START, FIRST, AGAIN]);
		marks.get = () => {
			throw new Error("damaged");
		};
		const turns = [START, FIRST, AGAIN, read("call_3", "a.ts", code("a"))];
		const { sent, savings } = send(one, wire, turns);
		expect(savings?.kept).toBe("no-store");
		expect(textsIn(wire, sent)).toEqual([...textsIn(wire, before.sent), code("a")]);
	});

	test("a conversation whose short form was refused is sent as it is from then on", () => {
		for (const isStored of [true, false]) {
			const marks = new MemoryMarks();
			const one = rewriter({ marks });
			send(one, wire, [START, FIRST]);
			const { refused } = send(one, wire, [START, FIRST, AGAIN]);
			if (!isStored) {
				marks.replace = () => {
					throw new Error("the disk is full");
				};
			}
			expect(refused?.()).toEqual({ tokens: 0, results: 0, kept: "refused" });
			const more = [START, FIRST, AGAIN, read("call_3", "a.ts", code("a"))];
			for (const turns of [more.slice(0, 3), more, [START, FIRST, more[3] as Turn]]) {
				const { body, savings } = send(one, wire, turns);
				expect(body).toBeUndefined();
				expect(savings?.kept).toBe("refused");
			}
			if (isStored) expect(send(rewriter({ marks }), wire, more).body).toBeUndefined();
		}
	});

	test("a refusal that another process got counts, too", () => {
		const marks = new MemoryMarks();
		const [one, other] = [rewriter({ marks }), rewriter({ marks })];
		for (const each of [one, other]) {
			send(each, wire, [START, FIRST]);
			expect(send(each, wire, [START, FIRST, AGAIN]).body).toBeDefined();
		}
		send(one, wire, [START, FIRST, AGAIN]).refused?.();
		for (const each of [one, other]) {
			expect(send(each, wire, [START, FIRST, AGAIN]).body).toBeUndefined();
		}
	});

	test("after an error of ours the conversation is sent as it is, and others are not affected", () => {
		const marks = new MemoryMarks();
		let isBroken = false;
		const isExcluded = () => {
			if (isBroken) throw new Error("a bug");
			return false;
		};
		const one = rewriter({ marks, isExcluded });
		const other = (count: number) =>
			[{ user: "Hi." }, ...["x", "y"].map((id) => read(id, "b.ts", code("b")))].slice(0, count);
		send(one, wire, other(2));
		send(one, wire, [START, FIRST]);
		isBroken = true;
		const { body, savings } = send(one, wire, [START, FIRST, AGAIN]);
		expect(body).toBeUndefined();
		expect(savings?.kept).toBe("failed");
		isBroken = false;
		const more = [START, FIRST, AGAIN, read("call_3", "a.ts", code("a"))];
		expect(send(one, wire, more).body).toBeUndefined();
		expect(send(rewriter({ marks }), wire, more).body).toBeUndefined();
		expect(send(one, wire, other(3)).body).toBeDefined();
	});

	test("a result of an excluded file is neither shortened nor referred to, whatever is excluded later", () => {
		const marks = new MemoryMarks();
		const secret = read("call_1", ".env", code("a"));
		const isExcluded = (input: unknown) => JSON.stringify(input).includes(".env");
		const one = rewriter({ marks, isExcluded });
		const turns = [START, secret, AGAIN, read("call_3", ".env", code("a"))];
		for (let count = 2; count <= 4; count++) {
			expect(send(one, wire, turns.slice(0, count)).body).toBeUndefined();
		}
		const more = [...turns, read("call_4", "b.ts", code("a"))];
		const { sent } = send(rewriter({ marks }), wire, more);
		expect(textsIn(wire, sent)).toEqual([
			...Array(3).fill(code("a")),
			"[strata: lines 1-30 of the output of `read a.ts` above, unchanged]",
		]);
	});

	test("a result of an excluded file is not referred to after a failure of the store either", () => {
		const marks = new MemoryMarks();
		const isExcluded = (input: unknown) => JSON.stringify(input).includes(".env");
		const one = rewriter({ marks, isExcluded });
		const put = marks.put.bind(marks);
		marks.put = () => {
			throw new Error("the disk is full");
		};
		const secret = read("call_1", ".env", code("a"));
		expect(send(one, wire, [START, secret]).savings?.kept).toBe("no-store");
		marks.put = put;
		expect(send(one, wire, [START, secret, AGAIN]).body).toBeUndefined();
		expect(send(rewriter({ marks }), wire, [START, secret, AGAIN]).body).toBeUndefined();
	});

	test("pictures and errors stay", () => {
		const turns: Turn[] = [
			START,
			FIRST,
			{ id: "call_2", tool: "read", input: { path: "a.ts" }, output: undefined },
		];
		expect(send(rewriter(), wire, turns).body).toBeUndefined();
		if (wire === "chat" || wire === "responses") return; // they have no errors
		const failed: Turn = { ...AGAIN, isError: true } as Turn;
		expect(send(rewriter(), wire, [START, FIRST, failed]).body).toBeUndefined();
	});
});

describe("a request is sent as it is", () => {
	const turns = [START, FIRST, AGAIN];
	const both = (one: Rewriter, wire: WireName, more: object) => {
		send(one, wire, [START, FIRST], more);
		return send(one, wire, turns, more);
	};

	test.each([
		["responses", { previous_response_id: "resp_1" }, "stateful"],
		["responses", { conversation: "conv_1" }, "stateful"],
		["gemini", { cachedContent: "cachedContents/1" }, "stateful"],
		["responses", { truncation: "auto" }, "edited"],
		[
			"anthropic",
			{ context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
			"edited",
		],
	] as const)("%s with %j", (wire, more, kept) => {
		const { body, savings } = both(rewriter(), wire, more);
		expect(body).toBeUndefined();
		expect(savings?.kept).toBe(kept);
	});

	test("if it is encoded, malformed or not UTF-8", () => {
		const one = rewriter();
		const path = PATHS.anthropic;
		const body = bodyOf("anthropic", turns);
		expect(one.rewrite({ path, body, encoding: "gzip" }).savings?.kept).toBe("encoded");
		const faults = [
			"{",
			"[]",
			'{"messages":[',
			'{"messages":[1,]}',
			'{"messages":[],"messages":[]}',
		];
		for (const text of [...faults, `${body}x`]) {
			expect(one.rewrite({ path, body: Buffer.from(text) })).toEqual({
				savings: { tokens: 0, results: 0, kept: "unreadable" },
			});
		}
		const odd = Buffer.from(body.toString("latin1").replace("compute", "\xff\xfe"), "latin1");
		expect(one.rewrite({ path, body: odd }).savings?.kept).toBe("unreadable");
	});

	test("if a key stands twice where it matters", () => {
		const path = PATHS.anthropic;
		const text = String(bodyOf("anthropic", turns));
		for (const twice of [
			text.replace('"content":"\\tconst', '"content":"first","content":"\\tconst'),
			text.replace('"type":"tool_result"', '"type":"tool_result","type":"tool_result"'),
			text.replace('"model":', '"system":[],"model":'),
		]) {
			expect(twice).not.toBe(text);
			expect(rewriter().rewrite({ path, body: Buffer.from(twice) }).savings?.kept).toBe(
				"unreadable",
			);
		}
	});

	test("if it is nested deeply", () => {
		const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
		const text = String(bodyOf("anthropic", turns)).replace(
			'"input":{',
			`"input":{"deep":${deep},`,
		);
		const { body, savings } = rewriter().rewrite({
			path: PATHS.anthropic,
			body: Buffer.from(text),
		});
		expect(body).toBeUndefined();
		expect(savings?.kept).toMatch(/^(failed|unreadable)$/);
	});

	test("if it asks no model, or for a compaction", () => {
		const body = bodyOf("responses", turns);
		expect(rewriter().rewrite({ path: "/v1/models", body })).toEqual({});
		expect(rewriter().rewrite({ path: "/v1/responses/compact", body })).toEqual({});
	});
});

test("clearing of thinking is no reason to keep results", () => {
	const more = {
		context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
	};
	const one = rewriter();
	send(one, "anthropic", [START, FIRST], more);
	expect(send(one, "anthropic", [START, FIRST, AGAIN], more).body).toBeDefined();
});

test("counting tokens is rewritten alike", () => {
	for (const [wire, path] of [
		["anthropic", "/v1/messages/count_tokens"],
		["responses", "/v1/responses/input_tokens"],
		["gemini", "/v1beta/models/gemini-3-pro:countTokens"],
	] as const) {
		const one = rewriter();
		const body = bodyOf(wire, [START, FIRST, AGAIN]);
		const sent = one.rewrite({ path: PATHS[wire], body }).body;
		expect(sent ?? body).toEqual(one.rewrite({ path, body }).body ?? body);
		expect(rewriter().rewrite({ path, body }).body).toEqual(
			rewriter().rewrite({ path: PATHS[wire], body }).body,
		);
	}
});

test("moved markers, dropped thinking and other words of the user change no decision", () => {
	const marks = new MemoryMarks();
	const one = rewriter({ marks });
	const thought: Turn = { ...FIRST, thinking: "sig_1" } as Turn;
	send(one, "anthropic", [START, thought]);
	const { sent } = send(one, "anthropic", [START, thought, AGAIN]);
	const texts = textsIn("anthropic", sent);
	expect(texts[1]).toMatch(/^\[strata: /);
	const turns = [{ user: "What?" }, FIRST, AGAIN, { answer: "So." }, { user: "Go on." }];
	for (const isMarked of [true, false]) {
		expect(textsIn("anthropic", send(one, "anthropic", turns, { isMarked }).sent)).toEqual(texts);
		const late = rewriter({ marks });
		expect(textsIn("anthropic", send(late, "anthropic", turns, { isMarked }).sent)).toEqual(texts);
	}
});

describe("Anthropic's forms of a result", () => {
	const repeated = (content: unknown, more: object = {}) => {
		const one = rewriter();
		const body = bodyOf("anthropic", [START, FIRST, AGAIN], { isMarked: false });
		const parsed = JSON.parse(String(body));
		Object.assign(parsed.messages[4].content[0], { content, ...more });
		const original = Buffer.from(JSON.stringify(parsed));
		return { parsed, original, ...one.rewrite({ path: PATHS.anthropic, body: original }) };
	};
	const text = { type: "text", text: code("a") };
	const cache_control = { type: "ephemeral", ttl: "1h" };

	test.each([
		["a marker on the result", code("a"), { cache_control }],
		["a list of one text", [text], {}],
		["a marker on its text", [{ ...text, cache_control }], {}],
		["no error", code("a"), { is_error: false }],
	])("%s: only the text is replaced", (_name, content, more) => {
		const { body, parsed } = repeated(content, more);
		const reference = "[strata: lines 1-30 of the output of `read a.ts` above, unchanged]";
		const block = parsed.messages[4].content[0];
		if (typeof content === "string") block.content = reference;
		else block.content[0].text = reference;
		expect(String(body)).toBe(JSON.stringify(parsed));
	});

	test.each([
		["an error", code("a"), { is_error: true }],
		["two texts", [text, text], {}],
		["a text and a picture", [text, { type: "image", source: {} }], {}],
		["a text with citations", [{ ...text, citations: [] }], {}],
		["a search result", [{ type: "search_result", text: code("a") }], {}],
		["an empty text", "", {}],
		["an empty list", [], {}],
		["a list with an empty text", [{ type: "text", text: "" }], {}],
		["nothing", null, {}],
		["a number", 1, {}],
		["a text that is no string", [{ type: "text", text: 1 }], {}],
		["a line like ours", `[strata: lines 1-2 of x]\n${code("a")}`, {}],
	])("%s stays", (_name, content, more) => {
		const { body, savings } = repeated(content, more);
		expect(body).toBeUndefined();
		expect(savings).toEqual({ tokens: 0, results: 0 });
	});
});

test("lone surrogates and odd escapes are compared as texts, and keep their bytes", () => {
	const odd = (at: number) =>
		`${code("a", 14)}\n\ud800${at} \u0000\u2028 \ud83d\ude00\n${code("b", 14)}`;
	const turns = [START, read("call_1", "a", odd(1)), read("call_2", "a", odd(2))];
	const escaped = String(bodyOf("anthropic", turns)).replace(
		/[\u007f-\uffff]/g,
		(char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
	const one = rewriter();
	const body = Buffer.from(escaped);
	const sent = one.rewrite({ path: PATHS.anthropic, body }).body;
	expect(textsIn("anthropic", sent ?? body)[1]).toBe(
		[
			"[strata: lines 1-14 of the output of `read a` above, unchanged]",
			"\ud8002 \u0000\u2028 \ud83d\ude00",
			"[strata: lines 16-29 of the output of `read a` above, unchanged]",
		].join("\n"),
	);
});

test("an item of a kind that is not known counts as the model's", () => {
	const body = JSON.parse(String(bodyOf("responses", [START, FIRST, AGAIN])));
	body.input.push({ type: "thought_2027", id: "x" });
	const { savings } = rewriter().rewrite({
		path: PATHS.responses,
		body: Buffer.from(JSON.stringify(body)),
	});
	expect(savings?.kept).toBe("late");
});
