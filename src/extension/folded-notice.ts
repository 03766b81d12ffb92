import { property } from "../core/property.ts";
import { type Progress, type SessionView, type System, textOf } from "../session/index.ts";
import { callEffect } from "../text/call-effect.ts";
import { plainText } from "../text/one-line.ts";

const KEY = "strata-folded";
const MAX_SUBJECT = 60;

/**
 * For a pi that draws the calls of its own tools itself: it shows how long a command took, its exit status and the diff of an
 * edit, but not which lines the model did not get. A line above the editor names them, until the run ends.
 */
export class FoldedNotice implements System {
	readonly name = "folded notice";
	readonly #started = new Map<string, { readonly args: unknown; readonly atMs: number }>();
	#isShown = false;

	stop(): void {
		this.#started.clear();
		this.#isShown = false;
	}

	onProgress(progress: Progress, session: () => SessionView): void {
		if (progress.kind === "call") {
			const { toolCallId, toolName, args } = progress.call;
			// A read has its effect on its own line.
			if (toolName !== "read" && !this.#started.has(toolCallId)) {
				this.#started.set(toolCallId, { args, atMs: performance.now() });
			}
		} else if (progress.kind === "called") this.#called(progress, session);
		else if (progress.kind === "run" && !progress.isRunning) {
			this.#started.clear();
			if (this.#isShown) this.#show(session(), undefined);
		}
	}

	#called(
		{ call, ended }: Extract<Progress, { kind: "called" }>,
		session: () => SessionView,
	): void {
		const started = this.#started.get(call.toolCallId);
		this.#started.delete(call.toolCallId);
		if (!started || !property(property(ended.details, "birth"), "savedChars")) return;
		const { args, atMs } = started;
		const { details, isError } = ended;
		const durationMs = performance.now() - atMs;
		const text = textOf(ended.content) ?? "";
		const effect = callEffect({ tool: call.toolName, args, details, text, isError, durationMs });
		const subject = plainText(
			String(property(args, "command") ?? property(args, "path") ?? ""),
			MAX_SUBJECT,
		);
		const head = [plainText(call.toolName), subject].filter(Boolean).join(" ");
		this.#show(session(), [head, ...effect].join(" · "));
	}

	#show({ mode, ui }: SessionView, line: string | undefined): void {
		if (mode !== "tui") return;
		ui.setWidget(KEY, line === undefined ? undefined : [`strata: ${line}`]);
		this.#isShown = line !== undefined;
	}
}
