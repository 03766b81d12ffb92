import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Book } from "../../src/traffic/book.ts";
import { Recorder } from "../../src/traffic/recorder.ts";
import type { Exchange } from "../../src/wire/exchange.ts";
import { framesOf } from "../support/frames.ts";
import { atEnd, tempDir } from "../support/temp.ts";
import { samples } from "../wire/samples.ts";

const KEY = "sk-secret-key-0123456789";

async function recording() {
	const folder = join(tempDir(), "traffic");
	const recorder = await Recorder.open({ folder, keepDays: 30, keepTexts: false });
	atEnd(() => recorder.close());
	let atMs = Date.now() - 60_000;
	const add = (body: object, rest: Partial<Exchange>) => {
		atMs += 1000;
		return recorder.add({
			...{ startedMs: atMs, firstByteMs: atMs + 1, endedMs: atMs + 2 },
			...{ upstream: "gateway", method: "POST", path: "/", status: 200, end: "complete" },
			// A proxy hands over none of these; if one did, it would not be kept.
			requestHeaders: { authorization: `Bearer ${KEY}`, "x-api-key": KEY, cookie: KEY },
			requestBody: new Uint8Array(Buffer.from(JSON.stringify(body))),
			answerType: "text/event-stream",
			...rest,
		});
	};
	const read = async () => {
		const book = await Book.openForReading(folder);
		const sums = book?.sums() ?? [];
		const requests = sums.flatMap(({ id }) => book?.requests(id) ?? []);
		book?.close();
		return { sums, requests };
	};
	return { folder, add, read };
}

describe.each(samples.map((sample) => [sample.format, sample] as const))(
	"traffic in the format %s",
	(_, { path, body, events, document, usage }) => {
		const stream = { path, answerBody: new Uint8Array(Buffer.from(events.join(""))) };

		test("is one conversation, billed as its answers say", async () => {
			const { add, read } = await recording();
			const answerBody = new Uint8Array(Buffer.from(JSON.stringify(document)));
			await add(body(0), stream);
			await add(body(1), stream);
			await add(body(2), { path, answerType: "application/json", answerBody });
			await add(body(3, { tools: ["read", "bash", "web"] }), stream);
			const { sums, requests } = await read();
			expect(requests.map(({ step }) => step)).toEqual(["start", "next", "next", "next"]);
			expect(requests[3]?.changed).toBe("tool web");
			const { reasoning: __, ...billed } = usage;
			const four = Object.entries(billed).map(([name, count]) => [name, 4 * count]);
			expect(sums).toMatchObject([{ requests: 4, tokens: Object.fromEntries(four) }]);
		});

		test("leaves neither text nor key in the book", async () => {
			const { add, folder } = await recording();
			for (const turns of [0, 1, 2]) await add(body(turns), stream);
			const files = globSync("**/*", { cwd: folder, withFileTypes: true })
				.filter((entry) => entry.isFile())
				.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
			const written = files.join("\n").replaceAll("secret-free", "");
			expect(written).toContain("/w/app/.ts");
			expect(written).not.toContain("secret");
		});
	},
);

describe("a WebSocket of Codex", () => {
	const tools = [{ type: "function", name: "shell" }];
	const user = (text: string) => ({ role: "user", content: [{ type: "input_text", text }] });
	const call = (id: string) => ({
		type: "function_call",
		name: "shell",
		arguments: "{}",
		call_id: id,
	});
	const output = (id: string) => ({
		type: "function_call_output",
		call_id: id,
		output: `out ${id}`,
	});
	const create = (input: object[], previous?: string) => ({
		...{ type: "response.create", model: "gpt-5.6", tools, input, prompt_cache_key: "thread-1" },
		...(previous && { previous_response_id: previous }),
	});
	const frames = (id: string, tokens: number, ...items: object[]) => [
		...items.map((item) => JSON.stringify({ type: "response.output_item.done", item })),
		JSON.stringify({
			type: "response.completed",
			response: { id, usage: { input_tokens: tokens, output_tokens: 5 } },
		}),
	];
	const socket = { method: "GET", path: "/v1/responses", status: 101 };

	test("has its deltas joined to one conversation", async () => {
		const { add, read } = await recording();
		const first = create([user("a")]);
		await add(first, { ...socket, frames: framesOf(frames("r1", 1000, call("c1"))) });
		await add(create([output("c1")], "r1"), {
			...socket,
			frames: framesOf(frames("r2", 2000, call("c2"))),
		});
		const third = create([output("c2")], "r2");
		await add(third, { ...socket, frames: framesOf(frames("r3", 3000)) });
		// After a fallback to HTTP, all items are sent again.
		const full = create([user("a"), call("c1"), output("c1"), call("c2"), output("c2"), user("b")]);
		const answerBody = new Uint8Array(
			Buffer.from(
				frames("r4", 4000)
					.map((data) => `data: ${data}\n\n`)
					.join(""),
			),
		);
		await add(full, { path: "/v1/responses", answerBody });
		const { sums, requests } = await read();
		expect(sums).toMatchObject([{ requests: 4, context: 4000, tokens: { input: 10_000 } }]);
		expect(requests.map(({ step, shared }) => [step, shared])).toEqual([
			["start", 0],
			["next", 1],
			["next", 3],
			["next", 5],
		]);
	});

	test("whose start was not observed goes by its name, and has no misses", async () => {
		const { add, read } = await recording();
		await add(create([output("c0")], "r0"), { ...socket, frames: framesOf(frames("r1", 50_000)) });
		await add(create([output("c1")], "r1"), { ...socket, frames: framesOf(frames("r2", 60_000)) });
		await add(create([user("a"), call("c1")]), { ...socket, frames: framesOf(frames("r3", 1000)) });
		const { sums, requests } = await read();
		expect(sums).toMatchObject([{ requests: 3, misses: 0 }]);
		expect(requests.map(({ step }) => step)).toEqual(["partial", "partial", "next"]);
	});
});
