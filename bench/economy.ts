/** The claims of the economy: the cache simulator, the account of a live session, and replay of a real one. */
import { liveLines } from "./economy/live.ts";
import { replayLines } from "./economy/replay.ts";
import { simulatorLines } from "./economy/simulator.ts";
import { sessionFile } from "./economy/trace.ts";
import { report } from "./support.ts";

const trace = sessionFile();
report([...simulatorLines(), ...liveLines(), ...(await replayLines(trace))]);
