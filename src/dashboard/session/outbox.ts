import { batch, computed, signal } from "@preact/signals";
import type { Client, ClientError, ClientErrorCode } from "../../protocol/client.ts";
import type { Data } from "../../protocol/index.ts";
import type { StoredText } from "../parts/storage.ts";
import type { SentImage } from "./attachments.tsx";
import { type InputCommand, parseInput, type StreamingBehavior } from "./input-command.ts";

/** A text to send. Its id makes retries idempotent: the server runs the command once. */
export interface Outgoing {
	readonly id: string;
	readonly text: string;
	readonly how?: StreamingBehavior;
	readonly images?: readonly SentImage[];
	readonly isSent: boolean;
	readonly wasOffline: boolean;
}

export interface ShellCommand {
	readonly id: string;
	readonly command: string;
	readonly result?: Data<"BashResult">;
}

interface OutboxOptions {
	readonly client: Pick<Client, "state" | "request" | "onState" | "newId">;
	readonly sessionId: string;
	readonly store: StoredText;
	onDone(command: InputCommand, data: unknown): void;
	onFailed(text: string, command: InputCommand, error: ClientError): void;
}

/** Commands of this page that the server has not answered, including those from before a reload. */
export class Outbox {
	readonly pending = signal<readonly Outgoing[]>([]);
	/** Messages that the server has not accepted yet, with or without a connection. */
	readonly sending = computed(() =>
		this.pending.value.filter((one) => !one.wasOffline && shellCommand(one) === undefined),
	);
	/** Commands that wait for a connection, or for an answer after a lost one. Without sent shell commands. */
	readonly waiting = computed(() =>
		this.pending.value.filter((one) => one.wasOffline && !(one.isSent && shellCommand(one))),
	);
	/** Running shell commands, and the last `MAX_ENDED` that ended. */
	readonly shell = computed(() => [
		...this.#ended.value,
		...this.pending.value.flatMap((one) => (one.isSent ? (shellCommand(one) ?? []) : [])),
	]);
	readonly #ended = signal<readonly ShellCommand[]>([]);
	readonly #options: OutboxOptions;

	constructor(options: OutboxOptions) {
		const { client, store } = options;
		this.#options = options;
		const stored = parseStored(store.read());
		this.pending.subscribe((all) => {
			store.write(all.length === 0 ? "" : JSON.stringify(all, STORED));
		});
		client.onState(({ name }) => {
			const change = name === "open" ? { isSent: true } : { wasOffline: true };
			this.pending.value = this.pending.value.map((one) => ({ ...one, ...change }));
		});
		const isSent = client.state.name === "open";
		for (const one of stored) this.#add({ ...one, isSent, wasOffline: true }, true);
	}

	/** Sends a text, and pictures with a message. Returns the reason if the text is refused. */
	send(text: string, how?: StreamingBehavior, images: readonly SentImage[] = []) {
		const { client } = this.#options;
		const isSent = client.state.name === "open";
		return this.#add({
			id: client.newId(),
			text,
			...(how && { how }),
			...(images.length > 0 && { images }),
			isSent,
			wasOffline: !isSent,
		});
	}

	#add(one: Outgoing, isRepeated = false): string | undefined {
		const parsed = parseInput(one.text, one.how);
		if (parsed.kind === "refused") return parsed.why;
		if (one.images && parsed.command.type !== "prompt") {
			return "Pictures go with a message, not with a command: remove them, or write a message.";
		}
		this.pending.value = [...this.pending.value, one];
		void this.#request(one, parsed.command, isRepeated);
		return undefined;
	}

	async #request(one: Outgoing, command: InputCommand, isRepeated: boolean) {
		const { id, text, images } = one;
		const { client, sessionId, onDone, onFailed } = this.#options;
		const fields = { ...command.fields, ...(images && { images }), sessionId } as never;
		try {
			const { data } = await client.request(command.type, fields, { id, isRepeated });
			batch(() => {
				this.#remove(id);
				if (command.type !== "bash") return;
				const { command: shell } = command.fields;
				const ended = { id, command: shell, result: data as Data<"BashResult"> };
				this.#ended.value = [...this.#ended.value, ended].slice(-MAX_ENDED);
			});
			onDone(command, data);
		} catch (thrown) {
			const error = thrown as ClientError;
			if (error.code === "closed") return; // stored: the next load of this page sends it
			this.#remove(id);
			onFailed(text, command, error);
		}
	}

	#remove(id: string): void {
		this.pending.value = this.pending.value.filter((one) => one.id !== id);
	}
}

const MAX_ENDED = 20;

/** The fields that survive a reload, with those of pictures. */
const STORED = ["id", "text", "how", "images", "type", "data", "mimeType"];

/** Whether a failed text returns to the draft. Not a shell command that may have run: it could run twice. */
export function returnsToDraft(type: string, code: ClientErrorCode): boolean {
	if (code === "not_durable") return false; // the command took effect
	const mayHaveRun = code === "timeout" || code === "interrupted";
	return type !== "bash" || !mayHaveRun;
}

function shellCommand({ id, text, how }: Outgoing): ShellCommand | undefined {
	const parsed = parseInput(text, how);
	if (parsed.kind === "refused" || parsed.command.type !== "bash") return undefined;
	return { id, command: parsed.command.fields.command };
}

function parseStored(stored: string): Pick<Outgoing, "id" | "text" | "how" | "images">[] {
	try {
		const all: unknown = JSON.parse(stored || "[]");
		if (!Array.isArray(all)) return [];
		return all.filter((one) => typeof one?.id === "string" && typeof one.text === "string");
	} catch {
		return []; // the stored text is damaged
	}
}
