import { PATIENCE_MS } from "../../support/patience.ts";

/** Limits of a fetch that a test does not ask about: of bytes the defaults of the settings, of time far more. */
export const LIMITS = { timeoutMs: PATIENCE_MS, maxBytes: 10_000_000, maxPdfBytes: 50_000_000 };
