import { expect, test } from "vitest";
import { createLogSession, tokensOf } from "../../../bench/tiers/log-session.ts";
import { LogLayout } from "../../../src/workset/log/layout.ts";
import { fc, runs } from "../../support/property.ts";
import { momentWith } from "./moment.ts";

/** What happens before a request: versions of the files in the working set, talk, and whether the cache is cold. */
const happening = fc.record({
	versions: fc.dictionary(fc.constantFrom("a", "b", "c", "d", "e"), fc.nat(2), {
		noNullPrototype: true,
	}),
	talk: fc.integer({ min: 1, max: 20_000 }),
	cold: fc.boolean(),
	readRatio: fc.constantFrom(0.025, 0.1, 0.5, 1),
});

test("whatever happens, every working file is live exactly once, and what is warm before a change stays", () => {
	fc.assert(
		fc.property(fc.array(happening, { maxLength: 25 }), (happenings) => {
			const layout = new LogLayout();
			const mirror = new LogLayout(); // sees the files in another order, which must not matter
			const session = createLogSession();
			for (const [at, { versions, talk, cold, readRatio }] of happenings.entries()) {
				session.add([{ part: "messages", hash: `talk ${at}`, tokens: talk, label: "talk" }]);
				const files = Object.entries(versions).map(([path, version]) => ({
					path,
					hash: `${path}@${version}`,
					tokens: 500 * (1 + version),
					tier: version === 0 ? ("L3" as const) : ("active" as const),
					n: 3 - version,
				}));
				const before = session.blocks();
				const moment = momentWith({ files, cold, copies: session.copies() });
				const rules = { ...moment.rules, readRatio };
				const seen = { ...moment, rules, contextTokens: tokensOf(before) };
				const plan = layout.decide(seen);
				expect(mirror.decide({ ...seen, files: files.toReversed() })).toEqual(plan);

				const begin = plan.frontier ? session.indexOf(plan.frontier) : before.length;
				session.carryOut(plan, files); // throws unless every file is live exactly once
				const after = session.blocks();
				if (!cold) expect(after.slice(0, begin)).toEqual(before.slice(0, begin));
				const live = tokensOf(files.filter(({ path }) => !plan.tail.includes(path)) as never);
				const talked = tokensOf(after.filter(({ label }) => label === "talk"));
				expect(tokensOf(after)).toBe(talked + live + plan.deadTokens);
				if (cold) expect(plan.deadTokens).toBe(0);
			}
		}),
		{ numRuns: runs(200) },
	);
});
