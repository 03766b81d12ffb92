import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { workerEntry } from "../../src/core/worker-entry.ts";
import { tempDir } from "../support/temp.ts";

test.each([
	["TypeScript", "ts", "const answer: string = 'typed';"],
	["JavaScript", "js", "const answer = 'compiled';"],
])(
	"a module in %s starts the worker in the same language beside it",
	{ tags: "slow" },
	async (_name, end, line) => {
		const folder = tempDir("worker #1 %20 "); // characters that a URL must escape
		writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
		writeFileSync(
			join(folder, `helper.${end}`),
			`import { parentPort } from "node:worker_threads"; ${line} parentPort.postMessage(answer);`,
		);
		const worker = new Worker(
			workerEntry("./helper", pathToFileURL(join(folder, `main.${end}`)).href),
		);
		const [message] = await once(worker, "message");
		expect(message).toBe(end === "ts" ? "typed" : "compiled");
		await worker.terminate();
	},
);
