/**
 * Records the requests that end-to-end tests send to their providers, for `scripts/golden.ts`. Does nothing unless
 * `STRATA_GOLDEN` names a folder. Each test gets one file there, with one request per line, exactly as it was sent.
 */
import { appendFileSync, mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { Provider } from "@earendil-works/pi-ai";
import { expect } from "vitest";

const folder = process.env.STRATA_GOLDEN;

/** Appends one request body to the file of the running test. */
export function recordRequest(body: string): void {
	if (!folder) return;
	const { testPath = "", currentTestName = "outside of a test" } = expect.getState();
	const place = join(folder, basename(testPath, ".test.ts"));
	mkdirSync(place, { recursive: true });
	const name = currentTestName.replaceAll(/[^\w.-]+/g, "-").slice(0, 180);
	appendFileSync(join(place, `${name}.jsonl`), `${body}\n`);
}

/** Records the input of a provider without HTTP: system prompt, messages and tools. */
export function recordProvider(provider: Provider): void {
	if (!folder) return;
	const { stream, streamSimple } = provider;
	Object.assign(provider, {
		stream: recorded(stream.bind(provider)),
		streamSimple: recorded(streamSimple.bind(provider)),
	} satisfies Pick<Provider, "stream" | "streamSimple">);
}

function recorded<Stream extends Provider["stream"] | Provider["streamSimple"]>(
	stream: Stream,
): Stream {
	const recording = (model: { id: string }, context: object, options?: object) => {
		recordRequest(JSON.stringify({ model: model.id, ...context }));
		return (stream as (...args: unknown[]) => unknown)(model, context, options);
	};
	return recording as unknown as Stream;
}
