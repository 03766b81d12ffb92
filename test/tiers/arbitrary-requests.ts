import type { Item } from "../../src/tiers/item.ts";
import { fc } from "../support/property.ts";

/** A request of a made-up session: what is in it, and what was edited before it. */
export interface RandomRequest {
	readonly files: Item[];
	readonly symbols: Item[];
	readonly history: Item[];
	readonly modified: string[];
}

const PATHS = ["a.ts", "b.ts", "c.ts", "d.ts", "7", "__proto__"];
/** One of them looks like a number, as entry ids may. */
const MESSAGES = Array.from({ length: 24 }, (_, index) => (index === 5 ? "12" : `h${index}`));

/** What can happen before a request; mostly nothing, or no item would ever get anywhere. */
const change = fc.oneof(
	{ weight: 6, arbitrary: fc.constant({ what: "nothing" as const, path: "" }) },
	{
		weight: 2,
		arbitrary: fc.record({
			what: fc.constantFrom("edit" as const, "touch" as const, "toggle" as const),
			path: fc.constantFrom(...PATHS),
		}),
	},
	{
		weight: 1,
		arbitrary: fc.constantFrom(
			{ what: "forget" as const, path: "" },
			{ what: "map" as const, path: "" },
		),
	},
);

/**
 * Sessions of up to 60 requests: files are selected, dropped and edited, the map comes and goes, the conversation grows
 * and is cut from its old end.
 */
export const randomSession: fc.Arbitrary<RandomRequest[]> = fc
	.record({
		changes: fc.array(change, { minLength: 5, maxLength: 60, size: "max" }),
		tokens: fc.array(fc.nat(900), { minLength: 40, maxLength: 40 }),
	})
	.map(({ changes, tokens }) => {
		const versions = new Map<string, number>();
		const selected = new Set(["a.ts", "b.ts"]);
		let hasMap = true;
		let forgotten = 0;
		const sized = (key: string, index: number, version = 0): Item => ({
			key,
			hash: `v${version}`,
			tokens: tokens[index % tokens.length] ?? 0,
		});
		return changes.map(({ what, path }, request) => {
			if (what === "edit") versions.set(path, (versions.get(path) ?? 0) + 1);
			if (what === "toggle" && !selected.delete(path)) selected.add(path);
			if (what === "map") hasMap = !hasMap;
			if (what === "forget") forgotten += 3;
			return {
				files: [...selected].map((key) => sized(key, PATHS.indexOf(key), versions.get(key))),
				symbols: hasMap
					? PATHS.map((key, index) => sized(`symbol:${key}`, 10 + index, versions.get(key)))
					: [],
				history: MESSAGES.slice(forgotten, Math.floor(request / 2)).map((key, index) =>
					sized(key, 16 + forgotten + index),
				),
				modified: what === "edit" || what === "touch" ? [path] : [],
			};
		});
	});
