import { property } from "../../core/property.ts";
import { isStub } from "../../pruning/index.ts";

/** A call that the demo model makes. */
export interface DemoCall {
	readonly name: string;
	readonly input: Record<string, unknown>;
}

/** What the demo model says and does next. */
export interface DemoAnswer {
	readonly text: string;
	readonly calls: readonly DemoCall[];
}

/**
 * The demo model: it has a text for each step and understands nothing. Which step comes next follows from the
 * conversation alone, so it can be forked, resumed and replayed like any other.
 */
export function demoAnswer(messages: readonly unknown[]): DemoAnswer {
	const prompts = messages.flatMap((message, at) => (isPrompt(message) ? [at] : []));
	const script = SCRIPTS[Math.min(Math.max(prompts.length, 1), SCRIPTS.length) - 1] ?? [];
	const answers = messages
		.slice(prompts.at(-1) ?? 0)
		.filter((message) => property(message, "role") === "assistant").length;
	const said = script[answers] ?? step("That is all I know: I am a script.");
	return said.text === PRUNED && !messages.some(hasStub) ? step(NOT_PRUNED) : said;
}

const read = (path: string): DemoCall => ({ name: "read", input: { path } });
const step = (text: string, ...calls: DemoCall[]): DemoAnswer => ({ text, calls });

const FIRST: readonly DemoAnswer[] = [
	step(
		"I am a scripted demo, not an AI: my words are fixed, but the tools are real and work on a sample project that was made for this session. The handbook says orders of 50.00 get a discount, the code seems to disagree. Where is it computed?",
		{ name: "kota_search", input: { query: "discountOf" } },
	),
	step(
		"Found it. I read the file and what it depends on.",
		read("src/discount.ts"),
		read("src/cart.ts"),
	),
	step(
		"Let me see what the handbook says. It is a PDF, so it comes in pages.",
		read("docs/handbook.pdf"),
	),
	step("The comparison has to include the limit itself.", {
		name: "edit",
		input: {
			path: "src/discount.ts",
			edits: [{ oldText: "total > DISCOUNT_FROM", newText: "total >= DISCOUNT_FROM" }],
		},
	}),
	step(
		"Now I read both files again. The read cache sends only what changed since I last saw them.",
		read("src/discount.ts"),
		read("src/cart.ts"),
	),
	step("Who else would notice?", {
		name: "kota_impact",
		input: { files_to_modify: ["src/discount.ts"] },
	}),
	step(
		"Done: orders of exactly 50.00 get the discount now.\n\nLook at the **Context** and **Cost** views: what I was shown, what was not sent twice, and what it would have cost otherwise. Then send me another message, whatever it says, and I will read a lot of logs, so that old output has to go.",
	),
];

const WORKSET =
	"One system is yours to start: say `/workset add src/discount.ts`, and every request of my next answer shows that file as it is then.";
const PRUNED = `Every 37th order was slow. Soon pi would have had to compact this conversation, so old output was replaced by stubs that lead back to the full text: see the stubs in the **Context** view.\n\n${WORKSET}`;
/** In place of {@link PRUNED} where the window had room, as after a first part that was cut off. */
const NOT_PRUNED = `Every 37th order was slow. Nothing had to go: the window still has room, see the **Context** view. When it is nearly full, stubs take the place of old output.\n\n${WORKSET}`;

const SECOND: readonly DemoAnswer[] = [
	step("Logs next: a day at a time.", read("logs/day-1.log"), read("logs/day-2.log")),
	step("Nothing unusual so far.", read("logs/day-3.log"), read("logs/day-4.log")),
	step("Two more.", read("logs/day-5.log"), read("logs/day-6.log")),
	step(
		"The last three again, side by side.",
		read("logs/day-4.log"),
		read("logs/day-5.log"),
		read("logs/day-6.log"),
	),
	step("Once more, to be sure.", read("logs/day-5.log"), read("logs/day-6.log")),
	step("And the code that writes them.", read("src/order.ts"), read("src/discount.ts")),
	step(PRUNED),
];

const LATER: readonly DemoAnswer[] = [
	step("Let me look at the code once more.", read("src/discount.ts"), read("src/order.ts")),
	step("Nothing has changed since I last looked. That is all I know: I am a script."),
];

const SCRIPTS = [FIRST, SECOND, LATER];

/** Something the user said: not the results of calls, and not what extensions put into the conversation. */
function isPrompt(message: unknown): boolean {
	if (property(message, "role") !== "user") return false;
	const content = property(message, "content");
	const blocks = Array.isArray(content) ? content : [{ type: "text", text: content }];
	return blocks.every((block) => property(block, "type") !== "tool_result") && !isInserted(blocks);
}

/** Whether pruning has put a stub into a result. */
function hasStub(message: unknown): boolean {
	const content = property(message, "content");
	if (!Array.isArray(content)) return false;
	return content.some((block) => textsOf(property(block, "content")).some(isStub));
}

function textsOf(content: unknown): string[] {
	const blocks = Array.isArray(content) ? content : [{ text: content }];
	return blocks.map((block) => String(property(block, "text")));
}

function isInserted(blocks: readonly unknown[]): boolean {
	return blocks.some((block) => String(property(block, "text")).startsWith("<working-file "));
}
