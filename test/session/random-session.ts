import type { SessionEntry, SessionManager } from "@earendil-works/pi-coding-agent";
import { fc } from "../support/property.ts";
import { appendCalls, appendResult, newSession, PICTURE } from "./sessions.ts";

/** One thing that happens to a session. Numbers choose among what there is at the time. */
export type Step =
	| { do: "calls"; ids: string[]; order: number }
	| { do: "result"; id: string; content: Content }
	| { do: "user" | "customMessage" | "label" | "model" | "reset" | "fork" | "new" | "ask" }
	| { do: "custom"; data: number }
	| { do: "edit"; target: number; as: Content | "nothing" | "original" }
	| { do: "compact"; keep: number | "nothing" | "stranger" }
	| { do: "jump"; target: number; summary: boolean };

type Content = "text" | "otherText" | "twoTexts" | "empty" | "picture" | "pictureAndText";

const content = fc.constantFrom<Content>(
	"text",
	"otherText",
	"twoTexts",
	"empty",
	"picture",
	"pictureAndText",
);

/** Few ids, so that some calls share theirs. */
const callId = fc.constantFrom("c1", "c2", "c3", "c4", "c5", "c6");

const plainStep: fc.Arbitrary<Step> = fc.oneof(
	{
		weight: 6,
		arbitrary: fc.record({
			do: fc.constant("calls" as const),
			ids: fc.array(callId, { minLength: 1, maxLength: 4 }),
			order: fc.nat(),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({ do: fc.constant("result" as const), id: callId, content }),
	},
	{
		weight: 3,
		arbitrary: fc.record({
			do: fc.constantFrom("user" as const, "customMessage" as const, "label" as const),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constantFrom("model" as const, "reset" as const, "fork" as const, "new" as const),
		}),
	},
	{ weight: 6, arbitrary: fc.record({ do: fc.constant("ask" as const) }) },
	{
		weight: 2,
		arbitrary: fc.record({ do: fc.constant("custom" as const), data: fc.nat() }),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("compact" as const),
			keep: fc.oneof(fc.nat(), fc.constantFrom("nothing" as const, "stranger" as const)),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			do: fc.constant("jump" as const),
			target: fc.nat(),
			summary: fc.boolean(),
		}),
	},
);

const editStep: fc.Arbitrary<Step> = fc.record({
	do: fc.constant("edit" as const),
	target: fc.nat(),
	as: fc.oneof(content, fc.constantFrom("nothing" as const, "original" as const)),
});

/** Everything that can happen to a session, in any order. */
export const anyHistory = fc.array(
	fc.oneof({ weight: 5, arbitrary: plainStep }, { weight: 1, arbitrary: editStep }),
	{ maxLength: 60, size: "max" },
);

/** As `anyHistory`, on a host that knows no context edits. */
export const historyWithoutEdits = fc.array(plainStep, { maxLength: 60, size: "max" });

/** Plays the steps on a session of pi; `ask` is called wherever somebody asks, and at the end. */
export function play(steps: Step[], ask: (session: SessionManager) => void): void {
	const session = newSession();
	let texts = 0;
	const make = (kind: Content) => contentOf(kind, () => `text ${++texts}`);
	for (const step of steps) {
		if (step.do === "ask") ask(session);
		else happen(session, step, make);
	}
	ask(session);
}

type Make = (kind: Content) => ReturnType<typeof contentOf>;

function happen(session: SessionManager, step: Step, make: Make): void {
	switch (step.do) {
		case "calls": {
			const { ids, order } = step;
			appendCalls(session, ...ids.map((id, index) => ({ id, args: { path: `${id}-${index}` } })));
			const results = order % 3 === 0 ? ids.toReversed() : ids.slice(order % 2);
			for (const id of results) appendResult(session, id, make("text"), { details: { order } });
			break;
		}
		case "result":
			appendResult(session, step.id, make(step.content), { isError: step.content === "empty" });
			break;
		case "user":
			session.appendMessage({ role: "user", content: "go on", timestamp: Date.now() });
			break;
		case "customMessage":
			session.appendCustomMessageEntry("other", "a note", true);
			break;
		case "custom":
			session.appendCustomEntry("other", { n: step.data });
			break;
		case "label":
			appendLabel(session);
			break;
		case "model":
			session.appendModelChange("faux", "faux-1");
			break;
		case "edit":
			appendEdit(session, step, make);
			break;
		case "compact":
			session.appendCompaction("what was before", firstKept(session, step.keep), 1000);
			break;
		case "jump":
			jump(session, step);
			break;
		case "reset":
			session.resetLeaf();
			break;
		case "fork":
			fork(session);
			break;
		case "new":
			session.newSession();
			break;
	}
}

function contentOf(kind: Content, text: () => string) {
	const block = () => ({ type: "text" as const, text: text() });
	switch (kind) {
		case "twoTexts":
			return [block(), block()];
		case "empty":
			return [];
		case "picture":
			return PICTURE;
		case "pictureAndText":
			return [block(), ...PICTURE];
		default:
			return [block()];
	}
}

function appendLabel(session: SessionManager): void {
	const leaf = session.getLeafId();
	if (leaf) session.appendLabelChange(leaf, "here");
}

function appendEdit(session: SessionManager, step: Step & { do: "edit" }, make: Make): void {
	const target = choose(session.getBranch().filter(isEditable), step.target);
	if (!target) return;
	if (step.as === "nothing") session.appendContextEdit(target.id, null);
	else {
		const content = step.as === "original" ? originalContent(target) : make(step.as);
		session.appendContextEdit(target.id, { content });
	}
}

function originalContent(entry: SessionEntry) {
	if (entry.type === "custom_message") return entry.content;
	if (entry.type === "message" && "content" in entry.message) return entry.message.content;
	throw new Error(`${entry.type} has no content`);
}

function isEditable(entry: SessionEntry): boolean {
	if (entry.type === "custom_message") return true;
	return (
		entry.type === "message" && ["user", "assistant", "toolResult"].includes(entry.message.role)
	);
}

function firstKept(session: SessionManager, keep: (Step & { do: "compact" })["keep"]) {
	if (keep === "nothing") return null;
	if (keep === "stranger") return "ffffffff";
	return choose(session.getBranch(), keep)?.id ?? null;
}

function jump(session: SessionManager, { target, summary }: Step & { do: "jump" }): void {
	const entry = choose(session.getEntries(), target);
	if (!entry) return;
	if (summary) session.branchWithSummary(entry.id, "the way not taken");
	else session.branch(entry.id);
}

function fork(session: SessionManager): void {
	const leaf = session.getLeafId();
	if (leaf) session.createBranchedSession(leaf);
}

function choose<T>(list: T[], number: number): T | undefined {
	return list[number % list.length];
}
