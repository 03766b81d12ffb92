import { compare, type Line, sized, timed } from "../support.ts";
import {
	expectMode,
	openReadSession,
	type PendingRead,
	type ReadAnswer,
	type ReadSession,
} from "./read-session.ts";
import { createRandom, fileOf, replaced, sourceLines } from "./sample-text.ts";

const entryCount = sized(10_000, 200);
const fileCount = sized(200, 10);
const LINES_PER_FILE = 60;
const ROUNDS = 120;

/** An unchanged read late in a long session, where the observed request is as long as the session. */
export async function measureLongSession(): Promise<Line[]> {
	const session = await openReadSession();
	await fill(session);
	let call: PendingRead | undefined;
	let answer: ReadAnswer = { content: [] };
	const pathOf = (round: number) => `src/file-${round % fileCount}.ts`;
	const result = await compare({
		rounds: ROUNDS,
		async prepare(round) {
			call = await session.ask({ path: pathOf(round) });
		},
		baseline: (round) => session.plainRead({ path: pathOf(round) }),
		async candidate() {
			answer = await session.read(call as PendingRead);
		},
		settle(who) {
			if (who === "baseline") return;
			expectMode(answer, "unchanged");
			session.record(call as PendingRead, answer);
		},
	});
	const afterJump = await firstAfterJump(session);
	await session.close();
	const { ratio, baselineMs, candidateMs } = result;
	return [
		{
			case: "unchanged in a session of 10,000 entries",
			unit: "× pi's read",
			value: ratio,
			digits: 2,
			target: 1.3,
			from: { "pi ms": baselineMs, "ours ms": candidateMs, rounds: result.rounds },
		},
		{
			case: "10,000 entries: first read after going back in the tree",
			unit: "ms",
			value: afterJump,
			baseline: { name: "pi's read", value: baselineMs },
		},
	];
}

/** Half of the entries are calls, half results; every second result is a read, every tenth read of a changed file. */
async function fill(session: ReadSession): Promise<void> {
	const random = createRandom(entryCount);
	const files = Array.from({ length: fileCount }, () => sourceLines(LINES_PER_FILE, random));
	for (const [i, lines] of files.entries()) session.write(`src/file-${i}.ts`, fileOf(lines));
	for (let step = 0; step < entryCount / 4; step++) {
		const i = Math.floor(random() * fileCount);
		const path = `src/file-${i}.ts`;
		if (step % 10 === 9) {
			files[i] = replaced(files[i] as string[], 1 + Math.floor(random() * 3));
			session.write(path, fileOf(files[i]));
		}
		const call = session.ask({ path }, { observe: false });
		const answer = await session.read(call);
		session.record(call, answer);
		await session.stored(answer);
		await session.runOther("bash", { command: `step ${step}` }, "some output\n".repeat(20));
	}
	for (let i = 0; i < fileCount; i++) {
		const call = session.ask({ path: `src/file-${i}.ts` }, { observe: false });
		session.record(call, await session.read(call));
	}
}

/** The worst case: the branch has changed, and all knowledge is rebuilt. */
async function firstAfterJump(session: ReadSession): Promise<number> {
	const { manager } = session;
	const branch = manager.getBranch();
	manager.branch(branch[branch.length - 100]?.id as string);
	const call = session.ask({ path: "src/file-1.ts" });
	return await timed(() => session.read(call));
}
