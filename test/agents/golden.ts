import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { AgentHome } from "../support/agents/run-agent.ts";
import { type RequestShape, Shaper } from "../support/agents/shape.ts";
import type { StandInRequest } from "../support/stand-in/stand-in.ts";
import { goldenShapes } from "../wire/golden-shapes.ts";

/** `npm run test:agents -- --mode record` writes the golden shapes. */
const isRecording = process.env.STRATA_RECORD === "yes";
const GOLDEN = fileURLToPath(new URL("../wire/golden", import.meta.url));

/** Headers of one hop, which are not forwarded. */
export const OF_ONE_HOP =
	/^(host|connection|keep-alive|proxy-.*|sec-websocket-.*|te|trailer|transfer-encoding|upgrade|content-length)$/i;

/** The requests have the golden outlines of that name. Sent directly, they may replace them. */
export function expectGolden(
	name: string,
	{ home, project }: AgentHome,
	requests: readonly StandInRequest[],
	isDirect = false,
): void {
	const shaper = new Shaper([
		[project, "/project"],
		[home, "/home/user"],
	]);
	// What no model answers is not a wire of its own: lists of models, probes, refused upgrades.
	const shapes = requests.filter(({ usage }) => usage).map((request) => shaper.shapeOf(request));
	if (isRecording && isDirect) record(name, shapes);
	expect(shapes.map(outlineOf)).toEqual(goldenShapes(name).map(outlineOf));
}

/** What must not change while the version stays: not lengths, which follow the machine's names and dates. */
function outlineOf({ transport, method, path, headers, body }: RequestShape) {
	return {
		...{ transport, method, path },
		headers: Object.keys(headers)
			.filter((name) => !OF_ONE_HOP.test(name))
			.map((name) => name.toLowerCase())
			.sort(),
		keys: Object.keys(Object(body)),
		blocks: [...JSON.stringify(body).matchAll(/"(?:role|type)":"(\w+)"/g)].map(([, name]) => name),
	};
}

function record(name: string, shapes: readonly RequestShape[]): void {
	for (const [at, shape] of shapes.entries()) {
		const file = join(GOLDEN, `${name}-${at + 1}.json`);
		writeFileSync(file, `${JSON.stringify(shape, null, "\t")}\n`);
	}
}
