import { median } from "../support.ts";
import { Load } from "./load.ts";
import { processorMs, type ServerProcess } from "./processes.ts";

export interface RaceOptions {
	echo: ServerProcess;
	strata: ServerProcess;
	clients: number;
	depth: number;
	lifecycle: "all" | "own" | "none";
	command(number: number): string;
	rounds: number;
	/** How long each side runs in a round. */
	roundMs: number;
}

export interface Race {
	/** Answers per second, medians. */
	perSecond: Sides<number>;
	/** Ours to the echo server's: the median over the rounds, whose two halves met the same machine. */
	ratio: number;
	/** Processor time per answer, in microseconds; independent of other load on the machine. */
	processorUs: Sides<number>;
	/** The loads, for further use. The caller closes them. */
	loads: Sides<Load>;
}

export interface Sides<Value> {
	echo: Value;
	strata: Value;
}

/** Rounds before those that count: a server that has just started is still being compiled. */
const WARMUP = 3;

/** Puts the same load on the echo server and on ours, in turn. */
export async function raceEcho(options: RaceOptions): Promise<Race> {
	const { echo, strata, clients, depth, lifecycle, command, rounds, roundMs } = options;
	const common = { clients, depth, command };
	const greeting = JSON.stringify({ type: "subscribe", lifecycle });
	const loads = {
		echo: await Load.open({ ...common, port: echo.port, isAnswer: () => true }),
		strata: await Load.open({ ...common, port: strata.port, greeting }),
	};
	const rates: Sides<number[]> = { echo: [], strata: [] };
	const costs: Sides<number[]> = { echo: [], strata: [] };
	for (let round = -WARMUP; round < rounds; round++) {
		const sides = ["echo", "strata"] as const;
		for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
			const before = processorMs(options[side].pid);
			const rate = await loads[side].run(roundMs);
			if (round < 0) continue;
			rates[side].push(rate);
			const answers = (rate * roundMs) / 1000;
			costs[side].push(((processorMs(options[side].pid) - before) * 1000) / answers);
		}
	}
	return {
		perSecond: { echo: median(rates.echo), strata: median(rates.strata) },
		ratio: median(rates.strata.map((rate, round) => rate / (rates.echo[round] as number))),
		processorUs: { echo: median(costs.echo), strata: median(costs.strata) },
		loads,
	};
}
