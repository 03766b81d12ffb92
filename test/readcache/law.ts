/**
 * The law of the read cache: every line that a marker or a diff stands for is present, current and newest in the
 * request the model was given. Random sessions are played on pi's own session manager, real files and a real store,
 * and every answer is judged by an oracle that knows only texts. Our own pruning takes nothing from under an answer
 * that the model has yet to answer or the user has pinned.
 */
import { tempDir } from "../support/temp.ts";
import { createGame } from "./law/game.ts";
import type { AnswerKind } from "./law/oracle.ts";
import { createRandom } from "./law/random.ts";

/** What a run did. */
export interface LawReport {
	seed: number;
	steps: number;
	reads: number;
	answers: Record<AnswerKind, number>;
	/** Results that our own pruning replaced. */
	pruned: number;
	/** Reads that paging answered; they are not among `reads`. */
	paged: number;
	/** Markers and diffs that stood on text which a pruning had to leave. */
	guarded: number;
	/** Prunings with thinking in view that is bound to the text before it. */
	bound: number;
	/** Results that were shortened at birth. */
	shortened: number;
	/** References whose lines a pruning had to leave. */
	backed: number;
	/** Results with references in requests. */
	references: number;
	/** Requests that show the lines of references, because what these mean is gone. */
	restored: number;
	/** Files that a note after a compaction named. */
	noted: number;
	seconds: number;
}

/** Plays `steps` random steps in as many sessions as that takes. Throws at the first answer that breaks the law. */
export async function runLaw({ seed, steps }: { seed: number; steps: number }): Promise<LawReport> {
	const started = performance.now();
	const root = tempDir("law");
	const answers: LawReport["answers"] = {
		plain: 0,
		error: 0,
		opaque: 0,
		unchanged: 0,
		"unchanged range": 0,
		"unchanged range, changed elsewhere": 0,
		"unchanged range, cut": 0,
		diff: 0,
	};
	const counts = {
		pruned: 0,
		paged: 0,
		guarded: 0,
		bound: 0,
		shortened: 0,
		backed: 0,
		references: 0,
		restored: 0,
		noted: 0,
	};
	let done = 0;
	for (let number = 0; done < steps; number++) {
		// Each session has its own choices: one that fails can be played without those before it.
		const random = createRandom(Math.imul(seed, 0x9e3779b1) + number);
		const game = createGame({ root, number, random, answers, counts });
		const length = Math.min(random.between(40, 160), steps - done);
		for (let step = 0; step < length; step++) {
			try {
				await game.step();
			} catch (error) {
				const where = `seed ${seed}, session ${number}, step ${done + step}`;
				const message = `${(error as Error).message}\n${where}\n${game.trace().join("\n")}`;
				throw new Error(message, { cause: error });
			}
		}
		await game.end();
		done += length;
	}
	const reads = Object.values(answers).reduce((sum, count) => sum + count, 0);
	const seconds = (performance.now() - started) / 1000;
	return { seed, steps, reads, answers, ...counts, seconds };
}

/** Several runs as one; the seed is that of the first. */
export function addUp(reports: readonly LawReport[]): LawReport {
	const [first, ...rest] = reports;
	if (!first) throw new Error("no run to report on");
	return rest.reduce((sum, next) => {
		const kinds = Object.keys(sum.answers) as AnswerKind[];
		const added = kinds.map((kind) => [kind, sum.answers[kind] + next.answers[kind]]);
		return {
			seed: sum.seed,
			steps: sum.steps + next.steps,
			reads: sum.reads + next.reads,
			answers: Object.fromEntries(added) as LawReport["answers"],
			pruned: sum.pruned + next.pruned,
			paged: sum.paged + next.paged,
			guarded: sum.guarded + next.guarded,
			bound: sum.bound + next.bound,
			shortened: sum.shortened + next.shortened,
			backed: sum.backed + next.backed,
			references: sum.references + next.references,
			restored: sum.restored + next.restored,
			noted: sum.noted + next.noted,
			seconds: sum.seconds + next.seconds,
		};
	}, first);
}

/** Which part of the reads was answered with a full marker, with a marker for a range, and with a diff. */
export function sharesOf({ reads, answers }: LawReport) {
	const ranges =
		answers["unchanged range"] +
		answers["unchanged range, changed elsewhere"] +
		answers["unchanged range, cut"];
	return {
		unchanged: answers.unchanged / reads,
		range: ranges / reads,
		diff: answers.diff / reads,
	};
}
