import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { usagesIn, usagesOfAll } from "./declarations.ts";
import { GO_PROJECT, PYTHON_PROJECT } from "./projects.ts";

/** Places by declaration, as the language's own tool found them: `scripts/positions/main.ts` writes them. */
function positions(name: string): ReadonlyMap<string, readonly string[]> {
	const file = new URL(`positions-${name}.json`, import.meta.url);
	return new Map(Object.entries(JSON.parse(readFileSync(file, "utf8"))));
}

test("Go: the usages of everything at the top level are those of go/types", {
	tags: "slow",
}, async () => {
	const ours = await usagesIn(GO_PROJECT);
	const theirs = positions("go");
	let references = 0;
	for (const [place, expected] of theirs) {
		// Each `init` is a function of its own; nothing can refer to it.
		if (textAt(GO_PROJECT, place) === "init") continue;
		references += expected.length;
		expect([place, ...(ours.get(place) ?? [])]).toEqual([place, ...expected]);
	}
	expect(references).toBeGreaterThan(70);
	// A file that no build includes is a program of its own, which go/types was not asked about.
	const others = [...ours.keys()].filter((place) => !theirs.has(place));
	expect(others.every((place) => place.startsWith("cart/generate.go:"))).toBe(true);
	expect(ours.get("cart/generate.go:9:6")).toEqual(["cart/generate.go:7:36"]);
});

test("Python: the usages of everything at the top level are those of pyright, and those through another name", {
	tags: "slow",
}, async () => {
	const ours = await usagesIn(PYTHON_PROJECT);
	const theirs = positions("python");
	let references = 0;
	for (const [place, expected] of theirs) {
		references += expected.length;
		const name = textAt(PYTHON_PROJECT, place);
		// pyright looks for the name only: after `import a as b`, uses of `b` are not in its list.
		const same = (ours.get(place) ?? []).filter((one) => textAt(PYTHON_PROJECT, one) === name);
		expect([place, ...same]).toEqual([place, ...expected]);
	}
	expect(references).toBeGreaterThan(70);
	expect([...ours.keys()].sort()).toEqual([...theirs.keys()].sort());
	const renamed = ours.get("src/shop/cart.py:13:1")?.filter((place) => {
		return textAt(PYTHON_PROJECT, place) === "MAXIMUM";
	});
	expect(renamed).toEqual([
		"src/shop/__init__.py:2:34",
		"tests/test_cart.py:13:25",
		"tests/test_cart.py:4:24",
	]);
});

describe.each([
	["Go", "go-members", GO_PROJECT, 0.9],
	["Python", "python-members", PYTHON_PROJECT, 0.8],
] as const)("%s: usages of members", (_language, fixture, project, least) => {
	test("are certain only if the language's own tool knows them, and the rest is possible", {
		tags: "slow",
	}, async () => {
		const theirs = positions(fixture);
		const sums = { references: 0, found: 0 };
		for (const { place, isMember, usages, possible } of await usagesOfAll(project)) {
			const expected = theirs.get(place);
			if (!isMember || !expected) continue;
			expect([place, ...usages.filter((one) => !expected.includes(one))]).toEqual([place]);
			const missing = expected.filter((one) => !usages.includes(one));
			for (const [file, some] of Map.groupBy(missing, (one) => one.split(":", 1)[0] ?? "")) {
				expect([place, file, possible.get(file) ?? 0]).toEqual([
					place,
					file,
					expect.toSatisfy((count: number) => count >= some.length),
				]);
			}
			sums.references += expected.length;
			sums.found += expected.length - missing.length;
		}
		expect(sums.references).toBeGreaterThan(20);
		expect(sums.found / sums.references).toBeGreaterThanOrEqual(least);
	});
});

function textAt(files: Readonly<Record<string, string>>, place: string): string {
	const [path = "", line, column] = place.split(":");
	const text = files[path]?.split("\n")[Number(line) - 1] ?? "";
	return /^\w+/.exec(text.slice(Number(column) - 1))?.[0] ?? "";
}
