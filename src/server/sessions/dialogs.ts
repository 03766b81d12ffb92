import { randomUUID } from "node:crypto";
import type { ExtensionUIContext, ExtensionUIDialogOptions } from "@earendil-works/pi-coding-agent";
import type { CommandOf, ExtensionUiRequest, SessionEvent } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";

/** What extensions of one session ask and tell the user, carried over the wire. */
export interface Dialogs {
	/** The methods of pi's user interface that reach a client. The rest does nothing, as in pi's own RPC. */
	readonly ui: ReachableUi;
	/** Answers a dialog. The first valid answer counts; an answer that does not fit leaves the dialog open. */
	answer(requestId: string, response: DialogResponse): void;
	/** For a client that comes late: the dialogs that wait, and what is in the status line, widgets and title. */
	current(): SessionEvent[];
	/** Closes what waits, as if the user had walked away. */
	cancelAll(): void;
	/** Forgets statuses, widgets and title: the extensions that set them are gone. */
	reset(): void;
}

export type DialogResponse = CommandOf<"extension_ui_response">["response"];

export type ReachableUi = Pick<
	ExtensionUIContext,
	| "select"
	| "confirm"
	| "input"
	| "editor"
	| "notify"
	| "setStatus"
	| "setWidget"
	| "setTitle"
	| "setWorkingMessage"
	| "setEditorText"
	| "pasteToEditor"
>;

export interface DialogsOptions {
	emit(event: SessionEvent): void;
	/** How long a dialog waits that says nothing about it, in milliseconds. Default: a minute. */
	timeoutMs?: number;
}

/** A dialog that waits. */
interface Waiting {
	readonly request: Question;
	readonly expiresMs: number;
	/** Takes the answer, or says why it cannot be one. */
	take(response: DialogResponse): string | undefined;
	close(reason: "answered" | "timeout" | "aborted"): void;
}

type Question = Extract<ExtensionUiRequest, { method: "select" | "confirm" | "input" | "editor" }>;
/** A request without its id and timeout. */
type Asked<Request> = Request extends unknown
	? Omit<Request, "type" | "requestId" | "timeout">
	: never;

const MINUTE = 60_000;
/** Node fires timers that are further away at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;
/** An extension that asks in a loop must not fill the server. */
const MAX_WAITING = 100;
/** Statuses and widgets kept for late clients, and the size of each. */
const MAX_SHOWN = 64;
const MAX_SHOWN_CHARACTERS = 16_384;

export function createDialogs({ emit, timeoutMs = MINUTE }: DialogsOptions): Dialogs {
	const waiting = new Map<string, Waiting>();
	/** The last request by what it sets, so that late clients see what is there. */
	const shown = new Map<string, ExtensionUiRequest>();

	return {
		ui: {
			select: (title, options, opts) =>
				ask({ method: "select", title, options }, opts, undefined, (response) =>
					"value" in response && options.includes(response.value)
						? { value: response.value }
						: { problem: "one of the options as `value`" },
				),
			confirm: (title, message, opts) =>
				ask({ method: "confirm", title, message }, opts, false, (response) =>
					"confirmed" in response
						? { value: response.confirmed }
						: { problem: "`confirmed` as true or false" },
				),
			input: (title, placeholder, opts) =>
				ask(
					{ method: "input", title, ...(placeholder !== undefined && { placeholder }) },
					opts,
					undefined,
					textOf,
				),
			editor: (title, prefill) =>
				ask(
					{ method: "editor", title, ...(prefill !== undefined && { prefill }) },
					undefined,
					undefined,
					textOf,
				),
			notify: (message, notifyType = "info") => tell({ method: "notify", message, notifyType }),
			setStatus(statusKey, statusText) {
				show(["status", statusKey], statusText === undefined, {
					method: "setStatus",
					statusKey,
					...(statusText !== undefined && { statusText }),
				});
			},
			setWidget(widgetKey: string, content: unknown, options?: { placement?: Placement }) {
				if (content !== undefined && !Array.isArray(content)) return; // drawn by code, for a terminal
				show(["widget", widgetKey], content === undefined, {
					method: "setWidget",
					widgetKey,
					...(content && { widgetLines: content.map(String) }),
					...(options?.placement && { widgetPlacement: options.placement }),
				});
			},
			setTitle: (title) => show(["title"], false, { method: "setTitle", title }),
			setWorkingMessage: (message) =>
				tell({ method: "setWorkingMessage", ...(message !== undefined && { message }) }),
			setEditorText: (text) => tell({ method: "set_editor_text", text }),
			pasteToEditor: (text) => tell({ method: "set_editor_text", text }),
		},

		answer(requestId, response) {
			const dialog = waiting.get(requestId);
			if (!dialog) {
				throw new CommandError(
					"not_found",
					`No dialog "${requestId}" waits for an answer: it was answered, ran out of time or was closed`,
				);
			}
			const problem = dialog.take(response);
			if (problem) {
				throw new CommandError(
					"invalid_command",
					`response: a ${dialog.request.method} dialog takes ${problem}, or \`cancelled: true\``,
				);
			}
		},

		current: () => [
			...shown.values(),
			...[...waiting.values()].map(({ request, expiresMs }) => ({
				...request,
				timeout: Math.max(1, expiresMs - Date.now()),
			})),
		],

		cancelAll() {
			for (const dialog of [...waiting.values()]) dialog.close("aborted");
		},

		reset: () => shown.clear(),
	};

	function ask<Value>(
		asked: Asked<Question>,
		opts: ExtensionUIDialogOptions | undefined,
		fallback: Value,
		read: (response: DialogResponse) => { value: Value } | { problem: string },
	): Promise<Value> {
		const { signal, timeout } = opts ?? {};
		if (signal?.aborted || waiting.size >= MAX_WAITING) return Promise.resolve(fallback);
		const requestId = randomUUID();
		const waitMs = Math.min(timeout ?? timeoutMs, MAX_TIMEOUT);
		const request = {
			type: "extension_ui_request",
			requestId,
			...asked,
			timeout: waitMs,
		} as Question;
		return new Promise((resolve) => {
			const end = (value: Value, reason: "answered" | "timeout" | "aborted") => {
				if (!waiting.delete(requestId)) return;
				clearTimeout(timer);
				signal?.removeEventListener("abort", onAbort);
				emit({ type: "extension_ui_closed", requestId, reason });
				resolve(value);
			};
			const onAbort = () => end(fallback, "aborted");
			const timer = setTimeout(() => end(fallback, "timeout"), waitMs);
			signal?.addEventListener("abort", onAbort, { once: true });
			waiting.set(requestId, {
				request,
				expiresMs: Date.now() + waitMs,
				take(response) {
					if ("cancelled" in response) {
						end(fallback, "answered");
						return undefined;
					}
					const answer = read(response);
					if ("problem" in answer) return answer.problem;
					end(answer.value, "answered");
					return undefined;
				},
				close: (reason) => end(fallback, reason),
			});
			emit(request);
		});
	}

	function tell(told: Asked<ExtensionUiRequest>): ExtensionUiRequest {
		const request = { type: "extension_ui_request", requestId: randomUUID(), ...told };
		emit(request as ExtensionUiRequest);
		return request as ExtensionUiRequest;
	}

	function show(what: string[], isGone: boolean, told: Asked<ExtensionUiRequest>): void {
		const key = JSON.stringify(what);
		const request = tell(told);
		shown.delete(key);
		if (isGone || JSON.stringify(request).length > MAX_SHOWN_CHARACTERS) return;
		if (shown.size === MAX_SHOWN) shown.delete(shown.keys().next().value as string);
		shown.set(key, request);
	}
}

type Placement = "aboveEditor" | "belowEditor";

function textOf(response: DialogResponse): { value: string | undefined } | { problem: string } {
	return "value" in response ? { value: response.value } : { problem: "a text as `value`" };
}
