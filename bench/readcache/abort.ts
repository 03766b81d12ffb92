import { setTimeout } from "node:timers/promises";
import { type Line, median, options, rounded, sized, timed } from "../support.ts";
import { readInRanges } from "./large-files.ts";
import { openReadSession } from "./read-session.ts";
import { createRandom, fileOf } from "./sample-text.ts";

const LINE_COUNT = 12_000;
const delays = sized([1, 2, 4, 8, 12, 16, 20, 25, 30], [1]);
const rounds = sized(4, 2);

/** How long a call continues after Escape. The file has no unique lines, which makes its diff the slowest possible. */
export async function measureAbort(): Promise<Line[]> {
	const session = await openReadSession();
	const random = createRandom(LINE_COUNT);
	const letters = () => Array.from({ length: LINE_COUNT }, () => (random() < 0.5 ? "a" : "b"));
	const path = "src/letters.txt";
	session.write(path, fileOf(letters()));
	await readInRanges(session, path, LINE_COUNT + 1, 2000);
	session.write(path, fileOf(letters()));

	const whole = await timed(() => session.read(session.ask({ path })));
	const late: number[] = [];
	let served = 0;
	for (const delay of Array.from({ length: rounds }, () => delays).flat()) {
		const controller = new AbortController();
		const call = session.ask({ path });
		const start = performance.now();
		const ended = session.read(call, controller.signal).then(
			() => "served",
			(error: Error) => error.message,
		);
		await setTimeout(delay);
		controller.abort();
		const outcome = await ended;
		// From the moment the abort was due: a blocked event loop delays the timer, and that counts.
		const ms = performance.now() - start - delay;
		if (outcome === "Operation aborted") late.push(ms);
		else served++;
		await setTimeout(5);
	}
	await session.close();
	if (late.length === 0 && !options.quick) throw new Error("every read ended before its abort");
	return [
		{
			case: "abort during a diff of 12,000 lines: until it is rejected, slowest",
			unit: "ms",
			value: Math.max(0, ...late),
			target: 50,
			baseline: { name: "the whole read", value: whole },
			from: {
				...(late.length > 0 && { "median ms": rounded(median(late)) }),
				"over 50 ms": late.filter((ms) => ms > 50).length,
				aborted: late.length,
				"served before the abort": served,
			},
		},
	];
}
