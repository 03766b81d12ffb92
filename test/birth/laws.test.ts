import { runs } from "../support/property.ts";
import { checkLaws } from "./laws.ts";

// Five laws of some 2,000 results each in `npm test`.
checkLaws(runs(1500));
