import { checkGame, checkLaws } from "./laws.ts";

const STEPS = Number(process.env.STRATA_LONG_STEPS ?? 1_000_000);
const PARTS = 10;

// All laws at every step.
for (let part = 1; part <= PARTS; part++) checkGame(Math.ceil(STEPS / PARTS), part * 10_000_000);

// Each law by itself, on results that can be made smaller when one fails: seven a run.
checkLaws(Math.ceil(STEPS / 7 / PARTS));
