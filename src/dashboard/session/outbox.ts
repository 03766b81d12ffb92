import { batch, computed, signal } from "@preact/signals";
import type { Client, ClientError, ClientErrorCode } from "../../protocol/client.ts";
import type { Data } from "../../protocol/index.ts";
import type { StoredText } from "../parts/storage.ts";
import { type How, readTyped, type TypedRequest } from "./typed.ts";

export type Outbox = ReturnType<typeof createOutbox>;

/** The id makes a text take effect once, however often it is sent. */
export interface Outgoing {
	readonly id: string;
	readonly text: string;
	readonly how?: How;
	readonly isSent: boolean;
	readonly wasAway: boolean;
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
	onDone(request: TypedRequest, data: unknown): void;
	onFailed(text: string, request: TypedRequest, error: ClientError): void;
}

/** What the user sent from this page and the server has not answered, also before the last reload. */
export function createOutbox(options: OutboxOptions) {
	const { client, sessionId, store, onDone, onFailed } = options;
	const pending = signal<readonly Outgoing[]>([]);
	const ended = signal<readonly ShellCommand[]>([]);
	const isOpen = () => client.state.name === "open";
	const kept = keptTexts(store.read());
	pending.subscribe((all) => {
		store.write(all.length === 0 ? "" : JSON.stringify(all, ["id", "text", "how"]));
	});
	client.onState(({ name }) => {
		const change = name === "open" ? { isSent: true } : { wasAway: true };
		pending.value = pending.value.map((one) => ({ ...one, ...change }));
	});
	for (const stored of kept) add({ ...stored, isSent: isOpen(), wasAway: true }, true);

	return {
		pending,
		/** What waits for a connection, or for an answer since one was lost. */
		waiting: computed(() =>
			pending.value.filter((one) => one.wasAway && !(one.isSent && shellCommand(one))),
		),
		/** Running shell commands, and the last ones that ended. */
		shell: computed(() => [
			...ended.value,
			...pending.value.flatMap((one) => (one.isSent ? (shellCommand(one) ?? []) : [])),
		]),
		/** Returns why a text is not sent, if so. */
		send(text: string, how?: How): string | undefined {
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

	async function carryOut({ id, text }: Outgoing, request: TypedRequest, isRepeated: boolean) {
		const fields = { ...request.fields, sessionId } as never;
		try {
			const { data } = await client.request(request.type, fields, { id, isRepeated });
			batch(() => {
				forget(id);
				if (request.type !== "bash") return;
				const one = { id, command: request.fields.command, result: data as Data<"BashResult"> };
				ended.value = [...ended.value, one].slice(-MAX_ENDED);
			});
			onDone(request, data);
		} catch (thrown) {
			const error = thrown as ClientError;
			// The next page sends it.
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

/** Whether a failed text returns to the prompt box. A shell command that may have run does not: it could run twice. */
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

function keptTexts(stored: string): Pick<Outgoing, "id" | "text" | "how">[] {
	try {
		const kept: unknown = JSON.parse(stored || "[]");
		if (!Array.isArray(kept)) return [];
		return kept.filter((one) => typeof one?.id === "string" && typeof one.text === "string");
	} catch {
		return []; // damaged
	}
}
