import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * Makes an empty folder and returns its real path (on macOS the temp folder is a link). Its name has a space and the
 * name of the project in it, as that of a clone may have: every test shows that neither matters. It is removed when the
 * running test ends, or after the last test if none is running.
 */
export function tempDir(name = "temp", place = tmpdir()): string {
	const path = realpathSync(mkdtempSync(join(place, `pi-strata ${name}-`)));
	atEnd(() => removeDir(path));
	return path;
}

/** A path for a Unix socket, in a folder of its own. Its length is limited to about a hundred bytes, so the temp folder can be too deep. */
export function socketPath(): string {
	return join(tempDir("s", tmpdir().length > 60 ? "/tmp" : tmpdir()), "s");
}

/** Removes a folder with all it holds; a folder that is gone already is fine. */
export function removeDir(path: string): void {
	// Windows refuses to remove a file that a child process still holds open.
	rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

/**
 * Runs `cleanup` when the running test ends, the last one registered first. Outside a test (a `beforeAll`, a
 * benchmark) it runs after the last test or at process exit, and then only its synchronous part.
 */
export function atEnd(cleanup: () => unknown): void {
	try {
		onTestFinished(async () => {
			await cleanup();
		});
	} catch {
		// vitest refuses the hook outside a test: that is how we know we are outside.
		if (!endsAtExit) process.once("exit", endOutside);
		endsAtExit = true;
		outside.push(cleanup);
	}
}

const outside: (() => unknown)[] = [];
let endsAtExit = false;

/** Runs the cleanups that were registered outside a test. vitest ends its processes without an exit event, so a hook calls this. */
export function endOutside(): void {
	for (const cleanup of outside.splice(0).reverse()) void cleanup();
}
