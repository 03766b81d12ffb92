import { runs } from "../support/property.ts";
import { checkLaws, STEPS_IN_SCENARIO } from "./laws.ts";

// A fifth of them, 5,000 requests, in `npm test`.
checkLaws(runs(Math.ceil(25_000 / STEPS_IN_SCENARIO)));
