/**
 * The claims of the economy: `npm run bench -- economy [session.jsonl]`, or the session in STRATA_TRACE; writes `bench/results/economy.json`.
 */
import { liveLines } from "./economy/live.ts";
import { replayLines } from "./economy/replay.ts";
import { simulatorLines } from "./economy/simulator.ts";
import { printLines, saveLines } from "./support.ts";

const lines = [...simulatorLines(), ...liveLines(), ...(await replayLines())];
printLines(lines);
saveLines("economy", lines);
