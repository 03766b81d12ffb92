// @module-tag slow
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fc, runs } from "../support/property.ts";
import { bashCall, ClaudeSession, readCall, type ToolCall } from "./claude-session.ts";
import { expanded, pathIn } from "./expander.ts";

const SECRET = "sk-live-1f2e3d4c5b6a79881726354453627180";

type Step =
	| { readonly kind: "calls"; readonly calls: readonly Made[]; readonly isReversed: boolean }
	| { readonly kind: "edit"; readonly file: number; readonly at: number; readonly line: string }
	| { readonly kind: "compact" | "clear" | "restart" | "prompt" };

type Made =
	| { readonly kind: "read"; readonly file: number; readonly from: number }
	| { readonly kind: "cat"; readonly files: readonly number[]; readonly isFailed: boolean }
	| { readonly kind: "log"; readonly times: number; readonly file: number }
	| { readonly kind: "secret" };

const line = fc.constantFrom("", "x", "changed here", "[strata: lines 1-9 of", "a\ttab", SECRET);
const file = fc.nat({ max: 2 });
const made: fc.Arbitrary<Made> = fc.oneof(
	{
		weight: 4,
		arbitrary: fc.record({ kind: fc.constant("read"), file, from: fc.nat({ max: 30 }) }),
	},
	fc.record({
		kind: fc.constant("cat"),
		files: fc.array(file, { minLength: 1, maxLength: 3 }),
		isFailed: fc.boolean(),
	}),
	fc.record({ kind: fc.constant("log"), times: fc.nat({ max: 40 }), file }),
	fc.record({ kind: fc.constant("secret") }),
) as fc.Arbitrary<Made>;
const step: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			kind: fc.constant("calls"),
			calls: fc.array(made, { minLength: 1, maxLength: 3 }),
			isReversed: fc.boolean(),
		}),
	},
	{
		weight: 3,
		arbitrary: fc.record({ kind: fc.constant("edit"), file, at: fc.nat({ max: 50 }), line }),
	},
	fc.record({ kind: fc.constantFrom("compact", "clear", "restart", "prompt") }),
) as fc.Arbitrary<Step>;

/** Three files of which a session reads parts, prints some, and changes lines. */
class Game {
	readonly session = new ClaudeSession();
	readonly #files = ["one", "two", "three"].map((word) =>
		Array.from({ length: 50 }, (_, at) => `${word} ${at}: a line of this file`),
	);
	shortened = 0;

	constructor() {
		writeFileSync(join(this.session.project, ".env"), `API_KEY=${SECRET}\n`);
	}

	async play(one: Step): Promise<void> {
		const { session } = this;
		if (one.kind === "calls") {
			const order = one.calls.map((_, at) => at);
			const calls = one.calls.map((call) => this.#call(call));
			await session.calls(calls, one.isReversed ? order.reverse() : order);
			this.#check(calls.length);
		} else if (one.kind === "edit") this.#files[one.file]?.splice(one.at, 1, one.line);
		else if (one.kind === "compact") session.compact();
		else if (one.kind === "clear") session.clear();
		else if (one.kind === "restart") session.hook = session.newHook();
		else session.ask("go on");
	}

	/** Of each new result: it expands to what the agent alone would show, by what is shown above it. */
	#check(count: number): void {
		const { results } = this.session;
		for (const [at, result] of results.entries()) {
			if (at < results.length - count || result.text === result.original) continue;
			this.shortened++;
			expect(result.text.length).toBeLessThan(result.original.length);
			const text = expanded(result, results.slice(0, at));
			// A reference may stand for a fold that names the path, if the exact output is the same.
			const path = pathIn(result.text) ?? pathIn(text) ?? "";
			expect(this.session.stored(path)).toBe(result.original);
			// A fold stands for lines that are equal up to their numbers.
			if (!/^\[strata: (?:\d+ more|output)/m.test(text)) expect(text).toBe(result.original);
			expect(result.call.isError).not.toBe(true);
		}
		const { blobs } = this.session;
		for (const name of existsSync(blobs) ? readdirSync(blobs, { recursive: true }) : []) {
			if (!String(name).endsWith(".txt")) continue;
			expect(readFileSync(join(blobs, String(name)), "utf8")).not.toContain(SECRET);
		}
	}

	#call(made: Made): ToolCall {
		const path = (name: number) => join(this.session.project, `${name}.ts`);
		const content = (name: number) => (this.#files[name] ?? []).join("\n");
		switch (made.kind) {
			case "read": {
				const part = (this.#files[made.file] ?? []).slice(made.from).join("\n");
				const call = readCall(path(made.file), part, made.from + 1);
				return made.from === 0
					? call
					: { ...call, input: { ...call.input, offset: made.from + 1 } };
			}
			case "cat": {
				const command = `cat ${made.files.join(" ")}`;
				const output = made.files.map(content).join("\n");
				const call = bashCall(command, output);
				return made.isFailed
					? { ...call, response: `Exit code 1\n${output}`, isError: true }
					: call;
			}
			case "log":
				return bashCall(
					"npm start",
					`${"waiting for it\n".repeat(made.times)}${content(made.file)}`,
				);
			case "secret":
				return readCall(join(this.session.project, ".env"), content(0));
		}
	}
}

test("every short result expands to its original, by what is shown above it, and is stored without secrets", async () => {
	let shortened = 0;
	await fc.assert(
		fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
			const game = new Game();
			for (const one of steps) await game.play(one);
			shortened += game.shortened;
		}),
		{ numRuns: runs(100) },
	);
	expect(shortened).toBeGreaterThan(runs(100));
});
