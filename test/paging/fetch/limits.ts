/** Limits of a fetch that a test does not ask about: the defaults of the settings. */
export const LIMITS = { timeoutMs: 30_000, maxBytes: 10_000_000, maxPdfBytes: 50_000_000 };
