import { describe, expect, test } from "vitest";
import { type Hash, hashBytes } from "../../src/core/hash.ts";
import { linesOf } from "../../src/core/lines.ts";
import { type Decision, type Dependencies, decide } from "../../src/readcache/decide.ts";
import { type FileEvent, knowledgeOf } from "../../src/readcache/knowledge.ts";
import type { LineRange } from "../../src/readcache/metadata.ts";
import { windowOf } from "../../src/readcache/text-file.ts";
import { fc, runs } from "../support/property.ts";

/** Small enough that short texts are cut. */
const LIMITS = { maxLines: 20, maxBytes: 2000 };

/** A file and a model that looks at it; the store keeps every version the file ever had. */
class Scene {
	readonly events: FileEvent[] = [];
	readonly versions = new Map<Hash, string>();
	text: string;
	loads = 0;
	maxChain = 3;
	diff: Dependencies["diff"] = async (base) => ({ text: `from ${base.bytes}`, changedLines: 1 });

	constructor(text: string) {
		this.text = text;
		this.write(text);
	}

	/** Somebody else makes this of the file. */
	write(text: string): this {
		this.text = text;
		this.versions.set(hashBytes(text), text);
		return this;
	}

	/** The model itself makes this of the file. */
	edit(text: string, { noted } = { noted: true }): this {
		const before = hashBytes(this.text);
		this.write(text);
		return this.event({ kind: "edit", before, after: noted ? hashBytes(text) : undefined });
	}

	/** The model gets these lines literally, at most as many as pi shows. */
	see(range: LineRange = this.whole()): this {
		const end = Math.min(range.end, this.whole().end);
		const window = windowOf(this.lines(), { ...range, end }, LIMITS);
		if (window.kind === "nothing") return this;
		return this.view("full", { start: range.start, end }, [range.start, window.end]);
	}

	/** The model gets the changes since the version it saw as a whole. */
	seeDiff(base: string): this {
		return this.view("diff", this.whole(), undefined, hashBytes(base));
	}

	event(event: FileEvent): this {
		this.events.push(event);
		return this;
	}

	whole(): LineRange {
		return { start: 1, end: this.lines().count };
	}

	lines() {
		return linesOf(Buffer.from(this.text));
	}

	read(range: LineRange = this.whole()): Promise<Decision> {
		const lines = this.lines();
		const asked = { start: range.start, end: Math.min(range.end, lines.count) };
		const window = windowOf(lines, asked, LIMITS);
		if (window.kind === "nothing") throw new Error("the first line is too long");
		const knowledge = knowledgeOf(this.events);
		const request = { lines, hash: hashBytes(this.text), range: asked, window, knowledge };
		return decide(request, {
			load: async (version) => {
				this.loads++;
				const text = this.versions.get(version);
				return text === undefined ? undefined : linesOf(Buffer.from(text));
			},
			diff: this.diff,
			maxChain: this.maxChain,
		});
	}

	private view(
		mode: "full" | "diff",
		range: LineRange,
		shown?: [number, number],
		baseHash?: Hash,
	): this {
		return this.event({
			kind: "view",
			seen: { visible: true },
			meta: {
				v: 1,
				pathKey: "/a",
				scopeKey: "full",
				servedHash: hashBytes(this.text),
				mode,
				totalLines: this.whole().end,
				rangeStart: range.start,
				rangeEnd: range.end,
				bytes: this.text.length,
				...(shown && { shown }),
				...(baseHash && { baseHash }),
			},
		});
	}
}

const TEN = Array.from({ length: 10 }, (_, index) => `line ${index + 1}`).join("\n");
const changed = (line: number, text = TEN) => text.replace(`line ${line}\n`, "changed\n");
const range = (start: number, end: number) => ({ start, end });

describe("a file the model has in view", () => {
	test("is unchanged, without a look at the store", async () => {
		const scene = new Scene(TEN).see();
		expect(await scene.read()).toEqual({ kind: "unchanged", base: hashBytes(TEN) });
		expect(scene.loads).toBe(0);
	});

	test("is unchanged in every part of it", async () => {
		const scene = new Scene(TEN).see();
		expect(await scene.read(range(3, 5))).toEqual({
			kind: "unchanged_range",
			base: hashBytes(TEN),
			range: range(3, 5),
			changedOutside: false,
			cut: false,
		});
	});

	test("is unchanged when it was seen in parts that together are all of it", async () => {
		const scene = new Scene(TEN).see(range(6, 10)).see(range(1, 7));
		expect(await scene.read()).toMatchObject({ kind: "unchanged" });
	});

	test("is unchanged in lines that a change elsewhere did not touch", async () => {
		const scene = new Scene(TEN).see().write(changed(9));
		expect(await scene.read(range(3, 5))).toEqual({
			kind: "unchanged_range",
			base: hashBytes(TEN),
			range: range(3, 5),
			changedOutside: true,
			cut: false,
		});
	});

	test("is changed in lines that an insertion before them moved", async () => {
		const scene = new Scene(TEN).see().write(`new\n${TEN}`);
		expect(await scene.read(range(3, 5))).toEqual({
			kind: "plain",
			mode: "full_fallback",
			why: "range-changed",
			base: hashBytes(TEN),
		});
	});

	test("is shown by a diff when all of it is asked for", async () => {
		const scene = new Scene(TEN).see().write(changed(3));
		expect(await scene.read()).toEqual({
			kind: "diff",
			base: hashBytes(TEN),
			text: `from ${TEN}`,
			changedLines: 1,
		});
	});

	test("is shown in full when the diff is not worth it, and the reason is passed on", async () => {
		const scene = new Scene(TEN).see().write(changed(3));
		scene.diff = async () => ({ why: "diff-too-large" });
		expect(await scene.read()).toEqual({
			kind: "plain",
			mode: "full_fallback",
			why: "diff-too-large",
			base: hashBytes(TEN),
		});
	});

	test("is as new as its newest view: back at the first version, it is not what was seen last", async () => {
		const scene = new Scene(TEN).see().write(changed(3)).see(range(2, 4)).write(TEN);
		expect(await scene.read()).toMatchObject({ kind: "plain", why: "range-changed" });
		expect(await scene.read(range(5, 10))).toMatchObject({ kind: "unchanged_range" });
	});

	test("is unchanged when the parts seen at different versions are all as they are now", async () => {
		const scene = new Scene(TEN).see(range(1, 5)).write(changed(8)).see(range(6, 10));
		expect(await scene.read()).toEqual({ kind: "unchanged", base: hashBytes(TEN) });
	});

	test("is not unchanged as a whole when it has become shorter or longer", async () => {
		const shorter = new Scene(TEN).see().write(TEN.split("\n").slice(0, 8).join("\n"));
		expect(await shorter.read()).toMatchObject({ kind: "diff" });
		const longer = new Scene(TEN).see().write(`${TEN}\nline 11`);
		expect(await longer.read()).toMatchObject({ kind: "diff" });
		expect(await longer.read(range(1, 10))).toMatchObject({ kind: "unchanged_range" });
	});

	test("is shown in full when it has become shorter and a diff is not worth it", async () => {
		const scene = new Scene(TEN).see().write(TEN.split("\n").slice(0, 8).join("\n"));
		scene.diff = async () => ({ why: "diff-too-large" });
		expect(await scene.read()).toMatchObject({ kind: "plain", why: "diff-too-large" });
	});

	test("is shown in full after as many diffs as may follow one another", async () => {
		const scene = new Scene(TEN).see();
		scene.maxChain = 2;
		for (const line of [3, 5]) {
			const before = scene.text;
			expect(await scene.write(changed(line, before)).read()).toMatchObject({ kind: "diff" });
			scene.seeDiff(before);
		}
		expect(await scene.read()).toMatchObject({ kind: "unchanged" });
		expect(await scene.write(changed(7, scene.text)).read()).toMatchObject({
			kind: "plain",
			mode: "full_fallback",
			why: "chain-too-long",
		});
	});
});

describe("a file the model does not have in view", () => {
	test("is shown in full, and the reason is that it was never seen", async () => {
		expect(await new Scene(TEN).read()).toEqual({
			kind: "plain",
			mode: "full",
			why: "not-seen-yet",
		});
	});

	test("or no longer has, is shown in full for the reason it was lost", async () => {
		const scene = new Scene(TEN).see().event({ kind: "refresh", scope: "full" });
		expect(await scene.read()).toEqual({ kind: "plain", mode: "full", why: "refreshed" });
	});

	test("has in part only, is shown where a line is missing", async () => {
		const scene = new Scene(TEN).see(range(1, 9));
		expect(await scene.read()).toEqual({ kind: "plain", mode: "full", why: "partly-seen" });
		expect(await scene.read(range(9, 10))).toMatchObject({ kind: "plain", why: "partly-seen" });
		expect(await scene.read(range(10, 10))).toMatchObject({ kind: "plain", why: "not-seen-yet" });
	});

	test("whose earlier version is gone from the store is shown in full", async () => {
		const scene = new Scene(TEN).see().write(changed(9));
		scene.versions.delete(hashBytes(TEN));
		for (const asked of [range(3, 5), scene.whole()]) {
			expect(await scene.read(asked)).toEqual({
				kind: "plain",
				mode: "full_fallback",
				why: "object-missing",
				base: hashBytes(TEN),
			});
		}
	});
});

test("lines that the stored version does not have are not compared with others of it", async () => {
	const scene = new Scene(`${"x\n".repeat(10)}${TEN}`).see();
	const [view] = scene.events;
	if (view?.kind !== "view") throw new Error("a view was expected");
	view.meta.servedHash = hashBytes(TEN); // metadata that speaks of twenty lines of a version with ten
	scene.versions.set(hashBytes(TEN), TEN);
	expect(await scene.read(range(11, 20))).toMatchObject({ kind: "plain", why: "range-changed" });
});

describe("a file longer than pi shows", () => {
	const LONG = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join("\n");

	test("is unchanged as far as it was shown, and says that it goes on", async () => {
		const scene = new Scene(LONG).see();
		expect(await scene.read()).toEqual({
			kind: "unchanged_range",
			base: hashBytes(LONG),
			range: range(1, 20),
			changedOutside: false,
			cut: true,
		});
		expect(await scene.write(changed(25, LONG)).read()).toMatchObject({
			kind: "unchanged_range",
			range: range(1, 20),
			changedOutside: true,
			cut: true,
		});
	});

	test("is not unchanged in lines that were never shown", async () => {
		const scene = new Scene(LONG).see();
		expect(await scene.read(range(21, 30))).toMatchObject({ kind: "plain", why: "not-seen-yet" });
		expect(await scene.read(range(20, 22))).toMatchObject({ kind: "plain", why: "partly-seen" });
	});

	test("is shown again when the part that was shown has changed", async () => {
		const scene = new Scene(LONG).see().write(changed(5, LONG));
		expect(await scene.read()).toMatchObject({ kind: "plain" });
	});

	test("is unchanged as a whole once it was seen to its end", async () => {
		const scene = new Scene(LONG).see().see(range(21, 30));
		expect(await scene.read()).toMatchObject({ kind: "unchanged" });
		expect(await scene.write(changed(25, LONG)).read()).toMatchObject({ kind: "diff" });
	});

	test("falls back on its shown part when a diff is not worth it", async () => {
		const scene = new Scene(LONG).see().see(range(21, 30)).write(changed(25, LONG));
		scene.diff = async () => ({ why: "diff-too-large" });
		expect(await scene.read()).toMatchObject({
			kind: "unchanged_range",
			range: range(1, 20),
			changedOutside: true,
			cut: true,
		});
	});
});

describe("after an edit of the model's own", () => {
	const EDITED = changed(9);
	const overtaken = (base: string) => ({
		kind: "plain",
		mode: "full_fallback",
		why: "own-edit-overtaken",
		base: hashBytes(base),
	});

	test("a marker is given for lines outside of it while nobody else touches the file", async () => {
		const scene = new Scene(TEN).see().edit(EDITED);
		expect(await scene.read(range(1, 5))).toEqual({
			kind: "unchanged_range",
			base: hashBytes(TEN),
			range: range(1, 5),
			changedOutside: true,
			cut: false,
		});
	});

	test("the lines it changed are shown", async () => {
		const scene = new Scene(TEN).see().edit(EDITED);
		expect(await scene.read(range(8, 10))).toMatchObject({ kind: "plain", why: "range-changed" });
	});

	test("a diff is given while nobody else touches the file, and markers after it", async () => {
		const scene = new Scene(TEN).see().edit(EDITED);
		expect(await scene.read()).toMatchObject({ kind: "diff", base: hashBytes(TEN) });
		scene.seeDiff(TEN);
		expect(await scene.read()).toEqual({ kind: "unchanged", base: hashBytes(EDITED) });
	});

	test("a marker is given for a file that it left as it was", async () => {
		const scene = new Scene(TEN).see().edit(TEN);
		expect(await scene.read()).toEqual({ kind: "unchanged", base: hashBytes(TEN) });
	});

	test("no marker is given where it was undone: the model takes the file for edited", async () => {
		const scene = new Scene(TEN).see().edit(EDITED).write(TEN);
		for (const asked of [scene.whole(), range(1, 5), range(8, 10)]) {
			expect(await scene.read(asked)).toEqual(overtaken(TEN));
		}
	});

	test("neither marker nor diff is given where somebody else has changed the file since", async () => {
		const scene = new Scene(TEN).see().edit(EDITED).write(changed(3, EDITED));
		expect(await scene.read()).toEqual(overtaken(TEN));
		expect(await scene.read(range(5, 6))).toEqual(overtaken(TEN));
		expect(await scene.read(range(3, 3))).toMatchObject({ kind: "plain", why: "range-changed" });
	});

	test("what somebody else did and took back does not matter", async () => {
		const scene = new Scene(TEN).see().edit(EDITED).write(changed(3, EDITED)).write(EDITED);
		expect(await scene.read()).toMatchObject({ kind: "diff" });
		expect(await scene.read(range(1, 5))).toMatchObject({ kind: "unchanged_range" });
	});

	test("what somebody else had done before it does not matter", async () => {
		const scene = new Scene(TEN)
			.see()
			.write(changed(3))
			.edit(changed(9, changed(3)));
		expect(await scene.read()).toMatchObject({ kind: "diff", base: hashBytes(TEN) });
		expect(await scene.read(range(5, 6))).toMatchObject({ kind: "unchanged_range" });
		expect(await scene.read(range(3, 4))).toMatchObject({ kind: "plain", why: "range-changed" });
	});

	test("lines that were seen after it are judged without it", async () => {
		const scene = new Scene(TEN).see().edit(EDITED).see(range(1, 5)).write(TEN);
		expect(await scene.read(range(2, 4))).toMatchObject({ kind: "unchanged_range" });
		expect(await scene.read(range(5, 6))).toMatchObject({ why: "own-edit-overtaken" });
		expect(await scene.read()).toMatchObject({ why: "own-edit-overtaken" });
		expect(await scene.see(range(6, 10)).read()).toMatchObject({ kind: "unchanged" });
	});

	test("and another one, the last counts", async () => {
		const both = changed(5, EDITED);
		const scene = new Scene(TEN).see().edit(EDITED).edit(both);
		expect(await scene.read()).toMatchObject({ kind: "diff", base: hashBytes(TEN) });
		expect(await scene.read(range(1, 4))).toMatchObject({ kind: "unchanged_range" });
		scene.write(EDITED); // as after the first, which is not what the model has
		expect(await scene.read()).toEqual(overtaken(TEN));
		expect(await scene.read(range(1, 4))).toEqual(overtaken(TEN));
	});

	test("and another one, after the first was undone, nothing is given: the model believes in both", async () => {
		const scene = new Scene(TEN).see().edit(EDITED).write(TEN).edit(changed(5));
		expect(await scene.read()).toEqual(overtaken(TEN));
		expect(await scene.read(range(8, 10))).toEqual(overtaken(TEN));
	});

	test("that nobody noted, neither marker nor diff is given until the lines are seen again", async () => {
		for (const text of [EDITED, TEN]) {
			const scene = new Scene(TEN).see().edit(text, { noted: false });
			expect(await scene.read()).toEqual(overtaken(TEN));
			expect(await scene.read(range(1, 5))).toEqual(overtaken(TEN));
			expect(await scene.see(range(1, 5)).read(range(1, 5))).toMatchObject({
				kind: "unchanged_range",
			});
			expect(await scene.read()).toMatchObject({ kind: "plain" });
			expect(await scene.see().read()).toMatchObject({ kind: "unchanged" });
			expect(await scene.write(changed(3, text)).read()).toMatchObject({ kind: "diff" });
		}
	});

	test("that nobody noted, a noted one does not help", async () => {
		const scene = new Scene(TEN).see().edit(EDITED, { noted: false }).edit(changed(5, EDITED));
		expect(await scene.read()).toEqual(overtaken(TEN));
		expect(await scene.read(range(1, 4))).toEqual(overtaken(TEN));
	});

	test("a file longer than pi shows is judged by the part that was shown", async () => {
		const long = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join("\n");
		const scene = new Scene(long).see().edit(changed(25, long));
		expect(await scene.read()).toMatchObject({
			kind: "unchanged_range",
			range: range(1, 20),
			changedOutside: true,
			cut: true,
		});
		expect(await scene.write(long).read()).toEqual(overtaken(long));
	});

	test("the store is asked for the version before it, and without that nothing is given", async () => {
		const scene = new Scene(TEN).see().edit(EDITED);
		scene.versions.delete(hashBytes(TEN));
		for (const asked of [range(1, 5), scene.whole()]) {
			expect(await scene.read(asked)).toMatchObject({ kind: "plain", why: "object-missing" });
		}
	});
});

describe("laws", () => {
	const line = fc.constantFrom("a", "b", "c");
	const text = fc.array(line, { minLength: 1, maxLength: 30 }).map((lines) => lines.join("\n"));
	const asked = fc
		.tuple(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 }))
		.map(([one, other]) => range(Math.min(one, other), Math.max(one, other)));
	const mostly = fc.constantFrom(true, true, true, false);
	const step = fc.oneof(
		{ weight: 2, arbitrary: fc.record({ write: text }) },
		{ weight: 2, arbitrary: fc.record({ edit: fc.nat(29), as: line }) },
		{ weight: 3, arbitrary: fc.record({ own: fc.nat(29), as: line, noted: mostly }) },
		{ weight: 2, arbitrary: fc.record({ undo: fc.boolean() }) },
		{ weight: 8, arbitrary: fc.record({ see: fc.option(asked, { freq: 1 }) }) },
		{ weight: 1, arbitrary: fc.record({ lose: fc.boolean() }) },
		{ weight: 1, arbitrary: fc.record({ refresh: asked }) },
	);
	const scenes = fc.tuple(
		text,
		fc.array(step, { maxLength: 12, size: "max" }),
		fc.option(asked, { freq: 2 }),
	);

	/**
	 * Plays the steps; `view` is what a person would note down who reads along with the model: the lines it was shown,
	 * and beside each the texts that the file had after every edit that the model has made since.
	 */
	function play([first, steps]: [string, typeof step extends fc.Arbitrary<infer S> ? S[] : never]) {
		const scene = new Scene(first);
		const view = new Map<number, string>();
		const since = new Map<number, { before: string; after: string | undefined }[]>();
		let previous = first;
		for (const each of steps) {
			const before = scene.text;
			const lines = scene.text.split("\n");
			if ("write" in each) scene.write(each.write);
			else if ("undo" in each) scene.write(previous);
			else if ("edit" in each) {
				lines[each.edit % lines.length] = each.as;
				scene.write(lines.join("\n"));
			} else if ("own" in each) {
				lines[each.own % lines.length] = each.as;
				scene.edit(lines.join("\n"), each);
				for (const n of view.keys()) {
					const after = each.noted ? scene.text : undefined;
					since.get(n)?.push({ before, after });
				}
			} else if ("lose" in each) {
				scene.event({ kind: "untracked" });
				view.clear();
			} else if ("refresh" in each) {
				scene.event({ kind: "refresh", scope: each.refresh });
				for (let n = each.refresh.start; n <= each.refresh.end; n++) view.delete(n);
			} else {
				const { start, end } = each.see ?? scene.whole();
				if (start > lines.length) continue;
				scene.see(range(start, end));
				const last = Math.min(end, lines.length, start + LIMITS.maxLines - 1);
				for (let n = start; n <= last; n++) {
					view.set(n, lines[n - 1] as string);
					since.set(n, []);
				}
				for (const n of [...view.keys()]) if (n > lines.length) view.delete(n);
			}
			if (scene.text !== before) previous = before;
		}
		/** Whether nobody but the model has changed the file since its first edit after it saw this line. */
		const isOwn = (n: number) => {
			const edits = since.get(n) ?? [];
			const nexts = [...edits.slice(1).map(({ before }) => before), scene.text];
			return edits.every(({ after }, at) => after === nexts[at]);
		};
		return { scene, view, isOwn };
	}

	test("what a marker stands for is in view, as it is now", { tags: "slow" }, async () => {
		let markers = 0;
		let afterOwnEdits = 0;
		await fc.assert(
			fc.asyncProperty(scenes, async ([first, steps, wanted]) => {
				const { scene, view, isOwn } = play([first, steps]);
				const lines = scene.text.split("\n");
				const read = wanted ?? scene.whole();
				if (read.start > lines.length) return;
				const decision = await scene.read(read);
				if (decision.kind === "plain") return;
				markers++;
				if (knowledgeOf(scene.events).segments.some(({ edited }) => edited)) afterOwnEdits++;
				if (decision.kind === "diff") {
					for (const n of view.keys()) expect(isOwn(n)).toBe(true);
					const base = scene.versions.get(decision.base)?.split("\n") ?? [];
					expect([...view].sort(([a], [b]) => a - b)).toEqual(base.map((t, i) => [i + 1, t]));
					return;
				}
				const { start, end } =
					decision.kind === "unchanged" ? range(1, lines.length) : decision.range;
				for (let n = start; n <= end; n++) {
					expect(view.get(n)).toBe(lines[n - 1]);
					expect(isOwn(n)).toBe(true);
				}
				if (decision.kind === "unchanged") expect(view.size).toBe(lines.length);
			}),
			{ numRuns: 3000 },
		);
		expect(markers).toBeGreaterThan(900);
		expect(afterOwnEdits).toBeGreaterThan(60);
	});

	test("a range that is in view as it is now is never sent again, unless an own edit was overtaken", async () => {
		await fc.assert(
			fc.asyncProperty(scenes, async ([first, steps, wanted]) => {
				const { scene, view, isOwn } = play([first, steps]);
				const lines = scene.text.split("\n");
				const read = wanted ?? scene.whole();
				const last = Math.min(read.end, lines.length);
				if (read.start > lines.length || (read.start === 1 && last === lines.length)) return;
				const isInView = lines
					.slice(read.start - 1, last)
					.every((content, index) => view.get(read.start + index) === content);
				const numbers = Array.from({ length: last - read.start + 1 }, (_, at) => read.start + at);
				const decision = await scene.read(read);
				if (!isInView) return;
				if (numbers.every(isOwn)) expect(decision.kind).toBe("unchanged_range");
				else expect(decision).toMatchObject({ kind: "plain", why: "own-edit-overtaken" });
			}),
			{ numRuns: runs(1000) },
		);
	});
});
