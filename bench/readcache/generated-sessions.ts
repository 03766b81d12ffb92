import { unchangedMarker } from "../../src/readcache/metadata.ts";
import { type Line, median, rounded, sized } from "../support.ts";
import { modeOf, openReadSession, type ReadAnswer, type ReadArgs } from "./read-session.ts";
import { createRandom, edited, fileOf, type Random, sourceLines } from "./sample-text.ts";

const sessionCount = sized(40, 1);
const readsPerSession = sized(150, 30);
const fileCount = sized(40, 8);
/** Bytes of plain output after which the session is compacted (about 90,000 tokens), and the bytes that it keeps. */
const COMPACT_AFTER_BYTES = 360_000;
const KEPT_BYTES = 80_000;

/**
 * Typical sessions of agents: files are read, edited, and read again in whole or in part. Every read is answered three
 * times: by pi, by us, and by an exact-scope cache, which knows only whether the same call was answered with the same
 * text before, and that answer is still in the context.
 */
export async function measureGeneratedSessions(): Promise<Line[]> {
	const totals = newCounts();
	const saved: number[] = [];
	for (let seed = 1; seed <= sessionCount; seed++) {
		const counts = await runSession(createRandom(seed));
		saved.push(percent(counts.plainBytes - counts.ourBytes, counts.plainBytes));
		addTo(totals, counts);
	}
	const { reads, rereads, identical, plainBytes, exactBytes, ourBytes } = totals;
	const megabytes = (bytes: number) => rounded(bytes / 1024 / 1024, 2);
	return [
		{
			case: "replay: bytes served, of pi's own",
			unit: "%",
			value: share(ourBytes, plainBytes),
			from: {
				"pi MB": megabytes(plainBytes),
				"ours MB": megabytes(ourBytes),
				"saved % in the median session": median(saved),
				"least saved %": Math.min(...saved),
				"most saved %": Math.max(...saved),
			},
		},
		{
			case: "replay: bytes served by an exact-scope cache, of pi's own",
			unit: "%",
			value: share(exactBytes, plainBytes),
			from: { "exact-scope MB": megabytes(exactBytes) },
		},
		{
			case: "replay: bytes served, of an exact-scope cache's",
			unit: "%",
			value: share(ourBytes, exactBytes),
			from: {
				sessions: sessionCount,
				reads,
				"re-reads %": percent(rereads, reads),
				"byte-identical calls %": percent(identical, reads),
				...Object.fromEntries(
					Object.entries(totals.byMode).map(([mode, n]) => [`${mode} %`, percent(n, reads)]),
				),
			},
		},
	];
}

interface Counts {
	reads: number;
	/** Reads of a file that was read before in the session. */
	rereads: number;
	/** Reads that an earlier call with the same arguments answered with the same text. */
	identical: number;
	plainBytes: number;
	exactBytes: number;
	ourBytes: number;
	byMode: Record<string, number>;
}

function newCounts(): Counts {
	return {
		reads: 0,
		rereads: 0,
		identical: 0,
		plainBytes: 0,
		exactBytes: 0,
		ourBytes: 0,
		byMode: {},
	};
}

function addTo(totals: Counts, { byMode, ...figures }: Counts): void {
	for (const [key, value] of Object.entries(figures)) totals[key as keyof typeof figures] += value;
	for (const [mode, n] of Object.entries(byMode)) {
		totals.byMode[mode] = (totals.byMode[mode] ?? 0) + n;
	}
}

async function runSession(random: Random): Promise<Counts> {
	const session = await openReadSession();
	const project = createProject(random);
	for (const file of project.files) session.write(file.path, fileOf(file.lines));
	const context = createContextWindow();
	const exact = createExactScopeCache(context);
	const counts = newCounts();
	const known = new Set<string>();

	for (const action of actionsOf(project, random)) {
		if (action.kind === "edit") {
			const { path, text, args } = action;
			const save = () => session.write(path, text);
			const id = await session.runOther("edit", args, `Successfully edited ${path}.`, save);
			context.add(id, JSON.stringify(args).length);
		} else if (action.kind === "outside") {
			session.write(action.path, action.text);
		} else if (action.kind === "other") {
			const output = "some output of a command\n".repeat(action.lines);
			const id = await session.runOther("bash", { command: "npm test" }, output);
			context.add(id, output.length);
		} else {
			const plain = textIn(await session.plainRead(action.args));
			const call = session.ask(action.args);
			const answer = await session.read(call);
			const id = session.record(call, answer);
			await session.stored(answer);
			// The same compactions for all three, although smaller answers would delay them.
			context.add(id, Buffer.byteLength(plain));
			const exactAnswer = exact.serve(id, action.args, plain);
			counts.reads++;
			if (known.has(action.args.path)) counts.rereads++;
			known.add(action.args.path);
			if (exactAnswer.seenBefore) counts.identical++;
			counts.plainBytes += Buffer.byteLength(plain);
			counts.exactBytes += Buffer.byteLength(exactAnswer.text);
			counts.ourBytes += Buffer.byteLength(textIn(answer));
			const mode = modeOf(answer);
			counts.byMode[mode] = (counts.byMode[mode] ?? 0) + 1;
		}
		const firstKept = context.compaction();
		if (firstKept) session.manager.appendCompaction("what happened so far", firstKept, 90_000);
		if (counts.reads === readsPerSession) break;
	}
	await session.close();
	return counts;
}

interface ProjectFile {
	path: string;
	lines: string[];
	/** The line that is worked on. */
	focus: number;
	lastRange: { offset: number; limit: number } | undefined;
}

interface Project {
	files: ProjectFile[];
}

/** Files of 20 to 3,000 lines, 160 in the median, as source code has them. */
function createProject(random: Random): Project {
	const normal = () => Array.from({ length: 12 }, random).reduce((a, b) => a + b) - 6;
	const files = Array.from({ length: fileCount }, (_, i) => {
		const count = Math.round(Math.min(3000, Math.max(20, Math.exp(5.1 + 0.9 * normal()))));
		const lines = sourceLines(count, random);
		return { path: `src/module-${i}.ts`, lines, focus: 1, lastRange: undefined };
	});
	return { files };
}

type Action =
	| { kind: "read"; args: ReadArgs }
	| { kind: "edit"; path: string; text: string; args: object }
	/** A formatter, a checkout, the user's editor. */
	| { kind: "outside"; path: string; text: string }
	| { kind: "other"; lines: number };

/** Actions of an agent, without end. Their shares are guesses; the results report the resulting re-reads. */
function* actionsOf({ files }: Project, random: Random): Generator<Action> {
	const chance = (share: number) => random() < share;
	const upTo = (n: number) => Math.floor(random() * n);
	const recent: ProjectFile[] = [];

	for (;;) {
		if (chance(0.15)) yield { kind: "other", lines: 5 + upTo(120) };
		if (chance(0.03)) yield outsideChange();
		const file = pick();
		const isNew = !recent.includes(file);
		recent.unshift(...recent.splice(recent.indexOf(file), isNew ? 0 : 1), ...(isNew ? [file] : []));
		if (isNew) {
			file.focus = 1 + upTo(file.lines.length);
			yield* firstLook(file);
		} else if (chance(0.4)) {
			yield edit(file);
			if (chance(0.35)) yield chance(0.5) ? read(file) : read(file, around(file));
		} else if (chance(0.45)) yield read(file);
		else if (file.lastRange && chance(0.25)) yield read(file, file.lastRange);
		else yield read(file, around(file));
	}

	/** Mostly one of the files at hand, else any, the first ones more often. */
	function pick(): ProjectFile {
		const atHand = recent.slice(0, 6);
		if (atHand.length > 0 && chance(0.65)) return atHand[upTo(atHand.length)] as ProjectFile;
		return files[Math.floor(random() ** 2 * files.length)] as ProjectFile;
	}

	function* firstLook(file: ProjectFile): Generator<Action> {
		const isLong = file.lines.length > 350;
		if (chance(isLong ? 0.55 : 0.2)) {
			yield read(file, around(file));
			if (chance(0.4)) yield read(file);
			return;
		}
		yield read(file);
		// Pi truncates such a file and says how to read on.
		if (file.lines.length > 1200 && chance(0.4)) yield read(file, { offset: 1201, limit: 800 });
	}

	function around(file: ProjectFile): { offset: number; limit: number } {
		if (chance(0.3)) file.focus = 1 + upTo(file.lines.length);
		const limit = (1 + upTo(4)) * 40;
		file.lastRange = { offset: Math.max(1, file.focus - (limit >> 1) - upTo(10)), limit };
		return file.lastRange;
	}

	function read({ path }: ProjectFile, range?: { offset: number; limit: number }): Action {
		return { kind: "read", args: { path, ...range } };
	}

	function edit(file: ProjectFile): Action {
		const at = Math.min(file.focus + upTo(20), file.lines.length) - 1;
		const old = file.lines.slice(at, at + 1 + upTo(6));
		const fresh = old.map((line) => `${line} // edit ${upTo(1e6)}`);
		if (chance(0.5)) fresh.push(`\tnewStep(${upTo(1e6)});`);
		file.lines.splice(at, old.length, ...fresh);
		const args = {
			path: file.path,
			edits: [{ oldText: old.join("\n"), newText: fresh.join("\n") }],
		};
		return { kind: "edit", path: file.path, text: fileOf(file.lines), args };
	}

	function outsideChange(): Action {
		const file = pick();
		file.lines = edited(file.lines, 0.02, random);
		return { kind: "outside", path: file.path, text: fileOf(file.lines) };
	}
}

/** Which entries are still in the context, by their size without a cache. */
function createContextWindow() {
	let entries: { id: string; bytes: number }[] = [];
	return {
		add(id: string, bytes: number): void {
			entries.push({ id, bytes });
		},
		has: (id: string) => entries.some((entry) => entry.id === id),
		/** The first entry to keep, if it is time to compact; the older ones are then gone. */
		compaction(): string | undefined {
			if (entries.reduce((sum, { bytes }) => sum + bytes, 0) < COMPACT_AFTER_BYTES)
				return undefined;
			let bytes = 0;
			const firstKept = entries.findLastIndex((entry) => {
				bytes += entry.bytes;
				return bytes > KEPT_BYTES;
			});
			entries = entries.slice(firstKept);
			return entries[0]?.id;
		},
	};
}

/** A marker if and only if the same arguments were answered with the same text, and that answer is in the context. */
function createExactScopeCache(context: { has(id: string): boolean }) {
	const shown = new Map<string, { id: string; text: string }>();
	return {
		serve(id: string, args: ReadArgs, text: string): { text: string; seenBefore: boolean } {
			const key = JSON.stringify(args);
			const earlier = shown.get(key);
			const seenBefore = earlier?.text === text;
			if (seenBefore && context.has(earlier.id)) return { text: unchangedMarker(1000), seenBefore };
			shown.set(key, { id, text });
			return { text, seenBefore };
		},
	};
}

function textIn({ content }: ReadAnswer): string {
	return content.map((block) => block.text ?? "").join("\n");
}

function share(part: number, whole: number): number {
	return (100 * part) / whole;
}

function percent(part: number, whole: number): number {
	return rounded(share(part, whole));
}
