import type { SessionEvent } from "../../protocol/index.ts";

/** What has begun in a session and not ended yet, as somebody sees it who knows its events only. */
export class UnderWay {
	readonly #begun = new Set<string>();

	/** Takes the next event. Returns whether something is under way after it. */
	take(event: SessionEvent): boolean {
		switch (event.type) {
			case "agent_start":
				this.#begun.add(RUN);
				break;
			case "agent_settled":
				this.#begun.delete(RUN);
				break;
			case "compaction_start":
				this.#begun.add(COMPACTION);
				break;
			case "compaction_end":
				this.#begun.delete(COMPACTION);
				break;
			case "extension_ui_request":
				if (QUESTIONS.has(event.method)) this.#begun.add(dialog(event.requestId));
				break;
			case "extension_ui_closed":
				this.#begun.delete(dialog(event.requestId));
		}
		return this.#begun.size > 0;
	}
}

/** Messages, tool calls and retries are part of it: it ends when nothing more comes by itself. */
const RUN = "run";
const COMPACTION = "compaction";

/** What waits for an answer; the rest is only shown. */
const QUESTIONS: ReadonlySet<string> = new Set(["select", "confirm", "input", "editor"]);

function dialog(requestId: string): string {
	return `dialog ${requestId}`;
}
