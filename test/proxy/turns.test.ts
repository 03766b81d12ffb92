import { expect, test } from "vitest";
import { CopyBudget } from "../../src/proxy/body-copy.ts";
import { Turns } from "../../src/proxy/turns.ts";
import { type Exchange, framesIn } from "../../src/wire/exchange.ts";

const MIB = 1024 * 1024;
const about = { upstream: "test", method: "GET", path: "/v1/responses", requestHeaders: {} };
const CREATE = Buffer.from('{"type":"response.create"}');
const DONE = Buffer.from('{"type":"response.completed"}');

function turnsOf(maxBodyBytes = 8 * MIB) {
	const exchanges: Exchange[] = [];
	const budget = new CopyBudget(32 * MIB);
	const onExchange = (exchange: Exchange) => void exchanges.push(exchange);
	return { turns: new Turns({ budget, maxBodyBytes, about, onExchange }), exchanges, budget };
}

test("frames are kept as bytes, and not decoded", async () => {
	const { turns, exchanges, budget } = turnsOf();
	const frame = Buffer.concat([Buffer.from('{"type":"x","y":"'), Buffer.of(0xff), CREATE]);
	frame.toString = () => expect.unreachable("a frame is decoded");
	turns.sent(CREATE);
	turns.received(frame);
	turns.received(DONE);
	await turns.settled();
	const kept = Buffer.from(exchanges[0]?.frames ?? []);
	expect(kept.includes(frame)).toBe(true);
	expect(kept.length).toBe(frame.length + DONE.length + 2);
	expect(budget.held).toBe(0);
});

test("a long frame is copied in steps between which other work has its turn", async () => {
	const { turns, exchanges } = turnsOf();
	const long = Buffer.from(`{"type":"x","y":"${"→".repeat(2 * MIB)}"}`);
	turns.sent(CREATE);
	turns.received(long);
	turns.received(DONE);
	let rounds = 0;
	const count = () => {
		rounds++;
		if (exchanges.length === 0) setImmediate(count);
	};
	setImmediate(count);
	await turns.settled();
	expect(rounds).toBeGreaterThanOrEqual(5);
	expect(framesIn(exchanges[0]?.frames ?? new Uint8Array())).toEqual([String(long), String(DONE)]);
});

test("exchanges are handed over in the order of their ends, however long their answers are", async () => {
	const { turns, exchanges } = turnsOf();
	turns.sent(CREATE);
	turns.sent(CREATE);
	turns.received(Buffer.alloc(4 * MIB, "x"));
	turns.received(DONE);
	turns.received(DONE);
	await turns.settled();
	expect(exchanges.map(({ frames }) => Number(frames?.length) > MIB)).toEqual([true, false]);
});

test("after a message that may be a request, answers are not taken for those of later ones", async () => {
	const { turns, exchanges } = turnsOf();
	turns.sent(CREATE);
	turns.sent(Buffer.from(`{"x":"${"y".repeat(MIB)}","type":"response.create"}`));
	turns.sent(CREATE);
	for (let answer = 0; answer < 3; answer++) turns.received(DONE);
	await turns.settled();
	expect(exchanges).toHaveLength(1);
});
