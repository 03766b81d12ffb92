import { checkLaws, STEPS_IN_SCENARIO } from "./laws.ts";

const REQUESTS = Number(process.env.STRATA_LONG_STEPS ?? 1_000_000);

checkLaws(Math.ceil(REQUESTS / STEPS_IN_SCENARIO));
