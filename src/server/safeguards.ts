/** A safety device that a test can take out, to show that the histories need it. */
export type Safeguard = "fence" | "interruption" | "guard" | "send-after-commit";

/** For tests only. */
export function isTakenOut(safeguard: Safeguard): boolean {
	return (process.env.STRATA_TEST_WITHOUT ?? "").split(",").includes(safeguard);
}
