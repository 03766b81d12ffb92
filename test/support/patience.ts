/**
 * How long a test waits for a condition, in milliseconds: far more than it takes on a busy machine, and less than the
 * timeout of a test, so that the wait can report which condition failed.
 */
export const PATIENCE_MS = 120_000;

/** The same for `vi.waitFor`, whose default is one second. */
export const PATIENCE = { timeout: PATIENCE_MS };
