import { type Block, CacheSimulator, type ModelRequest } from "../../src/economy/index.ts";
import { placeBreakpoints } from "../../src/economy/place-breakpoints.ts";
import { type CacheRules, rulesFor } from "../../src/economy/rules.ts";
import { type Line, rounded, sized } from "../support.ts";

const REQUESTS = sized(10_000, 20);
const BLOCKS = 500;
const HEAD = 12;

/** The time of the simulator for 10,000 requests of 500 blocks. Generating the requests does not count. */
export function simulatorLines(): Line[] {
	const anthropic = rulesFor({ provider: "anthropic", id: "claude-opus-4-5" });
	const openai = rulesFor({ provider: "openai", id: "gpt-5.4" });
	return [
		simulated("growing sessions, Anthropic's rules", growingSessions(anthropic), anthropic),
		simulated("growing sessions, OpenAI's rules", growingSessions(openai), openai),
		simulated("no two requests alike, Anthropic's rules", strangers(anthropic), anthropic),
	];
}

function simulated(what: string, requests: Iterable<ModelRequest>, rules: CacheRules): Line {
	const cache = new CacheSimulator(rules);
	let ms = 0;
	let scanMs = 0;
	let read = 0;
	let prompt = 0;
	let blocks = 0;
	for (const request of requests) {
		const start = performance.now();
		const bill = cache.send(request);
		ms += performance.now() - start;
		const sent = performance.now();
		for (const { tokens } of request.blocks) prompt += tokens;
		scanMs += performance.now() - sent;
		read += bill.read;
		blocks += request.blocks.length;
	}
	return {
		case: `simulator: ${what}`,
		unit: "s",
		value: ms / 1000,
		digits: 2,
		target: 2,
		baseline: { name: "adding up the tokens", value: scanMs / 1000 },
		from: { requests: REQUESTS, blocks, "read, % of prompt": rounded((100 * read) / prompt) },
	};
}

/** Two blocks more with each request; from 750 blocks a compaction goes back to 250. */
function* growingSessions(rules: CacheRules): Generator<ModelRequest> {
	let serial = 0;
	const head = Array.from({ length: HEAD }, () => block(serial++));
	let messages: Block[] = [];
	const grow = (count: number) => {
		for (let i = 0; i < count; i++) messages.push(block(serial++));
	};
	grow(BLOCKS / 2 - HEAD);
	for (let turn = 0; turn < REQUESTS; turn++) {
		yield requestOf([...head, ...messages], turn, rules);
		if (HEAD + messages.length < 1.5 * BLOCKS) grow(2);
		else {
			messages = [];
			grow(BLOCKS / 2 - HEAD);
		}
	}
}

/** The worst case: nothing is shared, so that every block is new to the simulator. */
function* strangers(rules: CacheRules): Generator<ModelRequest> {
	for (let turn = 0; turn < REQUESTS; turn++) {
		const blocks = Array.from({ length: BLOCKS }, (_, i) => block(turn * BLOCKS + i, i));
		yield requestOf(blocks, turn, rules);
	}
}

function requestOf(blocks: Block[], turn: number, rules: CacheRules): ModelRequest {
	return { atMs: turn * 20_000, blocks, breakpoints: placeBreakpoints({ blocks, rules }) };
}

function block(serial: number, index = serial): Block {
	const part = index < HEAD - 1 ? "tools" : index < HEAD ? "system" : "messages";
	return { part, hash: serial.toString(16).padStart(64, "0"), tokens: 240, label: "" };
}
