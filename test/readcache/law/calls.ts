import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** A call of the model. */
export interface Call {
	id: string;
	name: "read" | "edit" | "write" | "bash";
	args: Record<string, unknown>;
}

/** What a call must be about, and whether it must be a read or an edit. */
export interface Topic {
	path: string;
	name: "read" | "edit";
	/** See {@link Habits}. */
	ranges?: number;
}

/** Makes up a call, about anything or about a given topic. */
export type Caller = (topic?: Topic) => Call;

/** How a model behaves, as shares from 0 to 1. */
export interface Habits {
	/** Reads that ask for some lines only. */
	ranges: number;
	/** Calls whose id was used before: providers number them as they like. */
	sameIds: number;
	/** Reads that go to paging. */
	paged: number;
	/** What else than files can be read: tokens of earlier answers, and files with pruned texts. */
	pages(): { tokens: readonly string[]; blobs: readonly string[] };
}

/** Makes up the calls of a model that works on the files of a world. */
export function createCaller(world: World, random: Random, habits: Habits): Caller {
	const { ranges, sameIds, paged, pages } = habits;
	const ids: string[] = [];
	// The same lines are asked for again and again: only then can they have been seen before.
	const usual = Array.from({ length: 3 }, (): [number, number] => [
		random.between(1, 30),
		random.between(1, 15),
	]);
	return someCall;

	function someCall(topic?: Topic): Call {
		const id =
			ids.length > 0 && random.chance(sameIds)
				? random.pick(ids.slice(-8))
				: `call-${ids.length + 1}`;
		ids.push(id);
		const path = topic?.path ?? world.path();
		const name = topic?.name ?? someTool();
		switch (name) {
			case "read":
				if (random.chance(paged)) return { id, name, args: somePage(path) };
				return { id, name, args: someRange(path, topic?.ranges ?? ranges) };
			case "edit":
				return { id, name, args: { path, edits: someEdits(path) } };
			case "write":
				return { id, name, args: { path, content: someContent(path) } };
			default:
				return { id, name, args: { command: "true" } };
		}
	}

	function someTool(): Call["name"] {
		return random.weighted<Call["name"]>([
			[80, "read"],
			[9, "edit"],
			[3, "write"],
			[4, "bash"],
		]);
	}

	/** Reads in chunks, in all forms that paging takes. */
	function somePage(path: string): Record<string, unknown> {
		const { tokens, blobs } = pages();
		const max_chars = random.pick([64, 300, 300, 2000, 8000]);
		const file = world.file();
		return random.weighted<() => Record<string, unknown>>([
			[3, () => ({ uri: path, max_chars })],
			[1, () => ({ uri: path })],
			[1, () => ({ path: `file:${encodeURI(file)}` })],
			[1, () => ({ uri: pathToFileURL(join(world.cwd, file)).href, max_chars })],
			[0.5, () => ({ path: "file:link.txt" })],
			[tokens.length > 0 ? 4 : 0, () => ({ path: random.pick(tokens) })],
			[tokens.length > 0 ? 1 : 0, () => ({ uri: random.pick(tokens), max_chars })],
			[blobs.length > 0 ? 2 : 0, () => ({ path: random.pick(blobs) })],
			[blobs.length > 0 ? 1 : 0, () => someRange(random.pick(blobs), 1)],
		])();
	}

	function someRange(path: string, share: number): Record<string, unknown> {
		if (!random.chance(share)) return { path };
		const [start, limit] = someLines(path);
		return random.weighted<Record<string, unknown>>([
			[4, { path, offset: start, limit }],
			[2, { path, offset: start }],
			[2, { path, limit }],
			[2, { path: `${path}:${start}-${start + limit - 1}` }],
			[0.5, { path: `${path}:${start}` }],
			[0.1, { path: `${path}:${start + 1}-${start}` }],
			[0.1, { path: `${path}:2-4` }],
			[0.1, { path, offset: 0 }],
			[0.1, { path, offset: 1.5, limit: 2 }],
		]);
	}

	function someLines(path: string): [start: number, limit: number] {
		const total = world.linesOf(path).length;
		const lines = random.pick(usual);
		if (lines[0] <= total && random.chance(0.5)) return lines;
		const start = random.between(1, random.chance(0.95) ? total : total + 3);
		const long = total > 300 ? random.pick([30, 500, 2100]) : random.pick([3, 10, 40]);
		return [start, random.between(1, long)];
	}

	/** Replacements as models write them: whole lines with a line around, or a part of one. */
	function someEdits(path: string): { oldText: string; newText: string }[] {
		const lines = world.linesOf(path);
		const count = random.pick([1, 1, 2]);
		return Array.from({ length: count }, (_, index) => {
			const part = Math.floor(lines.length / count);
			const start = index * part + random.below(Math.max(1, part));
			const taken = lines
				.slice(start, start + random.between(1, 3))
				.map((line) => line.replace(/\r$/, ""));
			const oldText = taken.join("\n");
			const changed = [...taken];
			const at = random.below(Math.max(1, changed.length));
			random.weighted([
				[3, () => changed.splice(at, 1, `${changed[at]} (edited)`)],
				[2, () => changed.splice(at, 1, random.pick(lines).replace(/\r$/, ""))],
				[2, () => changed.splice(at, 0, random.pick(lines).replace(/\r$/, ""))],
				[1, () => changed.splice(at, 1)],
			])();
			return { oldText, newText: changed.join("\n") };
		});
	}

	function someContent(path: string): string {
		const lines = world.linesOf(path);
		if (random.chance(0.5)) lines[random.below(lines.length)] = "written by the model";
		return lines.slice(0, random.chance(0.2) ? random.between(1, 60) : 3000).join("\n");
	}
}
