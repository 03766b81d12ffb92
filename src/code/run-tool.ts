import { AbortedError } from "../core/aborted.ts";
import type { BlobStore } from "../core/blob-store.ts";
import { describeError } from "../core/errno.ts";
import { property } from "../core/property.ts";
import { bytesOf, clip } from "../text/clip.ts";
import { grouped } from "../text/figures.ts";
import { oneLine } from "../text/one-line.ts";
import { buildText } from "./index-text.ts";
import {
	coverageLine,
	fitText,
	type ProjectPaths,
	type RenderedAnswer,
	remark,
	wholeAnswer,
} from "./outline.ts";
import { answerTo, type QuestionContext } from "./project.ts";
import type { ToolCalls } from "./tool-definitions.ts";
import {
	depsInput,
	impactQuery,
	outlineInput,
	searchInput,
	symbolInput,
	taskContextInput,
	usagesInput,
} from "./tool-inputs.ts";

type ToolName = keyof ToolCalls;

interface ToolRun extends QuestionContext {
	readonly paths: ProjectPaths;
	readonly delivery: Delivery;
	readonly now: () => number;
}

export async function runTool<N extends ToolName>(name: N, call: ToolCalls[N], run: ToolRun) {
	try {
		const { render } = await answers[name](call, run);
		return await deliver(render(run.now()), run.delivery);
	} catch (error) {
		throw toolError(error);
	}
}

/** Converts any error to one for the user or the model. Aborts use pi's wording. */
export function toolError(error: unknown): Error {
	if (property(error, "code") === "aborted" || property(error, "name") === "AbortError") {
		return new AbortedError(error);
	}
	return new Error(clip(oneLine(describeError(error)), ERROR_BYTES), { cause: error });
}

/** Maximum size of a message, which may quote untrusted paths or queries. */
const ERROR_BYTES = 500;

const answers: {
	[Name in ToolName]: (
		call: ToolCalls[Name],
		run: ToolRun,
	) => Promise<{ render(nowMs: number): RenderedAnswer }>;
} = {
	async kota_index({ path }, run) {
		refuseOutside(path, run.paths);
		const report = await run.project.build(run.caller);
		const forms = [() => [remark(buildText(report))]];
		return { render: (nowMs) => ({ forms, lastLine: coverageLine(report.coverage, nowMs) }) };
	},
	kota_search: (call, run) => answerTo("search", searchInput(call), run),
	kota_deps: (call, run) => answerTo("dependencies", depsInput(call, run.paths.find), run),
	kota_outline: (call, run) => answerTo("outline", outlineInput(call, run.paths.target), run),
	kota_symbol: (call, run) => answerTo("symbol", symbolInput(call, run.paths.target), run),
	kota_usages: (call, run) => answerTo("usages", usagesInput(call, run.paths.find), run),
	kota_impact: (call, run) => answerTo("impact", impactQuery(call, run.paths.find), run),
	kota_task_context: (call, run) =>
		answerTo("taskContext", taskContextInput(call, run.paths.find), run),
};

/** Tools answer only about the working folder's project, so indexing another would be useless. */
function refuseOutside(path: string | undefined, paths: ProjectPaths): void {
	if (path === undefined || path.trim() === "") return;
	const within = paths.find(path.trim());
	if (within !== ".." && !within.startsWith("../")) return;
	throw new Error(
		`${path} is outside of the project ${paths.root}, which is the one that is indexed: start the agent there, or run \`strata index\` there`,
	);
}

export interface Delivery {
	readonly maxBytes: number;
	readonly blobs: Pick<BlobStore, "keep">;
	readonly offerWhole?: (bytes: number) => Promise<boolean>;
}

/** Maximum size of an answer, even if the user agreed to a longer one. */
export const MOST_BYTES = 50_000;

/** Stores an answer over budget as a blob and returns a shorter form, perhaps with fewer items. */
export async function deliver(answer: RenderedAnswer, delivery: Delivery) {
	const text = wholeAnswer(answer);
	const originalBytes = bytesOf(text);
	const whole = { text, details: { truncated: false as const, originalBytes } };
	if (originalBytes <= delivery.maxBytes) return whole;
	const kept = await delivery.blobs.keep(text);
	const wanted = await delivery.offerWhole?.(Math.min(originalBytes, MOST_BYTES));
	const maxBytes = wanted ? MOST_BYTES : delivery.maxBytes;
	if (originalBytes <= maxBytes) return whole;
	const tail = [
		pointer(kept, originalBytes, maxBytes),
		clip(answer.lastLine, Math.floor(maxBytes / 4)),
	].join("\n");
	const excerpt = `${fitText(answer.forms, maxBytes - bytesOf(tail) - 1)}\n${tail}`;
	return {
		text: excerpt,
		details: {
			truncated: true as const,
			// Both are absent if the blob could not be stored.
			...(kept.kind === "kept" && { blobId: kept.blob.id, blobPath: kept.blob.path }),
			originalBytes,
			excerptBytes: bytesOf(excerpt),
		},
	};
}

type Kept = Awaited<ReturnType<BlobStore["keep"]>>;

/** A path that is too long for a small budget appears only in the details. */
function pointer(kept: Kept, originalBytes: number, maxBytes: number): string {
	const shortened = `shortened from ${grouped(originalBytes)} bytes`;
	const most = maxBytes / 2;
	if (kept.kind === "not-kept") {
		const line = `[${shortened}; the whole answer is not kept (${oneLine(kept.why)}): ask for less at a time]`;
		return bytesOf(line) <= most
			? line
			: `[${shortened}; the whole answer is not kept: ask for less]`;
	}
	const line = `[${shortened}; ask for less, or read parts of the whole answer: ${oneLine(kept.blob.path)}]`;
	return bytesOf(line) <= most ? line : `[${shortened}; whole answer: blob ${kept.blob.id}]`;
}
