import { randomUUID } from "node:crypto";
import type {
	ExtensionUIContext,
	ExtensionUIDialogOptions,
	ExtensionWidgetOptions,
} from "@earendil-works/pi-coding-agent";
import type { CommandOf, Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { notFound } from "../safe-text.ts";

type DialogResponse = CommandOf<"extension_ui_response">["response"];

interface DialogsOptions {
	emit(event: Data<"SessionEvent">): void;
	/** Timeout in ms of dialogs that set no timeout. Default: one minute. */
	readonly timeoutMs?: number | undefined;
}

interface OpenDialog {
	readonly request: Question;
	readonly expiresMs: number;
	/** If the response is invalid, returns a description of a valid one. */
	answer(response: DialogResponse): string | undefined;
	cancel(): void;
}

type QuestionMethod = "select" | "confirm" | "input" | "editor";
type Question = Extract<Data<"ExtensionUiRequest">, { method: QuestionMethod }>;
type AddedField = "type" | "requestId" | "timeout" | "truncated";
/** Fields may be `undefined`, because JSON leaves such fields out. */
type WithoutId<Request> = Request extends unknown
	? { [Field in Exclude<keyof Request, AddedField>]: Request[Field] | undefined }
	: never;
type Asked = WithoutId<Data<"ExtensionUiRequest">>;

const MINUTE_MS = 60_000;
/** Node fires longer timers immediately. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
/** Maximum open dialogs. Protects against an extension that asks in a loop. */
const MAX_OPEN = 100;
const MAX_SHOWN = 64;
const MAX_SHOWN_CHARACTERS = 16_384;

/** Sends the questions and displays of extensions to clients, as events. */
export class Dialogs {
	readonly #emit: DialogsOptions["emit"];
	readonly #timeoutMs: number;
	readonly #open = new Map<string, OpenDialog>();
	readonly #shown = new Map<string, Data<"ExtensionUiRequest">>();

	constructor({ emit, timeoutMs = MINUTE_MS }: DialogsOptions) {
		this.#emit = emit;
		this.#timeoutMs = timeoutMs;
	}

	/** Pi's UI methods that reach a client; the rest are no-ops, as in pi's RPC. */
	readonly ui = {
		select: (title, options, opts?) =>
			this.#ask({ method: "select", title, options }, opts, undefined, (response) =>
				"value" in response && options.includes(response.value)
					? { value: response.value }
					: { expected: "one of the options as `value`" },
			),
		confirm: (title, message, opts?) =>
			this.#ask({ method: "confirm", title, message }, opts, false, (response) =>
				"confirmed" in response
					? { value: response.confirmed }
					: { expected: "`confirmed` as true or false" },
			),
		input: (title, placeholder?, opts?) =>
			this.#ask({ method: "input", title, placeholder }, opts, undefined, textIn),
		editor: (title, prefill?) =>
			this.#ask({ method: "editor", title, prefill }, undefined, undefined, textIn),
		notify: (message, notifyType = "info") => this.#send({ method: "notify", message, notifyType }),
		setStatus: (statusKey, statusText) => {
			const isCleared = statusText === undefined;
			this.#show(["status", statusKey], isCleared, { method: "setStatus", statusKey, statusText });
		},
		setWidget: (widgetKey: string, content: unknown, options?: ExtensionWidgetOptions) => {
			if (content !== undefined && !Array.isArray(content)) return; // a function that draws on a terminal
			this.#show(["widget", widgetKey], content === undefined, {
				method: "setWidget",
				widgetKey,
				widgetLines: content?.map(String),
				widgetPlacement: options?.placement || undefined,
			});
		},
		setTitle: (title) => this.#show(["title"], false, { method: "setTitle", title }),
		setWorkingMessage: (message?) => this.#send({ method: "setWorkingMessage", message }),
		setEditorText: (text) => this.#send({ method: "set_editor_text", text }),
		pasteToEditor: (text) => this.#send({ method: "set_editor_text", text }),
	} satisfies Partial<ExtensionUIContext>;

	/** The first valid answer counts; an invalid one leaves the dialog open. */
	answer(requestId: string, response: DialogResponse): void {
		const dialog = this.#open.get(requestId);
		if (!dialog)
			throw notFound(`Dialog "${requestId}" is not open: it was answered, timed out or was closed`);
		const expected = dialog.answer(response);
		if (!expected) return;
		const message = `a ${dialog.request.method} dialog takes ${expected}, or \`cancelled: true\``;
		throw new CommandError("invalid_command", `response: ${message}`);
	}

	/** Whether a question waits for an answer. */
	get isAsking(): boolean {
		return this.#open.size > 0;
	}

	/** Open dialogs, and current statuses, widgets and title, for a late subscriber. */
	current(): Data<"SessionEvent">[] {
		const open = [...this.#open.values()].map(({ request, expiresMs }) => ({
			...request,
			timeout: Math.max(1, expiresMs - Date.now()),
		}));
		return [...this.#shown.values(), ...open];
	}

	cancelAll(): void {
		for (const dialog of [...this.#open.values()]) dialog.cancel();
	}

	reset(): void {
		this.cancelAll();
		this.#shown.clear();
	}

	#ask<Value>(
		asked: WithoutId<Question>,
		opts: ExtensionUIDialogOptions | undefined,
		fallback: Value,
		parse: (response: DialogResponse) => { value: Value } | { expected: string },
	): Promise<Value> {
		const { signal, timeout } = opts ?? {};
		if (signal?.aborted || this.#open.size >= MAX_OPEN) return Promise.resolve(fallback);
		const waitMs = Math.min(timeout ?? this.#timeoutMs, MAX_TIMEOUT_MS);
		const request = { ...requestOf(asked), timeout: waitMs } as Question;
		const { requestId } = request;
		return new Promise((resolve) => {
			const end = (value: Value, reason: "answered" | "timeout" | "aborted") => {
				if (!this.#open.delete(requestId)) return;
				clearTimeout(timer);
				signal?.removeEventListener("abort", onAbort);
				this.#emit({ type: "extension_ui_closed", requestId, reason });
				resolve(value);
			};
			const onAbort = () => end(fallback, "aborted");
			const timer = setTimeout(() => end(fallback, "timeout"), waitMs);
			signal?.addEventListener("abort", onAbort, { once: true });
			this.#open.set(requestId, {
				request,
				expiresMs: Date.now() + waitMs,
				answer(response) {
					const answer = "cancelled" in response ? { value: fallback } : parse(response);
					if ("expected" in answer) return answer.expected;
					end(answer.value, "answered");
					return undefined;
				},
				cancel: onAbort,
			});
			this.#emit(request);
		});
	}

	#send(asked: Asked): Data<"ExtensionUiRequest"> {
		const request = requestOf(asked);
		this.#emit(request);
		return request;
	}

	/** Stores up to `MAX_SHOWN` displays. Evicts the one that was set longest ago. */
	#show(name: string[], isCleared: boolean, asked: Asked): void {
		const key = JSON.stringify(name);
		const request = this.#send(asked);
		this.#shown.delete(key);
		if (isCleared || JSON.stringify(request).length > MAX_SHOWN_CHARACTERS) return;
		if (this.#shown.size === MAX_SHOWN)
			this.#shown.delete(this.#shown.keys().next().value as string);
		this.#shown.set(key, request);
	}
}

export function warningEvent(message: string): Data<"SessionEvent"> {
	return requestOf({ method: "notify", message, notifyType: "warning" });
}

function requestOf(asked: Asked): Data<"ExtensionUiRequest"> {
	return {
		type: "extension_ui_request",
		requestId: randomUUID(),
		...asked,
	} as Data<"ExtensionUiRequest">;
}

function textIn(response: DialogResponse): { value: string | undefined } | { expected: string } {
	return "value" in response ? { value: response.value } : { expected: "a text as `value`" };
}
