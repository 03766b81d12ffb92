import { expect, test } from "vitest";
import { countNewLines, createLineHasher } from "../../../src/economy/replay/line-hashes.ts";
import { fc } from "../../support/property.ts";

const lines = fc.array(fc.constantFrom("a", "b", "c", "d", ""), { minLength: 1, maxLength: 30 });

test("new lines are those that the base does not have, or not as often", () => {
	fc.assert(
		fc.property(lines, lines, (text, base) => {
			const left = [...base];
			const fresh = text.filter((line) => {
				const at = left.indexOf(line);
				if (at !== -1) left.splice(at, 1);
				return at === -1;
			});
			const prints = createLineHasher();
			const [one, other] = [prints(text.join("\n")), prints(base.join("\n"))];
			expect(countNewLines(one as Uint32Array, other as Uint32Array)).toBe(fresh.length);
		}),
	);
});

test("a session with too many lines gets no more prints", () => {
	const prints = createLineHasher(3);
	expect(prints("a\nb")).toHaveLength(2);
	expect(prints("a\nb")).toBeUndefined();
});
