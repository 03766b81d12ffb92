import { expect, test } from "vitest";
import { Lane, type Place } from "../../../src/server/engine/lane.ts";

test("a thousand commands that fail at once cost the lane a few looks at each", () => {
	const count = 1_000;
	const turns: number[] = [];
	const places: Place<number>[] = [];
	let looks = 0;
	let isEmptied = false;
	const lane = new Lane<number>({
		giveTurn: (item) => turns.push(item),
		onEmpty: () => {
			isEmptied = true;
		},
	});
	for (let item = 0; item < count; item++) {
		lane.join(item, false, (place) => {
			let isFinished = false;
			Object.defineProperty(place, "isFinished", {
				get() {
					looks += 1;
					return isFinished;
				},
				set(value: boolean) {
					isFinished = value;
				},
			});
			places.push(place);
		});
	}
	for (const place of places) lane.finished(place, false);
	expect(turns).toEqual(places.map(({ item }) => item));
	const heads = places.map((place) => lane.leave(place));
	expect(heads).toEqual([...turns.slice(1), undefined]);
	expect(isEmptied).toBe(true);
	expect(looks).toBeLessThan(10 * count);
});
