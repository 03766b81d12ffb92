import { expect, test } from "vitest";
import type { Data } from "../../../src/protocol/index.ts";
import { InProgress } from "../../../src/server/streams/stream.ts";
import { Streams } from "../../../src/server/streams/streams.ts";
import { command, finished, session } from "../../contracts/journal.ts";
import { type StartedJournal, startJournal } from "../journal/start-journal.ts";
import { recordingClient } from "./recording-client.ts";

const stream = { principal: "ann", sessionId: "s" };
const now = () => 10_000;
const end = { type: "agent_settled", interrupted: true };
const question = {
	type: "extension_ui_request",
	requestId: "q",
	method: "confirm",
	title: "?",
	message: "",
} as const;

test("a run that a crash cut off ends with the next number, before anything new, and only once", {
	tags: "slow",
}, async () => {
	let journal = await started(await startJournal());
	streamsOf(journal).emit(stream, { type: "agent_start" });
	streamsOf(journal).emit(stream, { type: "turn_start" });
	await journal.journal.flush();

	journal = await afterCrash(journal);
	const streams = streamsOf(journal);
	streams.emit(stream, { type: "session_info_changed", name: "new" });
	await streams.whenDrained();
	expect(await eventsIn(journal)).toMatchObject([
		{ seq: 1, event: { type: "agent_start" } },
		{ seq: 2, event: { type: "turn_start" } },
		{ seq: 3, event: end },
		{ seq: 4, event: { type: "session_info_changed" } },
	]);

	journal = await afterCrash(journal);
	expect(await eventsIn(journal)).toHaveLength(4);
});

test("a crash before the end is on disk leaves it to the next process, as the same event", {
	tags: "slow",
}, async () => {
	let journal = await started(await startJournal());
	streamsOf(journal).emit(stream, { type: "agent_start" });
	await journal.journal.flush();
	for (let deaths = 0; deaths < 3; deaths++) {
		journal = await afterCrash(journal);
		expect(journal.journal.recovered.cutOff).toEqual([stream]);
		journal.threads.allowed = false;
		await journal.killThread(); // so nothing that is emitted now gets there
		streamsOf(journal);
	}
	journal = await afterCrash(journal);
	await streamsOf(journal).whenDrained();
	expect(await eventsIn(journal)).toMatchObject([{ seq: 1 }, { seq: 2, event: end }]);
});

test.each<[string, "an end" | "no end", Data<"SessionEvent">[]]>([
	["nothing but a name", "no end", [{ type: "session_info_changed", name: "n" }]],
	["a run that has settled", "no end", [{ type: "agent_start" }, { type: "agent_settled" }]],
	["a run that may try again", "an end", [{ type: "agent_start" }, { type: "agent_end" }]],
	["a compaction", "an end", [{ type: "compaction_start", reason: "manual" }]],
	[
		"a compaction in the middle of a run",
		"an end",
		[
			{ type: "agent_start" },
			{ type: "compaction_start", reason: "threshold" },
			{ type: "compaction_end", reason: "threshold", aborted: false, willRetry: false },
		],
	],
	["a question", "an end", [question]],
	[
		"a question that was answered",
		"no end",
		[question, { type: "extension_ui_closed", requestId: "q", reason: "answered" }],
	],
	[
		"something that was only shown",
		"no end",
		[{ type: "extension_ui_request", requestId: "n", method: "notify", message: "hello" }],
	],
])("after %s a crash needs %s", (_name, needed, events) => {
	const inProgress = new InProgress();
	const is = events.map((event) => inProgress.update(event)).at(-1);
	expect(is).toBe(needed === "an end");
});

test("a server that stops in good order but leaves a run behind ends it at the next start", {
	tags: "slow",
}, async () => {
	const before = await started(await startJournal());
	streamsOf(before).emit(stream, { type: "agent_start" });
	await before.journal.close();
	const after = await startJournal({}, before.dataDir);
	await streamsOf(after).whenDrained();
	expect(await eventsIn(after)).toMatchObject([{ seq: 1 }, { seq: 2, event: end }]);
});

function streamsOf({ journal }: StartedJournal) {
	const known = streamsBy.get(journal);
	if (known) return known;
	const made = new Streams({ journal, now, cutOff: journal.recovered.cutOff });
	streamsBy.set(journal, made);
	return made;
}

const streamsBy = new WeakMap<object, Streams>();

async function started(made: StartedJournal): Promise<StartedJournal> {
	await made.journal.finish(finished(command("create"), { session: session("s") }));
	return made;
}

async function afterCrash(before: StartedJournal): Promise<StartedJournal> {
	before.threads.allowed = false;
	await before.killThread();
	return startJournal({}, before.dataDir);
}

/** What a client gets that asks for everything. */
async function eventsIn(journal: StartedJournal) {
	const client = recordingClient();
	const streams = streamsOf(journal);
	await streams.subscribe(client, stream, 0);
	await streams.whenDrained();
	return client.messages.map(({ value }) => value);
}
