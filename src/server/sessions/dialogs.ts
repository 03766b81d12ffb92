import { randomUUID } from "node:crypto";
import type {
	ExtensionUIContext,
	ExtensionUIDialogOptions,
	ExtensionWidgetOptions,
} from "@earendil-works/pi-coding-agent";
import type { CommandOf, Data } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";

export type Dialogs = ReturnType<typeof createDialogs>;

type DialogResponse = CommandOf<"extension_ui_response">["response"];

interface DialogsOptions {
	emit(event: Data<"SessionEvent">): void;
	/** Timeout in ms of a dialog that sets none. Default: one minute. */
	timeoutMs?: number | undefined;
}

interface Waiting {
	readonly request: Question;
	readonly expiresMs: number;
	/** Returns the expected form if the response does not fit. */
	take(response: DialogResponse): string | undefined;
	cancel(): void;
}

type Question = Extract<
	Data<"ExtensionUiRequest">,
	{ method: "select" | "confirm" | "input" | "editor" }
>;
/** Optional fields may be `undefined`: JSON leaves them out. */
type WithoutId<Request> = Request extends unknown
	? {
			[Field in Exclude<keyof Request, "type" | "requestId" | "timeout" | "truncated">]:
				| Request[Field]
				| undefined;
		}
	: never;
type Asked = WithoutId<Data<"ExtensionUiRequest">>;

const MINUTE = 60_000;
/** Node fires longer timers at once. */
const MAX_TIMEOUT = 2 ** 31 - 1;
/** Bounds an extension that asks in a loop. */
const MAX_WAITING = 100;
const MAX_SHOWN = 64;
const MAX_SHOWN_CHARACTERS = 16_384;

export function createDialogs({ emit, timeoutMs = MINUTE }: DialogsOptions) {
	const waiting = new Map<string, Waiting>();
	const shown = new Map<string, Data<"ExtensionUiRequest">>();

	/** Pi's UI methods that reach a client; the rest are no-ops, as in pi's RPC. */
	const ui = {
		select: (title, options, opts?) =>
			ask({ method: "select", title, options }, opts, undefined, (response) =>
				"value" in response && options.includes(response.value)
					? { value: response.value }
					: { problem: "one of the options as `value`" },
			),
		confirm: (title, message, opts?) =>
			ask({ method: "confirm", title, message }, opts, false, (response) =>
				"confirmed" in response
					? { value: response.confirmed }
					: { problem: "`confirmed` as true or false" },
			),
		input: (title, placeholder?, opts?) =>
			ask({ method: "input", title, placeholder }, opts, undefined, textOf),
		editor: (title, prefill?) =>
			ask({ method: "editor", title, prefill }, undefined, undefined, textOf),
		notify: (message, notifyType = "info") => send({ method: "notify", message, notifyType }),
		setStatus(statusKey, statusText) {
			const isGone = statusText === undefined;
			show(["status", statusKey], isGone, { method: "setStatus", statusKey, statusText });
		},
		setWidget(widgetKey: string, content: unknown, options?: ExtensionWidgetOptions) {
			if (content !== undefined && !Array.isArray(content)) return; // drawn by code, for a terminal
			show(["widget", widgetKey], content === undefined, {
				method: "setWidget",
				widgetKey,
				widgetLines: content?.map(String),
				widgetPlacement: options?.placement || undefined,
			});
		},
		setTitle: (title) => show(["title"], false, { method: "setTitle", title }),
		setWorkingMessage: (message?) => send({ method: "setWorkingMessage", message }),
		setEditorText: (text) => send({ method: "set_editor_text", text }),
		pasteToEditor: (text) => send({ method: "set_editor_text", text }),
	} satisfies Partial<ExtensionUIContext>;

	return {
		ui,

		/** The first valid answer counts; an invalid one leaves the dialog open. */
		answer(requestId: string, response: DialogResponse) {
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

		/** Open dialogs, statuses, widgets and title, for a late subscriber. */
		current: (): Data<"SessionEvent">[] => [
			...shown.values(),
			...[...waiting.values()].map(({ request, expiresMs }) => ({
				...request,
				timeout: Math.max(1, expiresMs - Date.now()),
			})),
		],

		cancelAll,

		reset() {
			cancelAll();
			shown.clear();
		},
	};

	function cancelAll(): void {
		for (const dialog of [...waiting.values()]) dialog.cancel();
	}

	function ask<Value>(
		asked: WithoutId<Question>,
		opts: ExtensionUIDialogOptions | undefined,
		fallback: Value,
		read: (response: DialogResponse) => { value: Value } | { problem: string },
	): Promise<Value> {
		const { signal, timeout } = opts ?? {};
		if (signal?.aborted || waiting.size >= MAX_WAITING) return Promise.resolve(fallback);
		const waitMs = Math.min(timeout ?? timeoutMs, MAX_TIMEOUT);
		const request = { ...requestOf(asked), timeout: waitMs } as Question;
		const { requestId } = request;
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
					const answer = "cancelled" in response ? { value: fallback } : read(response);
					if ("problem" in answer) return answer.problem;
					end(answer.value, "answered");
					return undefined;
				},
				cancel: onAbort,
			});
			emit(request);
		});
	}

	function send(asked: Asked): Data<"ExtensionUiRequest"> {
		const request = requestOf(asked);
		emit(request);
		return request;
	}

	function show(what: string[], isGone: boolean, asked: Asked): void {
		const key = JSON.stringify(what);
		const request = send(asked);
		shown.delete(key);
		if (isGone || JSON.stringify(request).length > MAX_SHOWN_CHARACTERS) return;
		if (shown.size === MAX_SHOWN) shown.delete(shown.keys().next().value as string);
		shown.set(key, request);
	}
}

export function warningOf(message: string): Data<"SessionEvent"> {
	return requestOf({ method: "notify", message, notifyType: "warning" });
}

function requestOf(asked: Asked): Data<"ExtensionUiRequest"> {
	return {
		type: "extension_ui_request",
		requestId: randomUUID(),
		...asked,
	} as Data<"ExtensionUiRequest">;
}

function textOf(response: DialogResponse): { value: string | undefined } | { problem: string } {
	return "value" in response ? { value: response.value } : { problem: "a text as `value`" };
}
