import type { SessionUpdate } from "@agentclientprotocol/sdk";

/** Sends updates in order, one at a time. While the editor is slow, texts of one message are joined. */
export class UpdateQueue {
	readonly #send: (update: SessionUpdate) => Promise<void>;
	readonly #waiting: SessionUpdate[] = [];
	#sending: Promise<void> | undefined;

	constructor(send: (update: SessionUpdate) => Promise<void>) {
		this.#send = send;
	}

	push(updates: readonly SessionUpdate[]): void {
		for (const update of updates) {
			const last = this.#waiting.at(-1);
			const joined = last && join(last, update);
			if (joined) this.#waiting[this.#waiting.length - 1] = joined;
			else this.#waiting.push(update);
		}
		if (this.#waiting.length > 0) this.#sending ??= this.#sendAll();
	}

	/** Resolves when everything was sent that was pushed before. */
	async flushed(): Promise<void> {
		while (this.#sending) await this.#sending;
	}

	async #sendAll(): Promise<void> {
		try {
			for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
				await this.#send(next);
			}
		} catch {
			this.#waiting.length = 0; // the editor has gone
		} finally {
			this.#sending = undefined;
		}
	}
}

/** Joins two pieces of one text, and replaces one state of the context by the next. */
function join(first: SessionUpdate, second: SessionUpdate): SessionUpdate | undefined {
	if (first.sessionUpdate !== second.sessionUpdate) return undefined;
	if (second.sessionUpdate === "usage_update") return second;
	if (!("content" in first && "content" in second && "messageId" in first)) return undefined;
	const [a, b] = [first.content, second.content];
	if (!isText(a) || !isText(b) || first.messageId !== Object(second).messageId) return undefined;
	return { ...first, content: { ...a, text: a.text + b.text } } as SessionUpdate;
}

function isText(content: unknown): content is { type: "text"; text: string } {
	return (content as { type?: unknown } | undefined)?.type === "text";
}
