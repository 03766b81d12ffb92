import { describe, expect, test } from "vitest";
import {
	findMisses,
	knownModel,
	type ReplayMissCause,
	rebuildRequests,
} from "../../src/economy/replay/index.ts";
import type { ImportedSession } from "../../src/importers/index.ts";
import { ClaudeRecorder, text, tool } from "./claude-recorder.ts";

/** The provider's words for our causes. It has none for what a file does not show. */
const WORDS: Readonly<Record<Exclude<ReplayMissCause, "provider">, string>> = {
	model: "model_changed",
	tools: "tools_changed",
	system: "system_changed",
	messages: "messages_changed",
	compaction: "messages_changed",
	branch: "messages_changed",
	edit: "messages_changed",
	thinking: "messages_changed",
	cleared: "messages_changed",
	expired: "previous_message_not_found",
};

const SESSIONS = 40;
const TURNS = 25;

type Random = (below: number) => number;
const EVENTS: readonly ((recorder: ClaudeRecorder, random: Random) => void)[] = [
	(one) => one.tools.push(tool(`Tool${one.tools.length}`)),
	(one) => void one.tools.pop(),
	(one, random) => (one.system = [text(`You are agent ${random(1e6)}.`), ...one.system.slice(1)]),
	(one, random) => (one.model = MODELS[random(MODELS.length)] as string),
	(one, random) => (one.effort = EFFORTS[random(EFFORTS.length)] as string),
	(one, random) => one.pause(6 + random(90)),
	(one) => one.compact(),
	(one, random) => one.rewind(1 + random(3)),
	(one) => one.clearResults(),
	(one) => one.delegate(),
];
const MODELS = ["claude-opus-4-5", "claude-sonnet-4-5"];
const EFFORTS = ["low", "medium", "high"];

/** A turn in three has an event before it; one in `again` of these has another one at once. */
function generate(seed: number, again: number): ClaudeRecorder {
	const random = seeded(seed);
	const recorder = new ClaudeRecorder();
	for (let turn = 0; turn < TURNS; turn++) {
		let isMore = turn > 1 && random(3) === 0;
		while (isMore) {
			EVENTS[random(EVENTS.length)]?.(recorder, random);
			isMore = random(again) === 0;
		}
		if (random(2) === 0) recorder.call(`line of ${turn} `.repeat(200 + random(2_000)));
		else recorder.ask(`question ${turn} `.repeat(1 + random(800)));
	}
	return recorder;
}

interface Agreement {
	agreed: number;
	unknown: number;
	differed: string[];
	/** Misses that only one of the two sees. */
	unmatched: number;
}

async function compare(
	recorders: readonly ClaudeRecorder[],
	isRecorded: boolean,
): Promise<Agreement> {
	const found: Agreement = { agreed: 0, unknown: 0, differed: [], unmatched: 0 };
	for (const recorder of recorders) {
		const session: ImportedSession = await recorder.read({ isRecorded });
		const misses = findMisses(rebuildRequests(session, knownModel));
		const ours = new Map(misses.map(({ request, cause }) => [request - 1, cause]));
		for (const [request, reason] of recorder.reasons) {
			const cause = ours.get(request);
			if (cause === undefined) found.unmatched++;
			else if (cause === "provider") found.unknown++;
			else if (WORDS[cause] === reason) found.agreed++;
			else found.differed.push(`${cause}, not ${reason}`);
		}
		found.unmatched += [...ours.keys()].filter((request) => !recorder.reasons.has(request)).length;
	}
	return found;
}

function countsOf(names: readonly string[]): Record<string, number> {
	const groups = Object.entries(Object.groupBy(names, (name) => name));
	return Object.fromEntries(groups.map(([name, all]) => [name, all?.length ?? 0]));
}

function seeded(seed: number): Random {
	let state = seed + 1;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}

/**
 * If two events coincide, both may be true and the provider names one. A rebuilt request does not show its tools and system
 * prompt, so the bound of the last case only shows that the agreement has not become worse.
 */
describe("the cause of a miss in a transcript of Claude Code", { tags: "slow" }, () => {
	test.each([
		{ requests: "recorded", events: "alone", again: 12, least: 0.9 },
		{ requests: "rebuilt", events: "alone", again: 12, least: 0.9 },
		{ requests: "recorded", events: "coinciding", again: 3, least: 0.9 },
		{ requests: "rebuilt", events: "coinciding", again: 3, least: 0.8 },
	])(
		"agrees with the provider's, or is unknown: $requests requests, events mostly $events",
		async ({ requests, events, again, least }) => {
			const recorders = Array.from({ length: SESSIONS }, (_, seed) => generate(seed, again));
			const isRecorded = requests === "recorded";
			const { agreed, unknown, differed, unmatched } = await compare(recorders, isRecorded);
			const all = agreed + unknown + differed.length;
			const share = (count: number) => `${((100 * count) / all).toFixed(1)} %`;
			const shares = `${share(agreed)} agree, ${share(unknown)} unknown, ${share(differed.length)} differ`;
			console.log(`${requests}, ${events}: ${all} misses, ${shares}`, countsOf(differed));
			expect(all).toBeGreaterThan(100);
			expect(unmatched).toBe(0);
			expect((agreed + unknown) / all).toBeGreaterThanOrEqual(least);
		},
	);
});
