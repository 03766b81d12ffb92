import { median } from "../support.ts";
import { createLoad, type Load } from "./load.ts";

export interface RaceOptions {
	echoPort: number;
	strataPort: number;
	clients: number;
	depth: number;
	lifecycle: "all" | "own" | "none";
	command(number: number): string;
	rounds: number;
}

export interface Race {
	/** Answers per second, medians. */
	echo: number;
	strata: number;
	/** The median over the rounds, whose two halves met the same machine. */
	ratio: number;
	/** The load on the server under test, to go on with. Close it. */
	load: Load;
}

/** How long each side runs in a round. */
const ROUND_MS = 1_000;

/** Puts the same load on the echo server and on ours, in turn. */
export async function raceEcho(options: RaceOptions): Promise<Race> {
	const { echoPort, strataPort, clients, depth, lifecycle, command, rounds } = options;
	const common = { clients, depth, command };
	const echo = await createLoad({ ...common, port: echoPort, isAnswer: () => true });
	const greeting = JSON.stringify({ type: "subscribe", lifecycle });
	const load = await createLoad({ ...common, port: strataPort, greeting });
	const rates = { echo: [] as number[], strata: [] as number[] };
	for (let round = -1; round < rounds; round++) {
		const sides = [
			["echo", echo],
			["strata", load],
		] as const;
		for (const [name, side] of round % 2 === 0 ? sides : sides.toReversed()) {
			const rate = await side.run(ROUND_MS);
			if (round >= 0) rates[name].push(rate); // the first is for the compiler
		}
	}
	echo.close();
	return {
		echo: median(rates.echo),
		strata: median(rates.strata),
		ratio: median(rates.strata.map((rate, round) => rate / (rates.echo[round] as number))),
		load,
	};
}
