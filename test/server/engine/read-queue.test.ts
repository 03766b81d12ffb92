import { describe, expect, test } from "vitest";
import { ReadQueue, SLICE_BYTES, SLICE_MS } from "../../../src/server/engine/read-queue.ts";
import { fc } from "../../support/property.ts";

/** A read of a connection. Its name is that of the connection and a number: `a1-0` is the first of Ann's first one. */
interface Read {
	name: string;
	tenant: object;
	line: Line;
	ms: number;
	bytes: number;
}

interface Line {
	hasRoom: boolean;
	waiting: (() => void)[];
}

/** A queue whose event loop stands still until a test says otherwise. */
function createLoop({ ms = 0, bytes = 0 } = {}) {
	const tenants = new Map<string, object>();
	const lines = new Map<string, Line>();
	const done: string[] = [];
	const turns: (() => void)[] = [];
	const ticks: (() => void)[] = [];
	let now = 0;
	let onWork: ((read: Read) => void) | undefined;
	const queue: ReadQueue<Read> = new ReadQueue<Read>({
		tenantOf: ({ tenant }) => tenant,
		queueOf: ({ line }) => line,
		hasRoom: ({ line }) => line.hasRoom,
		whenRoom: ({ line }) => new Promise((resolve) => line.waiting.push(resolve)),
		work(read) {
			done.push(read.name);
			now += read.ms;
			queue.spend(read.bytes);
			onWork?.(read);
		},
		clock: () => now,
		afterWork: (next) => void ticks.push(next),
		nextTurn: (next) => void turns.push(next),
	});
	const found = <Value>(map: Map<string, Value>, key: string, make: () => Value): Value => {
		const value = map.get(key) ?? make();
		map.set(key, value);
		return value;
	};
	const lineOf = (connection: string) =>
		found(lines, connection, () => ({ hasRoom: true, waiting: [] }));
	const finishTurn = () => {
		for (let tick = ticks.shift(); tick; tick = ticks.shift()) tick();
	};
	return {
		queue,
		done,
		line: lineOf,
		onWork(hook: (read: Read) => void) {
			onWork = hook;
		},
		/** Adds so many reads of a connection; the first letter of its name is its principal. */
		add(connection: string, count: number) {
			const tenant = found(tenants, connection.charAt(0), () => ({}));
			const line = lineOf(connection);
			for (let at = 0; at < count; at++) {
				queue.add({ name: `${connection}-${at}`, tenant, line, ms, bytes });
			}
		},
		/** Lets all microtasks of this turn run. */
		finishTurn,
		/** Goes on to the next turn. Returns what was done in it; false when none is due. */
		turn(): string[] | false {
			finishTurn();
			const next = turns.shift();
			if (!next) return false;
			const before = done.length;
			next();
			finishTurn();
			return done.slice(before);
		},
		async giveRoom(connection: string) {
			const line = lineOf(connection);
			line.hasRoom = true;
			for (const resolve of line.waiting.splice(0)) resolve();
			await Promise.resolve();
		},
	};
}

describe("reads in a queue", () => {
	test("run at once while nothing else does", () => {
		const loop = createLoop({ ms: SLICE_MS });
		loop.add("a1", 1);
		expect(loop.done).toEqual(["a1-0"]);
	});

	test("run in the turn in which they came as long as they are quick", () => {
		const loop = createLoop();
		loop.add("a1", 100);
		loop.finishTurn();
		expect(loop.done).toHaveLength(100);
	});

	test("leave the loop after a slice of time, and go on in the next turn", () => {
		const loop = createLoop({ ms: SLICE_MS / 2 });
		loop.add("a1", 5);
		loop.finishTurn();
		expect(loop.done).toEqual(["a1-0", "a1-1"]);
		expect(loop.turn()).toEqual(["a1-2", "a1-3"]);
		expect(loop.turn()).toEqual(["a1-4"]);
		expect(loop.turn()).toEqual([]);
		expect(loop.turn()).toBe(false);
	});

	test("leave the loop after a slice of bytes, which have to be sent", () => {
		const loop = createLoop({ bytes: SLICE_BYTES / 2 });
		loop.add("a1", 3);
		loop.finishTurn();
		expect(loop.done).toHaveLength(2);
		expect(loop.turn()).toEqual(["a1-2"]);
	});

	test("come one at least each turn, however long they take", () => {
		const loop = createLoop({ ms: 1000 });
		loop.add("a1", 3);
		loop.finishTurn();
		expect([loop.done.length, loop.turn(), loop.turn()]).toEqual([1, ["a1-1"], ["a1-2"]]);
	});

	test("use one slice a turn, however many connections they come over and however often the queue is empty", () => {
		const loop = createLoop({ ms: SLICE_MS });
		for (let connection = 0; connection < 5; connection++) {
			loop.add(`a${connection}`, 1);
			loop.finishTurn(); // between two sockets microtasks run
		}
		expect(loop.done).toEqual(["a0-0"]);
		expect(loop.turn()).toEqual(["a1-0"]);
	});

	test("of another principal come next, whatever the first has in line", () => {
		const loop = createLoop({ ms: SLICE_MS });
		for (let connection = 0; connection < 39; connection++) loop.add(`a${connection}`, 128);
		loop.turn();
		loop.add("b0", 2);
		const turns = [loop.turn(), loop.turn(), loop.turn(), loop.turn()].flat();
		expect(turns.filter((name) => String(name).startsWith("b"))).toEqual(["b0-0", "b0-1"]);
	});

	test("of the connections of a principal take turns, each in the order in which they came", () => {
		const loop = createLoop({ ms: 0 });
		loop.add("a0", 1); // at work while the others come
		loop.add("a1", 3);
		loop.add("a2", 2);
		loop.finishTurn();
		expect(loop.done).toEqual(["a0-0", "a1-0", "a2-0", "a1-1", "a2-1", "a1-2"]);
	});

	test("of a connection without room do not begin, and hold up no others", async () => {
		const loop = createLoop();
		loop.line("a1").hasRoom = false;
		loop.add("a1", 2);
		loop.add("a2", 1);
		loop.add("b1", 1);
		loop.finishTurn();
		while (loop.turn());
		expect(loop.done).toEqual(["a2-0", "b1-0"]);
		await loop.giveRoom("a1");
		expect(loop.turn()).toEqual(["a1-0", "a1-1"]);
	});

	test("stop in the middle of a line when its room is used up", async () => {
		const loop = createLoop();
		loop.onWork(({ line }) => {
			line.hasRoom = false;
		});
		loop.add("a1", 3);
		for (const expected of ["a1-0", "a1-1", "a1-2"]) {
			while (loop.turn());
			expect(loop.done.at(-1)).toBe(expected);
			await loop.giveRoom("a1");
		}
		expect(loop.done).toHaveLength(3);
	});

	test("of a connection that is told of room and has none wait again, a turn later", async () => {
		const loop = createLoop();
		const line = loop.line("a1");
		line.hasRoom = false;
		loop.add("a1", 1);
		for (let again = 0; again < 3; again++) {
			expect(line.waiting).toHaveLength(1);
			line.waiting.pop()?.();
			await Promise.resolve();
			expect(line.waiting).toHaveLength(0);
			while (loop.turn());
		}
		expect(loop.done).toEqual([]);
		await loop.giveRoom("a1");
		while (loop.turn());
		expect(loop.done).toEqual(["a1-0"]);
	});

	test("are at work until their microtasks have run", () => {
		const loop = createLoop();
		let first: Read | undefined;
		loop.onWork((read) => {
			first ??= read;
		});
		loop.add("a1", 1);
		expect(loop.queue.current).toBe(first);
		loop.finishTurn();
		expect(loop.queue.current).not.toBe(first);
	});

	test("all run once, in order within their connection, whatever happens in between", async () => {
		const connections = ["a1", "a2", "b1", "b2", "c1"];
		const step = fc.oneof(
			fc.record({ kind: fc.constant("add" as const), of: fc.constantFrom(...connections) }),
			fc.record({ kind: fc.constant("block" as const), of: fc.constantFrom(...connections) }),
			fc.record({ kind: fc.constant("room" as const), of: fc.constantFrom(...connections) }),
			fc.record({ kind: fc.constant("turn" as const), of: fc.constant("") }),
		);
		await fc.assert(
			fc.asyncProperty(
				fc.array(step, { maxLength: 80 }),
				fc.integer({ min: 0, max: 5 }),
				async (steps, ms) => {
					const loop = createLoop({ ms });
					const added = new Map<string, number>();
					for (const { kind, of } of steps) {
						if (kind === "add") {
							added.set(of, (added.get(of) ?? 0) + 3);
							loop.add(of, 3);
						} else if (kind === "block") loop.line(of).hasRoom = false;
						else if (kind === "room") await loop.giveRoom(of);
						else loop.turn();
					}
					for (const connection of connections) await loop.giveRoom(connection);
					while (loop.turn());
					for (const connection of connections) {
						const own = loop.done.filter((name) => name.startsWith(connection));
						const expected = Array.from(
							{ length: added.get(connection) ?? 0 },
							(_, at) => `${connection}-${at % 3}`,
						);
						expect(own).toEqual(expected);
					}
				},
			),
		);
	});
});

describe("the real event loop", () => {
	test("runs what a read does in microtasks before the next read, and other callbacks between slices", async () => {
		const order: string[] = [];
		let now = 0;
		const line = {};
		const queue = new ReadQueue<number>({
			tenantOf: () => line,
			queueOf: () => line,
			hasRoom: () => true,
			whenRoom: async () => undefined,
			work(read) {
				order.push(`begin ${read}`);
				void (async () => {
					for (let wait = 0; wait < 10; wait++) await undefined;
					now += SLICE_MS / 2;
					order.push(`end ${read}`);
				})();
			},
			clock: () => now,
		});
		for (const read of [1, 2, 3]) queue.add(read);
		setImmediate(() => order.push("others"));
		while (order.length < 7) await new Promise((resolve) => setImmediate(resolve));
		expect(order.slice(0, 4)).toEqual(["begin 1", "end 1", "begin 2", "end 2"]);
		expect(order.slice(4).toSorted()).toEqual(["begin 3", "end 3", "others"]);
	});
});
