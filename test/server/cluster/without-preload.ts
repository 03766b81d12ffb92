/** Loaded into a server before anything else: it runs without the safeguard that `STRATA_TEST_WITHOUT` names. */
import { type Safeguard, takeOut } from "../../../src/server/safeguards.ts";

takeOut(process.env.STRATA_TEST_WITHOUT as Safeguard);
