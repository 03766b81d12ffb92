import { describe, expect, test } from "vitest";
import { anthropicBody, type Prompt } from "../../src/tiers/assemble.ts";
import { assemble, type PromptItem, placeByTier, TierController } from "../../src/tiers/index.ts";
import { validateBody } from "../support/loopback-validate.ts";
import { fc } from "../support/property.ts";
import { item, times } from "./items.ts";

const file = (key: string, text = `text of ${key}\n`): PromptItem => ({ key, kind: "file", text });
const symbol = (path: string): PromptItem => ({
	key: `symbol:${path}`,
	kind: "symbol",
	text: `${path}: f, g`,
});
const said = (key: string, role: "user" | "assistant", text: string): PromptItem => ({
	key,
	kind: "history",
	role,
	text,
});

const NOTHING = { L0: [], L1: [], L2: [], L3: [] };

function promptWith(parts: Partial<Prompt>): Prompt {
	return {
		system: "You are helpful.",
		tiers: NOTHING,
		activeFiles: [],
		activeHistory: [],
		prompt: "Go on.",
		...parts,
	};
}

/** A prompt with something in every place. */
const FULL = promptWith({
	legend: "f: function",
	tiers: {
		L0: [symbol("l0.ts"), file("l0.md"), said("h0", "user", "zero")],
		L1: [symbol("l1.ts"), file("l1.md")],
		L2: [file("l2.md")],
		L3: [said("h1", "user", "one?"), said("h2", "assistant", "One."), file("l3.md")],
	},
	fileTree: "src/\n  a.ts",
	urls: ["A page."],
	activeFiles: [file("active.ts")],
	activeHistory: [said("h3", "user", "two?"), said("h4", "assistant", "Two.")],
});

describe("Cache Block Structure", () => {
	test("each request sends system with L0, L1, L2, L3, file tree, URL context, active files, active history and the prompt", () => {
		const shape = assemble(FULL).map(({ role, text }) => `${role}: ${text.split("\n")[0]}`);
		expect(shape).toEqual([
			"system: You are helpful.",
			...["user: ## Symbols (L1)", "assistant: Ok."],
			...["user: ## Files (L2)", "assistant: Ok."],
			...["user: ## Files (L3)", "assistant: Ok."],
			...["user: ## File Tree", "assistant: Ok."],
			...["user: ## URL Context", "assistant: Ok."],
			...["user: ## Files (active)", "assistant: Ok."],
			...["user: two?", "assistant: Two."],
			"user: Go on.",
		]);
	});

	test("message 1 (system): system prompt + legend + L0 symbols + L0 files + L0 history", () => {
		expect(assemble(FULL)[0]?.text).toBe(
			[
				"You are helpful.",
				"f: function",
				"## Symbols (L0)",
				"l0.ts: f, g",
				"## Files (L0)",
				"### l0.md\n```\ntext of l0.md\n```",
				"## Conversation History (L0)",
				"### User\nzero",
			].join("\n\n"),
		);
	});

	test("the L0 block always includes the system prompt", () => {
		const [first] = assemble(promptWith({}));
		expect(first).toEqual({
			role: "system",
			text: "You are helpful.",
			cached: true,
			breakpoint: true,
		});
	});

	test("the messages of L0 to L3 are cached, those behind them are not", () => {
		const cached = assemble(FULL).map((message) => message.cached);
		expect(cached).toEqual([...Array(7).fill(true), ...Array(9).fill(false)]);
	});

	test("each tier maps to a single cached message block: one breakpoint, on the tier's last message", () => {
		const marked = assemble(FULL).flatMap(({ breakpoint }, index) => (breakpoint ? [index] : []));
		expect(marked).toEqual([0, 2, 4, 6]);
	});

	test("empty tiers are skipped (no messages emitted), and the number of breakpoints is that of non-empty tiers", () => {
		const messages = assemble(promptWith({ tiers: { ...NOTHING, L2: [file("a.ts")] } }));
		expect(messages.map(({ role, breakpoint }) => `${role} ${breakpoint}`)).toEqual([
			"system true",
			"user false",
			"assistant true",
			"user false",
		]);
	});

	test("without any content there is the prompt alone", () => {
		expect(assemble(promptWith({ system: "", urls: "", fileTree: "" }))).toEqual([
			{ role: "user", text: "Go on.", cached: false, breakpoint: false },
		]);
	});

	test("URL context can be one text or a list of pages", () => {
		const texts = (urls: string | string[]) => assemble(promptWith({ urls }))[1]?.text;
		expect(texts("A page.")).toBe("## URL Context\n\nA page.");
		expect(texts(["A page.", "", "Another."])).toBe("## URL Context\n\nA page.\n\nAnother.");
	});

	test("symbol entries that are active stand before the active files", () => {
		const { text } = assemble(promptWith({ activeFiles: [file("a.ts"), symbol("b.ts")] }))[1] ?? {};
		expect(text).toBe(
			"## Symbols (active)\n\nb.ts: f, g\n\n## Files (active)\n\n### a.ts\n```\ntext of a.ts\n```",
		);
	});
});

describe("History Format in Cached vs Active", () => {
	test("cached history (in tier blocks): formatted as markdown within the tier's user message", () => {
		const L3 = [said("h1", "user", "content"), said("h2", "assistant", "content")];
		expect(assemble(promptWith({ tiers: { ...NOTHING, L3 } }))[1]).toEqual({
			role: "user",
			text: "## Conversation History (L3)\n\n### User\ncontent\n\n### Assistant\ncontent",
			cached: true,
			breakpoint: false,
		});
	});

	test("active history: raw role and content message pairs", () => {
		const activeHistory = [said("h1", "user", "# x\n"), said("h2", "assistant", "y")];
		expect(assemble(promptWith({ activeHistory })).slice(1, 3)).toEqual([
			{ role: "user", text: "# x\n", cached: false, breakpoint: false },
			{ role: "assistant", text: "y", cached: false, breakpoint: false },
		]);
	});
});

describe("order inside a tier", () => {
	const L1 = [
		file("z.ts"),
		said("h9", "user", "first"),
		symbol("m.ts"),
		file("a.ts"),
		said("h1", "assistant", "second"),
		symbol("b.ts"),
	];
	const textOf = (items: readonly PromptItem[]) =>
		assemble(promptWith({ tiers: { ...NOTHING, L1: items } }))[1]?.text ?? "";
	const orderOf = (text: string, pieces: string[]) =>
		pieces.toSorted((a, b) => text.indexOf(a) - text.indexOf(b));

	test("is symbols, files, history; symbols and files by key, history as it was said", () => {
		const pieces = ["b.ts: f", "m.ts: f", "### a.ts", "### z.ts", "first", "second"];
		expect(orderOf(textOf(L1), pieces.toSorted())).toEqual(pieces);
	});

	test("is that in which items were first seen, where that is known", () => {
		const dated = [
			{ ...file("a.ts"), entered: 7 },
			{ ...file("z.ts"), entered: 2 },
			{ ...file("m.ts"), entered: 2 },
		];
		expect(orderOf(textOf(dated), ["### a.ts", "### m.ts", "### z.ts"])).toEqual([
			"### m.ts",
			"### z.ts",
			"### a.ts",
		]);
	});

	test("does not depend on the order in which symbols and files are given", () => {
		const movable = L1.filter(({ kind }) => kind !== "history");
		const history = L1.filter(({ kind }) => kind === "history");
		fc.assert(
			fc.property(fc.shuffledSubarray(movable, { minLength: movable.length }), (shuffled) => {
				expect(textOf([...history, ...shuffled])).toBe(textOf(L1));
			}),
		);
	});

	test("is that in which files were selected, when they come from a controller", () => {
		const controller = new TierController();
		controller.next({ files: [item("z.ts")] });
		times(5, () => controller.next({ files: [item("a.ts"), item("z.ts")] }));
		const { tiers } = placeByTier(controller.items(), [file("a.ts"), file("z.ts")]);
		const text = textOf(tiers.L3);
		expect(orderOf(text, ["### a.ts", "### z.ts"])).toEqual(["### z.ts", "### a.ts"]);
	});

	test("does not depend on N: an item that ages moves no bytes", () => {
		const controller = new TierController({ cacheMinTokens: 150, cacheBufferMultiplier: 1 });
		const keys = ["a.ts", "b.ts", "c.ts"];
		const l3 = () =>
			placeByTier(
				controller.items(),
				keys.map((key) => file(key)),
			).tiers.L3.map(({ key }) => key);
		times(5, () => controller.next({ files: keys.map((key) => item(key)) }));
		expect(l3()).toEqual(keys);
		const files = [...keys, "d.ts"].map((key) => item(key));
		times(5, () => controller.next({ files }));
		// d.ts and one more fill the block; the others have a higher N now.
		expect(Array.from(controller.items().values(), ({ n }) => n)).toEqual([3, 4, 4, 3]);
		expect(l3()).toEqual(keys);
	});
});

describe("what files and their names hold cannot break out of their place", () => {
	const textOf = (item: PromptItem) =>
		assemble(promptWith({ tiers: { ...NOTHING, L1: [item] } }))[1]?.text;

	test("a fence is longer than any in the file", () => {
		const text = "```ts\n````\n```\n";
		expect(textOf(file("a.md", text))).toBe(
			`## Files (L1)\n\n### a.md\n\`\`\`\`\`\n${text}\`\`\`\`\``,
		);
	});

	test("a file without a last line end, or without content, keeps its fence on a line of its own", () => {
		expect(textOf(file("a.ts", "x"))).toBe("## Files (L1)\n\n### a.ts\n```\nx\n```");
		expect(textOf(file("a.ts", ""))).toBe("## Files (L1)\n\n### a.ts\n```\n```");
	});

	test("a name with a line break is quoted", () => {
		expect(textOf(file("a\n## Files (L0)", "x\n"))).toContain('### "a\\n## Files (L0)"\n');
	});
});

describe("Symbol Map Exclusion", () => {
	test("symbol tiers only include entries for files not in the set of active context files", () => {
		const controller = new TierController();
		const symbols = [item("symbol:a.ts"), item("symbol:b.ts")];
		const contents = [symbol("a.ts"), symbol("b.ts")];
		times(5, () => controller.next({ symbols }));
		const keysOfL3 = (given: PromptItem[]) =>
			placeByTier(controller.items(), given).tiers.L3.map(({ key }) => key);
		expect(keysOfL3(contents)).toEqual(["symbol:a.ts", "symbol:b.ts"]);

		controller.next({ files: [item("a.ts")], symbols });
		const laid = placeByTier(controller.items(), [...contents, file("a.ts")]);
		expect(laid.tiers.L3.map(({ key }) => key)).toEqual(["symbol:b.ts"]);
		expect(laid.activeFiles.map(({ key }) => key)).toEqual(["a.ts"]);
	});

	test("what is not tracked is active, and what has no content is left out", () => {
		const controller = new TierController();
		times(5, () => controller.next({ files: [item("a.ts"), item("vanished.ts")] }));
		const laid = placeByTier(controller.items(), [
			file("a.ts"),
			file("new.ts"),
			said("h", "user", "x"),
		]);
		expect(laid.tiers.L3.map(({ key }) => key)).toEqual(["a.ts"]);
		expect(laid.activeFiles.map(({ key }) => key)).toEqual(["new.ts"]);
		expect(laid.activeHistory.map(({ key }) => key)).toEqual(["h"]);
	});
});

describe("a provider's minimum", () => {
	const sized = (key: string, tokens: number): PromptItem => ({ ...file(key), tokens });
	const tiers = { L0: [], L1: [sized("a", 500)], L2: [sized("b", 400)], L3: [sized("c", 300)] };
	const prompt = (minimumTokens: number) =>
		promptWith({ system: "x".repeat(400), tiers, minimumTokens });
	const marked = (minimum: number) =>
		assemble(prompt(minimum)).flatMap(({ breakpoint }, index) => (breakpoint ? [index] : []));

	test("is held against everything up to the breakpoint, not against the block alone", () => {
		// 100 tokens of system prompt, then 600, 1000 and 1300 in all.
		expect(marked(0)).toEqual([0, 2, 4, 6]);
		expect(marked(100)).toEqual([0, 2, 4, 6]);
		expect(marked(101)).toEqual([2, 4, 6]);
		expect(marked(1000)).toEqual([4, 6]);
		expect(marked(1300)).toEqual([6]);
		expect(marked(1301)).toEqual([]);
	});

	test("an underfilled tier loses its breakpoint and keeps its content in place", () => {
		const texts = (minimum: number) => assemble(prompt(minimum)).map(({ text }) => text);
		expect(texts(4096)).toEqual(texts(0));
	});

	test("is estimated from the text where an item does not say what it weighs", () => {
		const L1 = [file("a.ts", "x".repeat(4000))];
		const marks = (minimumTokens: number) =>
			assemble(promptWith({ system: "", tiers: { ...NOTHING, L1 }, minimumTokens })).filter(
				({ breakpoint }) => breakpoint,
			).length;
		expect([marks(1000), marks(1001)]).toEqual([1, 0]);
	});
});

describe("an Anthropic body", () => {
	test("has the system prompt with L0 in front, and a marker on the last block of each tier", () => {
		const body = anthropicBody(assemble(FULL));
		expect(body.system).toHaveLength(1);
		expect(body.system?.[0]).toMatchObject({ type: "text", cache_control: { type: "ephemeral" } });
		const marked = body.messages.flatMap(({ content }, index) =>
			content.some((block) => block.cache_control) ? [index] : [],
		);
		expect(marked).toEqual([1, 3, 5]);
		expect(body.messages.map(({ role }) => role)).toEqual([
			...Array(7).fill(["user", "assistant"]).flat(),
			"user",
		]);
	});

	test("is one that the API accepts, whatever is empty", () => {
		const texts = fc.constantFrom("", " \n", "text", "```\n");
		const list = (kind: PromptItem["kind"]) =>
			fc.array(
				fc.record({ key: fc.constantFrom("a", "b", "c"), kind: fc.constant(kind), text: texts }),
				{
					maxLength: 2,
				},
			);
		const mixed = fc.oneof(list("file"), list("symbol"), list("history"));
		const prompts = fc.record({
			system: texts,
			tiers: fc.record({ L0: mixed, L1: mixed, L2: mixed, L3: mixed }),
			fileTree: texts,
			urls: texts,
			activeFiles: list("file"),
			activeHistory: list("history"),
			prompt: fc.constant("Go on."),
		});
		fc.assert(
			fc.property(prompts, (prompt) => {
				const body = anthropicBody(assemble(prompt));
				validateBody({ model: "m", max_tokens: 1, stream: true, ...body });
				const markers = JSON.stringify(body).split('"cache_control"').length - 1;
				expect(markers).toBeLessThanOrEqual(4);
			}),
		);
	});
});
