import { describe, expect, test } from "vitest";
import { createRefresher } from "../../src/dashboard/refresher.ts";

/** A refresher whose answers the test gives, and its reports. */
function question() {
	const asked: (PromiseWithResolvers<number> & { signal: AbortSignal })[] = [];
	const reported: [unknown, boolean][] = [];
	const refresher = createRefresher<number>({
		fetch(signal) {
			const one = { ...Promise.withResolvers<number>(), signal };
			asked.push(one);
			return one.promise;
		},
		onAnswer: (answer, isLast) => reported.push([answer, isLast]),
		onError: (error, isLast) => reported.push([error, isLast]),
	});
	return { refresher, asked, reported };
}

const nextTick = () => new Promise((resolve) => setTimeout(resolve));

describe("a question that is asked again", () => {
	test("is let finish while changes come faster than its answer, and asked once more", async () => {
		const { refresher, asked, reported } = question();
		for (let change = 0; change < 5; change++) refresher.refresh();
		await nextTick();
		expect(asked).toHaveLength(1);
		expect(asked[0]?.signal.aborted).toBe(false);
		asked[0]?.resolve(1);
		await nextTick();
		expect(reported).toEqual([[1, false]]);
		expect(asked).toHaveLength(2);
		asked[1]?.resolve(2);
		await nextTick();
		expect(reported).toEqual([
			[1, false],
			[2, true],
		]);
		expect(asked).toHaveLength(2);
	});

	test("goes on after an error", async () => {
		const { refresher, asked, reported } = question();
		const error = new Error("no");
		refresher.refresh();
		refresher.refresh();
		asked[0]?.reject(error);
		await nextTick();
		asked[1]?.resolve(2);
		await nextTick();
		refresher.refresh();
		expect(reported).toEqual([
			[error, false],
			[2, true],
		]);
		expect(asked).toHaveLength(3);
	});

	test("tells nothing and asks nothing once it is stopped", async () => {
		const { refresher, asked, reported } = question();
		refresher.refresh();
		refresher.refresh();
		refresher.stop();
		expect(asked[0]?.signal.aborted).toBe(true);
		asked[0]?.resolve(1);
		await nextTick();
		refresher.refresh();
		expect(reported).toEqual([]);
		expect(asked).toHaveLength(1);
	});
});
