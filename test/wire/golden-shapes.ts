import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RequestShape } from "../support/agents/shape.ts";

const FOLDER = fileURLToPath(new URL("golden", import.meta.url));

/** The requests of one real session, in order; see `npm run test:agents`. */
export function goldenShapes(name: string): RequestShape[] {
	const files = globSync(`${name}-[0-9]*.json`, { cwd: FOLDER });
	return Array.from({ length: files.length }, (_, at) =>
		JSON.parse(readFileSync(join(FOLDER, `${name}-${at + 1}.json`), "utf8")),
	);
}
