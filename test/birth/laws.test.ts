import { runs } from "../support/property.ts";
import { checkGame, checkLaws } from "./laws.ts";

// Five laws of some 2,000 results each in `npm test`.
checkLaws(runs(1500));

// 5,000 steps in `npm test`.
for (let part = 1; part <= 5; part++) checkGame(runs(5000), part * 1_000_000);
