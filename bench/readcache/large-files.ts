import { setTimeout } from "node:timers/promises";
import { type Line, median, rounded, sized, timed } from "../support.ts";
import { expectMode, openReadSession, type ReadAnswer, type ReadSession } from "./read-session.ts";
import { createRandom, fileOf, replaced, sourceLines } from "./sample-text.ts";

const LINE_COUNT = 12_000;
const rounds = sized(15, 1);
const random = createRandom(LINE_COUNT);

/** The worst cost of a long file: a small change and a change of every line. */
export async function measureLargeFiles(): Promise<Line[]> {
	return [
		await changedReads("12,000 lines known through ranges, 7 of them changed", {
			change: (lines) => replaced(lines, 7),
			expected: "diff",
			target: 40,
		}),
		await changedReads("12,000 lines known through ranges, all re-indented", {
			change: (lines) => lines.map((line) => `  ${line}`),
			expected: "full_fallback",
			target: 60,
		}),
	];
}

interface Case {
	change: (lines: string[]) => string[];
	expected: string;
	target: number;
}

/** Every round has a file of its own, read range by range, changed, and read as a whole. */
async function changedReads(title: string, { change, expected, target }: Case): Promise<Line> {
	const session = await openReadSession();
	const times = { ours: [] as number[], pis: [] as number[] };
	for (let round = 0; round < rounds; round++) {
		const path = `src/large-${round}.ts`;
		const lines = sourceLines(LINE_COUNT, random);
		session.write(path, fileOf(lines));
		await readInRanges(session, path, LINE_COUNT + 1);
		session.write(path, fileOf(change(lines)));
		await setTimeout(1);

		times.pis.push(await timed(() => session.plainRead({ path })));
		const call = session.ask({ path });
		let answer: ReadAnswer = { content: [] };
		const read = async () => {
			answer = await session.read(call);
		};
		times.ours.push(await timed(read));
		expectMode(answer, expected);
		session.record(call, answer);
		await session.stored(answer);
	}
	await session.close();
	return {
		case: title,
		unit: "ms",
		value: median(times.ours),
		target,
		baseline: { name: "pi's read", value: median(times.pis) },
		from: {
			"first ms": rounded(times.ours[0] ?? 0),
			"slowest ms": rounded(Math.max(...times.ours)),
			rounds,
		},
	};
}

/** Reads a file like a model that uses offset and limit. */
export async function readInRanges(
	session: ReadSession,
	path: string,
	totalLines: number,
	limit = 1000,
): Promise<void> {
	for (let offset = 1; offset <= totalLines; offset += limit) {
		await session.readAndRecord({ path, offset, limit });
	}
}
