import { describe, expect, test } from "vitest";
import { createAsking } from "../../src/dashboard/asking.ts";

/** A question whose answers the test gives, and what was told. */
function question() {
	const asked: (PromiseWithResolvers<number> & { signal: AbortSignal })[] = [];
	const told: [unknown, boolean][] = [];
	const asking = createAsking<number>({
		ask(signal) {
			const one = { ...Promise.withResolvers<number>(), signal };
			asked.push(one);
			return one.promise;
		},
		onAnswer: (answer, isLast) => told.push([answer, isLast]),
		onError: (error, isLast) => told.push([error, isLast]),
	});
	return { asking, asked, told };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

describe("a question that is asked again", () => {
	test("is let finish while changes come faster than its answer, and asked once more", async () => {
		const { asking, asked, told } = question();
		for (let change = 0; change < 5; change++) asking.again();
		await settled();
		expect(asked).toHaveLength(1);
		expect(asked[0]?.signal.aborted).toBe(false);
		asked[0]?.resolve(1);
		await settled();
		expect(told).toEqual([[1, false]]);
		expect(asked).toHaveLength(2);
		asked[1]?.resolve(2);
		await settled();
		expect(told).toEqual([
			[1, false],
			[2, true],
		]);
		expect(asked).toHaveLength(2);
	});

	test("goes on after an error", async () => {
		const { asking, asked, told } = question();
		const error = new Error("no");
		asking.again();
		asking.again();
		asked[0]?.reject(error);
		await settled();
		asked[1]?.resolve(2);
		await settled();
		asking.again();
		expect(told).toEqual([
			[error, false],
			[2, true],
		]);
		expect(asked).toHaveLength(3);
	});

	test("tells nothing and asks nothing once it is stopped", async () => {
		const { asking, asked, told } = question();
		asking.again();
		asking.again();
		asking.stop();
		expect(asked[0]?.signal.aborted).toBe(true);
		asked[0]?.resolve(1);
		await settled();
		asking.again();
		expect(told).toEqual([]);
		expect(asked).toHaveLength(1);
	});
});
