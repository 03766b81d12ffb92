import { setTimeout } from "node:timers/promises";
import { compare, type Line } from "../support.ts";
import { expectMode, openReadSession, type ReadAnswer, type ReadSession } from "./read-session.ts";
import { createRandom, fileOf, replaced, sourceLines } from "./sample-text.ts";

/** Sizes with the targets for each kind of answer, as factors over pi's own read. */
const sizes = [
	{ lines: 50, rounds: 300, edits: 1, first: 1.2, unchanged: 0.7, changed: 1.6 },
	{ lines: 1000, rounds: 200, edits: 5, first: 1.2, unchanged: 0.7, changed: 1.6 },
	{ lines: 2000, rounds: 120, first: 1.25, unchanged: 0.7 },
	{ lines: 12_000, rounds: 60, first: 1.25, unchanged: 0.7 },
];

/** A file read for the first time, again, and after a change. */
export async function measureSingleReads(): Promise<Line[]> {
	const results: Line[] = [];
	for (const { lines, rounds, edits, ...targets } of sizes) {
		const size = `${lines.toLocaleString("en")} lines`;
		const first = await firstReads(lines, rounds, "untimed");
		results.push({ case: `${size}: first read`, ...first, target: targets.first });
		const withStore = await firstReads(lines, rounds, "timed");
		results.push({ case: `${size}: first read until it is stored`, ...withStore });
		const unchanged = await unchangedReads(lines, rounds);
		results.push({ case: `${size}: unchanged`, ...unchanged, target: targets.unchanged });
		if (edits === undefined || targets.changed === undefined) continue;
		const changed = await changedReads(lines, rounds, edits);
		results.push({ case: `${size}: changed, as a diff`, ...changed, target: targets.changed });
	}
	return results;
}

/** Every round has a file of its own. `storing` says whether the write to the store is part of the time. */
async function firstReads(lineCount: number, rounds: number, storing: "timed" | "untimed") {
	const session = await openReadSession();
	const random = createRandom(lineCount);
	const [path, call] = [pathOf, callOf(session)];
	let answer: ReadAnswer;
	const result = await compare({
		rounds,
		prepare(round) {
			session.write(path(round), fileOf(sourceLines(lineCount, random)));
			call.prepare(path(round));
		},
		baseline: (round) => session.plainRead({ path: path(round) }),
		async candidate() {
			answer = await call.run();
			if (storing === "timed") await session.stored(answer);
		},
		async settle(who) {
			if (who === "baseline") return;
			expectMode(answer, "full");
			session.record(call.pending(), answer);
			await session.stored(answer);
			await setTimeout(1);
		},
	});
	await session.close();
	return asRatio(result);
}

/** A few files in turn, each in view. */
async function unchangedReads(lineCount: number, rounds: number) {
	const session = await openReadSession();
	const random = createRandom(lineCount);
	const files = 5;
	for (let i = 0; i < files; i++) {
		session.write(pathOf(i), fileOf(sourceLines(lineCount, random)));
		await session.readAndRecord({ path: pathOf(i) });
	}
	const call = callOf(session);
	let answer: ReadAnswer;
	const result = await compare({
		rounds,
		prepare: (round) => call.prepare(pathOf(round % files)),
		baseline: (round) => session.plainRead({ path: pathOf(round % files) }),
		async candidate() {
			answer = await call.run();
		},
		settle(who) {
			if (who === "baseline") return;
			// Of a file that pi truncates, only the lines shown are unchanged.
			expectMode(answer, lineCount <= 1000 ? "unchanged" : "unchanged_range");
			session.record(call.pending(), answer);
		},
	});
	await session.close();
	return asRatio(result);
}

/** Every round has a file of its own that was read once and then edited. */
async function changedReads(lineCount: number, rounds: number, edits: number) {
	const session = await openReadSession();
	const random = createRandom(lineCount);
	const call = callOf(session);
	let answer: ReadAnswer;
	const result = await compare({
		rounds,
		async prepare(round) {
			const lines = sourceLines(lineCount, random);
			session.write(pathOf(round), fileOf(lines));
			await session.readAndRecord({ path: pathOf(round) });
			session.write(pathOf(round), fileOf(replaced(lines, edits)));
			await setTimeout(1);
			call.prepare(pathOf(round));
		},
		baseline: (round) => session.plainRead({ path: pathOf(round) }),
		async candidate() {
			answer = await call.run();
		},
		async settle(who) {
			if (who === "baseline") return;
			expectMode(answer, "diff");
			session.record(call.pending(), answer);
			await session.stored(answer);
		},
	});
	await session.close();
	return asRatio(result);
}

function pathOf(round: number): string {
	return `src/module-${round}.ts`;
}

/** One call at a time: made outside the timed part, run inside. */
function callOf(session: ReadSession) {
	let pending: ReturnType<ReadSession["ask"]> | undefined;
	const current = () => {
		if (!pending) throw new Error("No call was prepared");
		return pending;
	};
	return {
		prepare(path: string) {
			pending = session.ask({ path });
		},
		pending: current,
		run: () => session.read(current()),
	};
}

function asRatio({ ratio, baselineMs, candidateMs, rounds }: Awaited<ReturnType<typeof compare>>) {
	const from = { "pi ms": baselineMs, "ours ms": candidateMs, rounds };
	return { unit: "× pi's read", value: ratio, digits: 2, from };
}
