import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * Makes an empty folder and returns its real path (on macOS the temp folder is a link). It is
 * removed when the running test ends, or when the process ends if no test is running.
 */
export function tempDir(prefix = "strata-"): string {
	const path = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
	atEnd(() => removeDir(path));
	return path;
}

/** Removes a folder with all it holds; a folder that is gone already is fine. */
export function removeDir(path: string): void {
	// Windows refuses to remove a file that a child process is still letting go of.
	rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

/**
 * Runs `cleanup` when the running test ends, the last one registered first. Outside a test (a
 * `beforeAll`, a benchmark) it runs at process exit, and only its synchronous part.
 */
export function atEnd(cleanup: () => unknown): void {
	try {
		onTestFinished(async () => {
			await cleanup();
		});
	} catch {
		// vitest refuses the hook outside a test: that is how we know we are outside.
		process.once("exit", () => void cleanup());
	}
}
