/** A part that keeps a promise, and that a test can take out to show that the promise needs it. */
export type Safeguard = "fence" | "interruption" | "guard" | "send-after-commit";

const takenOut = new Set<Safeguard>();

/**
 * For the entry file of a test, before the server is imported. No setting, flag or variable reaches this, and no
 * file of the product calls it (`test/architecture.test.ts`).
 */
export function takeOut(safeguard: Safeguard): void {
	takenOut.add(safeguard);
}

export function isTakenOut(safeguard: Safeguard): boolean {
	return takenOut.has(safeguard);
}
