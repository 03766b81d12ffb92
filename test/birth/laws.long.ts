import { checkLaws } from "./laws.ts";

const RESULTS = Number(process.env.STRATA_LONG_STEPS ?? 1_000_000);

checkLaws(Math.ceil(RESULTS / 7));
