import type { Coverage } from "../answers.ts";

/** An answer as the queries give it; how far it can be trusted is added by whoever keeps the index. */
export type Uncovered<Answer extends { readonly coverage: Coverage }> = Omit<Answer, "coverage">;
