import type {
	ReplayModel,
	ReplaySession,
	SessionBlock,
	Step,
} from "../../../src/economy/replay/index.ts";
import { rulesFor } from "../../../src/economy/rules.ts";

/** The shape of a generated session. Sizes in tokens, times in seconds. */
export interface Workload {
	readonly seed: number;
	readonly turns: number;
	/** Calls of tools in one turn, each a request of its own. */
	readonly callsPerTurn: number;
	/** The mean size of a result; sizes scatter widely around it. */
	readonly resultTokens: number;
	/** The mean size of what the model writes in one request. */
	readonly answerTokens: number;
	/** The median time between the end of a turn and the next one. */
	readonly pauseSeconds: number;
	/** The share of results that are files read before, with the same text. */
	readonly repeats: number;
	/** Tokens at which the conversation is compacted. */
	readonly compactAt: number;
	/** `undefined`: there is no limit. */
	readonly contextWindow: number | undefined;
	readonly readRatio: number;
}

/** Long turns with many results, with short pauses between them. */
export const PLAIN: Workload = {
	seed: 1,
	turns: 20,
	callsPerTurn: 8,
	resultTokens: 2500,
	answerTokens: 400,
	pauseSeconds: 45,
	repeats: 0,
	compactAt: Number.POSITIVE_INFINITY,
	contextWindow: undefined,
	readRatio: 0.1,
};

/** Its user often thinks for longer than a cache lives. */
export const SLOW: Workload = { ...PLAIN, pauseSeconds: 400 };

/** Makes a session as an agent in a loop of tools would: the same for the same workload. */
export function generateSession(workload: Workload): ReplaySession {
	const steps = generateSteps(workload);
	return {
		file: `generated ${workload.seed}`,
		skipped: { damaged: 0, tooLong: 0, relinked: 0, surplus: 0, requests: 0 },
		savedAlready: { shortReads: 0, edits: 0 },
		bills: steps,
		steps: () => steps,
	};
}

function generateSteps(workload: Workload): Step[] {
	const random = randomNumbers(workload.seed);
	const scattered = (mean: number) => Math.max(1, Math.round(mean * -Math.log(1 - random())));
	const name = { provider: "anthropic", id: "claude-opus-4-5" };
	const model: ReplayModel = {
		name,
		rules: rulesFor(name, { readRatio: workload.readRatio }),
		prices: undefined,
		contextWindow: workload.contextWindow,
	};
	const steps: Step[] = [];
	let nextId = 0;
	let blocks: SessionBlock[] = [
		block("tools", 4000, "tools"),
		block("system", 6000, "system prompt"),
	];
	let atMs = 0;
	let compacted = false;

	for (let turn = 0; turn < workload.turns; turn++) {
		blocks.push(block("user", scattered(120), "user message"));
		atMs += workload.pauseSeconds * 1000 * Math.exp(2 * (random() - 0.5));
		for (let call = 0; call <= workload.callsPerTurn; call++) {
			send();
			blocks.push(block("text", scattered(workload.answerTokens / 4), "answer"));
			if (call === workload.callsPerTurn) break;
			blocks.push(block("call", scattered((workload.answerTokens * 3) / 4), "call of read"));
			blocks.push(result());
			atMs += 4000 + 8000 * random();
		}
	}
	return steps;

	function send(): void {
		const size = blocks.reduce((sum, { tokens }) => sum + tokens, 0);
		if (size > workload.compactAt) compact();
		const tokens = blocks.reduce((sum, next) => sum + next.tokens, 0);
		steps.push({
			index: steps.length,
			atMs,
			model,
			blocks: [...blocks],
			billed: { input: tokens, read: 0, write: 0, writeOneHour: 0 },
			settings: { model: name.id, thinking: "off" },
			ttl: "5m",
			warmBlocks: 0,
			keptAlive: false,
			changes: new Set(compacted ? ["compaction"] : []),
		});
		compacted = false;
	}

	/** Keeps the newest 20,000 tokens, from a user message or a call on, as pi does. */
	function compact(): void {
		let kept = blocks.length;
		for (let tokens = 0; kept > 2 && tokens < 20_000; ) tokens += blocks[--kept]?.tokens ?? 0;
		while (kept < blocks.length && blocks[kept]?.kind === "result") kept++;
		blocks = [...blocks.slice(0, 2), block("summary", 2000, "summary"), ...blocks.slice(kept)];
		compacted = true;
	}

	function result(): SessionBlock {
		const earlier = blocks.filter(({ kind }) => kind === "result");
		const again = random() < workload.repeats && earlier[Math.floor(random() * earlier.length)];
		if (again) return { ...again, id: nextId++ };
		const made = block("result", scattered(workload.resultTokens), "result of read");
		const read = { path: `file-${made.id}.ts`, window: "+", isWhole: true };
		return { ...made, result: { tool: "read", read, hasImage: false, isError: false } };
	}

	function block(kind: SessionBlock["kind"], tokens: number, label: string): SessionBlock {
		const id = nextId++;
		const part = kind === "tools" || kind === "system" ? kind : "messages";
		return { id, kind, part, tokens, label, hash: `${workload.seed}-${id}` };
	}
}

/** The workloads over which a policy has to pay on the whole: long and short, slow and quick, large results and small. */
export function workloads(readRatio: number): Workload[] {
	const shapes = [
		{ turns: 30, callsPerTurn: 6 },
		{ turns: 10, callsPerTurn: 20 },
		{ turns: 1, callsPerTurn: 150 },
		{ turns: 30, callsPerTurn: 1 },
		{ turns: 4, callsPerTurn: 5 },
		{ turns: 2, callsPerTurn: 2 },
		{ turns: 12, callsPerTurn: 0 },
	];
	return shapes.flatMap((shape, row) =>
		[400, 2500, 8000].flatMap((resultTokens, size) =>
			[45, 400].flatMap((pauseSeconds, pause) =>
				[0, 0.3].map((repeats, repeat) => ({
					...shape,
					resultTokens,
					pauseSeconds,
					repeats,
					answerTokens: 400,
					compactAt: 170_000,
					contextWindow: 200_000,
					readRatio,
					seed: 1 + row * 12 + size * 4 + pause * 2 + repeat,
				})),
			),
		),
	);
}

/** Mulberry32: small, and the same everywhere. */
function randomNumbers(seed: number): () => number {
	let state = seed >>> 0;
	return () => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
		mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
	};
}
