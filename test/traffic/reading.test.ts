import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { Book } from "../../src/traffic/book.ts";
import { latestRequests } from "../../src/traffic/book-rows.ts";
import { BookWatch } from "../../src/traffic/book-watch.ts";
import { Recorder } from "../../src/traffic/recorder.ts";
import { conversationReport } from "../../src/traffic/report.ts";
import { atEnd, removeDir, tempDir } from "../support/temp.ts";
import { type Prompt, StandIn, says, step } from "./stand-in.ts";

async function recording(folder = join(tempDir(), "traffic")) {
	const provider = new StandIn();
	const recorder = await Recorder.open(
		{ folder, keepTexts: false, keepDays: 30 },
		() => provider.nowMs,
	);
	atEnd(() => recorder.close());
	const send = (...all: Prompt["messages"][]) =>
		all.reduce(
			(sent, messages) => sent.then(() => recorder.add(provider.exchange({ messages }))),
			Promise.resolve<unknown>(undefined),
		);
	return { folder, send, close: () => recorder.close() };
}

async function readingOf(folder: string): Promise<Book> {
	const book = await Book.openForReading(folder);
	if (!book) throw new Error("there is no book");
	atEnd(() => book.close());
	return book;
}

const first = [says("question")];
const second = [...first, ...step("a")];
const third = [...second, ...step("b")];

describe("parts of a book", () => {
	test("a request alone has the same messages as in its whole conversation, over branches too", async () => {
		const { folder, send } = await recording();
		const branch = [...second, ...step("c"), ...step("d")];
		await send(first, second, third, branch, [...third, ...step("e")], [...branch, ...step("f")]);
		const book = await readingOf(folder);
		const requests = book.requests(1);
		expect(requests.some(({ step }) => step === "branch")).toBe(true);
		for (const { request, messages } of latestRequests(requests, requests.length)) {
			expect(book.messages(request)).toEqual(messages);
		}
	});

	test("requests without their pieces have all other fields", async () => {
		const { folder, send } = await recording();
		await send(first, second, third, [says("another question"), ...third]);
		const book = await readingOf(folder);
		const steps = book.requests(1).map(({ pieces: _, settings: __, ...step }) => step);
		expect(book.steps(1)).toEqual(steps);
		expect(book.stepsAfter(1, 2)).toEqual(steps.slice(-2));
	});

	test("a prompt of more pieces than any window holds has no shares", async () => {
		const { folder, send } = await recording();
		await send(first, second);
		const book = await readingOf(folder);
		expect(conversationReport(book, 1)?.window.length).toBeGreaterThan(0);
		const database = new DatabaseSync(join(folder, "book.sqlite"));
		database.exec("UPDATE request SET shared = 100001 WHERE id = 2");
		database.close();
		expect(conversationReport(book, 1)).toMatchObject({ steps: [{}, {}], window: [] });
	});

	test("the report of the latest requests has all sums, and the same window", async () => {
		const { folder, send } = await recording();
		await send(first, second, third);
		const book = await readingOf(folder);
		const all = conversationReport(book, 1);
		const latest = conversationReport(book, 1, 1);
		expect(latest).toEqual({ ...all, steps: all?.steps.slice(-1) });
		expect(latest?.requests).toBe(3);
		expect(conversationReport(book, 2)).toBeUndefined();
		expect(book.sums({ limit: 0 })).toEqual([]);
	});
});

describe("watching a book", () => {
	const NONE = { requests: [], isPartial: false };

	test("reports each request once, and none that was there before", async () => {
		const { folder, send } = await recording();
		await send(first);
		const watch = new BookWatch(folder);
		atEnd(() => watch.close());
		await watch.start();
		expect(await watch.news(9)).toEqual(NONE);
		await send(second, third);
		expect((await watch.news(9)).requests.map(({ id }) => id)).toEqual([2, 3]);
		expect(await watch.news(9)).toEqual(NONE);
		await send([...third, ...step("c")], [...third, ...step("c"), ...step("d")]);
		// After many, only the latest.
		expect(await watch.news(1)).toMatchObject({ requests: [{ id: 5 }], isPartial: true });
		expect(await watch.news(9)).toEqual(NONE);
	});

	test("that was not begun reports none of the requests that are there", async () => {
		const { folder, send } = await recording();
		await send(first, second);
		const watch = new BookWatch(folder);
		atEnd(() => watch.close());
		expect(await watch.news(9)).toEqual(NONE);
		await send(third);
		expect((await watch.news(9)).requests.map(({ id }) => id)).toEqual([3]);
	});

	test("finds a book that is created later, and one that replaces another", async () => {
		const folder = join(tempDir(), "traffic");
		const watch = new BookWatch(folder);
		atEnd(() => watch.close());
		await watch.start();
		expect(await watch.news(9)).toEqual(NONE);
		const one = await recording(folder);
		await one.send(first, second);
		expect((await watch.news(9)).requests.map(({ id }) => id)).toEqual([1, 2]);
		one.close();
		removeDir(folder);
		expect(await watch.news(9)).toEqual(NONE);
		const other = await recording(folder);
		await other.send(first);
		expect((await watch.news(9)).requests.map(({ id }) => id)).toEqual([1]);
	});
});
