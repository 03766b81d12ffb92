import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tempDir } from "../../support/temp.ts";

/** A disk that refuses to take session files, in a server process that is started with `env`. */
export interface FailingDisk {
	readonly env: NodeJS.ProcessEnv;
	/** From now on writing to a session file fails. */
	fill(fault: Fault): void;
	mend(): void;
}

export interface Fault {
	errno: "ENOSPC";
	/** So many writes still succeed. */
	after?: number;
	/** So many bytes of the first one that fails get through. */
	bytes?: number;
	/** So many writes fail, then there is room again. */
	times?: number;
}

const PRELOAD = fileURLToPath(new URL("failing-disk-preload.ts", import.meta.url));

export function createFailingDisk(): FailingDisk {
	const control = join(tempDir("fault"), "fault.json");
	return {
		env: {
			NODE_OPTIONS: `--import=${pathToFileURL(PRELOAD).href}`,
			STRATA_TEST_FAULT: control,
		},
		fill: (fault) => writeFileSync(control, JSON.stringify(fault)),
		mend: () => rmSync(control),
	};
}
