import { expect, test } from "vitest";
import { appendPart, type ReadText } from "../../../src/dashboard/views/context/context-view.tsx";
import { fc } from "../../support/property.ts";

function stretch(text: string, offset: number, size: number) {
	const end = Math.min(text.length, offset + size);
	return {
		pieceId: "p",
		text: text.slice(offset, end),
		offset,
		totalChars: text.length,
		...(end < text.length && { nextOffset: end }),
	};
}

test("the parts of a piece joined are its text", () => {
	fc.assert(
		fc.property(fc.string({ maxLength: 200 }), fc.integer({ min: 1, max: 50 }), (text, size) => {
			let read: ReadText | undefined;
			do read = appendPart(read, stretch(text, read?.nextOffset ?? 0, size));
			while (read.nextOffset !== undefined);
			expect(read.parts.map((part) => part.text).join("")).toBe(text);
		}),
	);
});

test("a piece that has changed while it was read starts again with what came last", () => {
	const before = appendPart(undefined, stretch("old text", 0, 3));
	const after = appendPart(before, stretch("another, longer text", 3, 5));
	expect(after.parts).toEqual([{ offset: 3, text: "ther," }]);
});

test("a server that points back is not followed for ever", () => {
	const back = { pieceId: "p", text: "abc", offset: 3, totalChars: 9, nextOffset: 3 };
	expect(appendPart(undefined, back).nextOffset).toBeUndefined();
});
