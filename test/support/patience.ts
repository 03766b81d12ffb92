/**
 * How long a test waits for what has to come, in milliseconds: far more than it takes on a busy machine, and less than
 * a test may take, so that the wait can say what did not come.
 */
export const PATIENCE_MS = 120_000;

/** The same for `vi.waitFor`, which gives up after a second by itself. */
export const PATIENCE = { timeout: PATIENCE_MS };
