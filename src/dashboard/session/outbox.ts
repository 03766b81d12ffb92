import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Client, ClientError, ClientErrorCode } from "../../protocol/client.ts";
import type { BashResult } from "../../protocol/index.ts";
import { type How, readTyped, type TypedRequest } from "./typed.ts";

/** What the user sent from this page and the server has not answered yet. */
export interface Outbox {
	/** In the order in which it was sent. */
	readonly pending: ReadonlySignal<readonly Outgoing[]>;
	/** Of that, what waits for a connection, or for its answer since a connection was lost. */
	readonly waiting: ReadonlySignal<readonly Outgoing[]>;
	/** The shell commands that the server has, and the last ones that have ended. */
	readonly shell: ReadonlySignal<readonly ShellCommand[]>;
	/** Sends a text. Returns why it is not sent, if so. */
	send(text: string, how?: How): string | undefined;
}

/** A text on its way. Its id makes it happen once, however often it is sent. */
export interface Outgoing {
	readonly id: string;
	readonly text: string;
	readonly how?: How;
	/** Sent at least once: the server may have it. */
	readonly isSent: boolean;
	/** There was no connection at some time since. */
	readonly wasAway: boolean;
}

/** A shell command of this page. */
export interface ShellCommand {
	readonly id: string;
	readonly command: string;
	/** It has ended. */
	readonly result?: BashResult;
}

/** What a reload of the page needs to send a text again under its id. */
export type StoredText = Pick<Outgoing, "id" | "text" | "how">;

/** Where texts are kept until they are answered. */
export interface OutboxStore {
	read(): readonly StoredText[];
	write(texts: readonly StoredText[]): void;
}

export interface OutboxOptions {
	readonly client: Pick<Client, "state" | "request" | "onState" | "newId">;
	readonly sessionId: string;
	readonly store: OutboxStore;
	onDone(request: TypedRequest, data: unknown): void;
	/** The server refused it, or it failed. */
	onFailed(text: string, request: TypedRequest, error: ClientError): void;
}

/** The outbox of a session. Sends again what was not answered when the page was last loaded. */
export function createOutbox(options: OutboxOptions): Outbox {
	const { client, sessionId, store, onDone, onFailed } = options;
	const pending = signal<readonly Outgoing[]>([]);
	const ended = signal<readonly ShellCommand[]>([]);
	const isOpen = () => client.state.name === "open";
	const kept = store.read();
	pending.subscribe((all) => store.write(all.map(storedText)));
	client.onState(({ name }) => {
		const change = name === "open" ? { isSent: true } : { wasAway: true };
		pending.value = pending.value.map((one) => ({ ...one, ...change }));
	});
	for (const stored of kept) add({ ...stored, isSent: isOpen(), wasAway: true }, true);

	return {
		pending,
		waiting: computed(() =>
			pending.value.filter((one) => one.wasAway && !(one.isSent && shellCommand(one))),
		),
		shell: computed(() => [
			...ended.value,
			...pending.value.flatMap((one) => (one.isSent ? (shellCommand(one) ?? []) : [])),
		]),
		send(text, how) {
			const entry = { id: client.newId(), text, ...(how && { how }) };
			return add({ ...entry, isSent: isOpen(), wasAway: !isOpen() });
		},
	};

	function add(one: Outgoing, isRepeated = false): string | undefined {
		const typed = readTyped(one.text, one.how);
		if (typed.kind === "refused") return typed.why;
		pending.value = [...pending.value, one];
		void carryOut(one, typed.request, isRepeated);
		return undefined;
	}

	async function carryOut(
		{ id, text }: Outgoing,
		request: TypedRequest,
		isRepeated: boolean,
	): Promise<void> {
		const fields = { ...request.fields, sessionId } as never;
		try {
			const { data } = await client.request(request.type, fields, { id, isRepeated });
			batch(() => {
				forget(id);
				if (request.type !== "bash") return;
				const one = { id, command: request.fields.command, result: data as BashResult };
				ended.value = [...ended.value, one].slice(-MAX_ENDED);
			});
			onDone(request, data);
		} catch (thrown) {
			const error = thrown as ClientError;
			// The client was closed for good, so the next page sends it.
			if (error.code === "closed") return;
			forget(id);
			onFailed(text, request, error);
		}
	}

	function forget(id: string): void {
		pending.value = pending.value.filter((one) => one.id !== id);
	}
}

const MAX_ENDED = 20;

/** Whether a text that failed goes back to where it was typed: sent again, a shell command that may have run would run twice. */
export function goesBack(type: string, code: ClientErrorCode): boolean {
	if (code === "not_durable") return false; // it was carried out
	const mayHaveRun = code === "timeout" || code === "interrupted";
	return type !== "bash" || !mayHaveRun;
}

function shellCommand({ id, text, how }: Outgoing): ShellCommand | undefined {
	const typed = readTyped(text, how);
	if (typed.kind === "refused" || typed.request.type !== "bash") return undefined;
	return { id, command: typed.request.fields.command };
}

function storedText({ id, text, how }: Outgoing): StoredText {
	return { id, text, ...(how && { how }) };
}
