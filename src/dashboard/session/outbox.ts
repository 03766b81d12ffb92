import { batch, computed, signal } from "@preact/signals";
import type { Client, ClientError, ClientErrorCode } from "../../protocol/client.ts";
import type { Data } from "../../protocol/index.ts";
import type { StoredText } from "../parts/storage.ts";
import { type InputCommand, parseInput, type StreamingBehavior } from "./input-command.ts";

/** A text to send. Its id makes retries idempotent: the server runs the command once. */
export interface Outgoing {
	readonly id: string;
	readonly text: string;
	readonly how?: StreamingBehavior;
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
			store.write(all.length === 0 ? "" : JSON.stringify(all, ["id", "text", "how"]));
		});
		client.onState(({ name }) => {
			const change = name === "open" ? { isSent: true } : { wasOffline: true };
			this.pending.value = this.pending.value.map((one) => ({ ...one, ...change }));
		});
		const isSent = client.state.name === "open";
		for (const one of stored) this.#add({ ...one, isSent, wasOffline: true }, true);
	}

	/** Sends a text. Returns the reason if the text is refused. */
	send(text: string, how?: StreamingBehavior): string | undefined {
		const { client } = this.#options;
		const isSent = client.state.name === "open";
		return this.#add({
			id: client.newId(),
			text,
			...(how && { how }),
			isSent,
			wasOffline: !isSent,
		});
	}

	#add(one: Outgoing, isRepeated = false): string | undefined {
		const parsed = parseInput(one.text, one.how);
		if (parsed.kind === "refused") return parsed.why;
		this.pending.value = [...this.pending.value, one];
		void this.#request(one, parsed.command, isRepeated);
		return undefined;
	}

	async #request({ id, text }: Outgoing, command: InputCommand, isRepeated: boolean) {
		const { client, sessionId, onDone, onFailed } = this.#options;
		const fields = { ...command.fields, sessionId } as never;
		try {
			const { data } = await client.request(command.type, fields, { id, isRepeated });
			batch(() => {
				this.#remove(id);
				if (command.type !== "bash") return;
				const one = { id, command: command.fields.command, result: data as Data<"BashResult"> };
				this.#ended.value = [...this.#ended.value, one].slice(-MAX_ENDED);
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

function parseStored(stored: string): Pick<Outgoing, "id" | "text" | "how">[] {
	try {
		const all: unknown = JSON.parse(stored || "[]");
		if (!Array.isArray(all)) return [];
		return all.filter((one) => typeof one?.id === "string" && typeof one.text === "string");
	} catch {
		return []; // the stored text is damaged
	}
}
