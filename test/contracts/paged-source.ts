import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
	type Chunk,
	type ChunkQuery,
	createPagedReader,
	type PagedReader,
	type PagedReaderOptions,
} from "../../src/paging/index.ts";
import { type HostileWeb, startHostileWeb } from "../support/hostile-web.ts";
import { PATIENCE_MS } from "../support/patience.ts";
import { tempDir } from "../support/temp.ts";

/** Where the resources of a test are, and a clock for the cache. */
export interface Place {
	root: string;
	web: HostileWeb;
	/** What the readers' `now` returns; add to it to let the cache expire. */
	clock: { now: number };
}

/** The texts a resource can have: two different ones of more than 20,000 characters, and nothing. */
export type Version = "one" | "two" | "empty";

/** One way of getting at a resource, for {@link testPagedSource}. */
export interface PagedSource {
	name: string;
	kind: Chunk["kind"];
	/** Makes or changes a resource, and returns its address. */
	put(place: Place, name: string, version: Version): string;
	/** What the chunks joined must be, where that is known to the letter. */
	whole?: string;
	/** The text of the empty version. Default: nothing. */
	empty?: string;
	/** What must be in there, in this order. */
	landmarks: readonly string[];
}

const TTL_MS = 60_000;

/** The only keys an answer may have: the specification's, and ours. */
const ANSWER_KEYS = new Set([
	...["uri", "content", "truncated", "next_cursor", "content_type", "kind", "page_info"],
	...["title", "final_uri", "total_chars", "cursor_reset", "cursor_reason", "degraded", "warning"],
	...["author", "published", "left_out", "outline"],
]);

/** An empty place with a server. Close it. */
export async function openPlace() {
	const web = await startHostileWeb();
	const place: Place = { root: tempDir(), web, clock: { now: 1_000_000 } };
	const readers: PagedReader[] = [];
	return {
		...place,
		reader(options: Partial<PagedReaderOptions> = {}): PagedReader {
			const reader = createPagedReader({
				root: place.root,
				allowRanges: ["127.0.0.0/8"],
				ttlMinutes: TTL_MS / 60_000,
				now: () => place.clock.now,
				timeoutSeconds: PATIENCE_MS / 1000,
				extractSeconds: PATIENCE_MS / 1000,
				...options,
			});
			readers.push(reader);
			return reader;
		},
		async close() {
			await Promise.all(readers.map((reader) => reader.close()));
			await web.close();
		},
	};
}

/** Reads to the end, checking the laws that hold for every chunk. */
export async function readAll(
	reader: PagedReader,
	request: ChunkQuery,
	limit = 8000,
): Promise<Chunk[]> {
	const answers: Chunk[] = [];
	let { cursor } = request;
	do {
		const answer = await reader.read({ ...request, cursor });
		expect(answer.content.length).toBeLessThanOrEqual(limit);
		if (answers.length > 0) expect(answer.content).not.toBe("");
		expectShape(answer);
		answers.push(answer);
		cursor = answer.next_cursor;
	} while (cursor !== undefined);
	return answers;
}

export function joined(answers: readonly Chunk[]): string {
	return answers.map(({ content }) => content).join("");
}

function expectShape(answer: Chunk): void {
	expect(Object.keys(answer).filter((key) => !ANSWER_KEYS.has(key))).toEqual([]);
	expect(Object.values(answer)).not.toContain(undefined);
	expect(answer.truncated).toBe(answer.next_cursor !== undefined);
	expect(answer.content.isWellFormed()).toBe(true);
	if (answer.next_cursor !== undefined) expect(answer.next_cursor).toMatch(/^[\w-]{1,64}$/);
	expect("page_info" in answer).toBe(answer.kind === "pdf");
}

/** What every source of paged reading must do. */
export function testPagedSource(source: PagedSource): void {
	describe(`the contract over ${source.name}`, () => {
		let place: Awaited<ReturnType<typeof openPlace>>;
		let reader: PagedReader;
		let uri: string;
		let names = 0;

		beforeAll(async () => {
			place = await openPlace();
			reader = place.reader();
			uri = source.put(place, "shared", "one");
		});
		afterAll(() => place.close());

		const fresh = (version: Version = "one") => {
			const name = `own-${++names}`;
			const put = (next: Version) => source.put(place, name, next);
			return { uri: put(version), put };
		};
		const expire = () => {
			place.clock.now += TTL_MS + 1;
		};

		test("chunks of any size joined are the same whole", { tags: "slow" }, async () => {
			const texts = new Map<number, string>();
			for (const size of [64, 100, 997, 8000, 20_000]) {
				const answers = await readAll(reader, { uri, max_chars: size }, size);
				expect(answers.length).toBeGreaterThan(1);
				texts.set(size, joined(answers));
			}
			const [whole = "", ...others] = texts.values();
			for (const other of others) expect(other).toBe(whole);
			if (source.whole !== undefined) expect(whole).toBe(source.whole);
			let from = 0;
			for (const landmark of source.landmarks) {
				from = whole.indexOf(landmark, from);
				expect(from, landmark).toBeGreaterThanOrEqual(0);
			}
		});

		test("the size of a chunk is 8,000 by default, 20,000 at most", async () => {
			const byDefault = await reader.read({ uri });
			expect(byDefault).toEqual(await reader.read({ uri, max_chars: 8000 }));
			expect(byDefault.content.length).toBeGreaterThan(4000);
			const most = await reader.read({ uri, max_chars: 20_000 });
			for (const max_chars of [20_001, 1e9, Number.MAX_SAFE_INTEGER, 2 ** 60]) {
				expect(await reader.read({ uri, max_chars })).toEqual(most);
			}
		});

		test.each([63, 1, 0, -1, 64.5, Number.NaN, Number.POSITIVE_INFINITY])(
			"max_chars %d is a clear error",
			async (max_chars) => {
				await expect(reader.read({ uri, max_chars })).rejects.toMatchObject({
					code: "invalid_max_chars",
					message: expect.stringContaining(`at least 64, got ${max_chars}`),
				});
			},
		);

		test("the size may change while reading on", async () => {
			const sizes = [64, 5000, 131, 20_000];
			const whole = joined(await readAll(reader, { uri }));
			const parts: string[] = [];
			let cursor: string | undefined;
			do {
				const max_chars = sizes[parts.length % sizes.length];
				const answer = await reader.read({ uri, cursor, max_chars });
				parts.push(answer.content);
				cursor = answer.next_cursor;
			} while (cursor !== undefined);
			expect(parts.join("")).toBe(whole);
		});

		test("an answer is the specification's object, with metadata of constant size", async () => {
			const answers = await readAll(reader, { uri, max_chars: 500 }, 500);
			const sizes = answers.map(({ content: _, ...rest }) => JSON.stringify(rest).length);
			expect(Math.max(...sizes)).toBeLessThan(600 + uri.length);
			for (const answer of answers) {
				expect(answer).toMatchObject({ uri, kind: source.kind });
				expect("cursor_reset" in answer).toBe(false);
			}
			if (source.kind === "pdf") return;
			expect(answers[0]?.total_chars).toBe(joined(answers).length);
		});

		test("a cursor read twice gives the same chunk", async () => {
			const { next_cursor: cursor } = await reader.read({ uri });
			expect(await reader.read({ uri, cursor })).toEqual(await reader.read({ uri, cursor }));
		});

		test("a malformed cursor is a clear error", async () => {
			const { next_cursor: good = "" } = await reader.read({ uri });
			const swapped = (good.startsWith("A") ? "B" : "A") + good.slice(1);
			const bad = ["", "x", swapped, `${good}=`, good.slice(1), ` ${good}`, "💥".repeat(5000)];
			for (const cursor of bad) {
				await expect(reader.read({ uri, cursor })).rejects.toMatchObject({
					code: "cursor_malformed",
				});
			}
		});

		test("a cursor of another resource is a clear error", async () => {
			const other = fresh("two");
			const { next_cursor: cursor } = await reader.read({ uri: other.uri });
			await expect(reader.read({ uri, cursor })).rejects.toMatchObject({
				code: "cursor_foreign",
				message: expect.stringContaining("another resource"),
			});
		});

		test("a cursor of changed content starts over, and says so", async () => {
			const own = fresh();
			const { next_cursor: cursor } = await reader.read({ uri: own.uri });
			own.put("two");
			expire();
			const again = await reader.read({ uri: own.uri, cursor });
			expect(again).toMatchObject({ cursor_reset: true, cursor_reason: "content_changed" });
			const { cursor_reset, cursor_reason, ...rest } = again;
			expect(rest).toEqual(await reader.read({ uri: own.uri }));
			const rest2 = await readAll(reader, { uri: own.uri, cursor: again.next_cursor });
			expect(again.content + joined(rest2)).toBe(joined(await readAll(reader, { uri: own.uri })));
		});

		test("a cursor outlives the cache, the reader and a rewrite with the same content", {
			tags: "slow",
		}, async () => {
			const own = fresh();
			const first = await reader.read({ uri: own.uri });
			const second = await reader.read({ uri: own.uri, cursor: first.next_cursor });
			expire();
			const request = { uri: own.uri, cursor: first.next_cursor };
			expect(await reader.read(request)).toEqual(second);
			own.put("one");
			expire();
			expect(await reader.read(request)).toEqual(second);
			expect(await place.reader().read(request)).toEqual(second);
		});

		test("simultaneous reads load once", async () => {
			const own = fresh();
			const before = place.web.requests.length;
			const answers = await Promise.all(
				Array.from({ length: 8 }, () => reader.read({ uri: own.uri })),
			);
			expect(place.web.requests.length - before).toBeLessThanOrEqual(1);
			expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
		});

		test("an empty document is one empty chunk", async () => {
			const own = fresh("empty");
			const answer = await reader.read({ uri: own.uri });
			const content = source.empty ?? "";
			expect(answer).toMatchObject({ content, truncated: false, kind: source.kind });
			expectShape(answer);
		});

		test("an aborted read is an error of its own, and spoils nothing", async () => {
			const own = fresh();
			const request = { uri: own.uri };
			const aborted = { code: "aborted" };
			await expect(reader.read(request, AbortSignal.abort())).rejects.toMatchObject(aborted);
			const stop = new AbortController();
			const stopped = reader.read(request, stop.signal);
			const other = reader.read(request);
			stop.abort();
			await expect(stopped).rejects.toMatchObject(aborted);
			expect((await other).content).not.toBe("");
			expect((await reader.read(request)).truncated).toBe(true);
		});
	});
}
