import type {
	AgentContext,
	PermissionOption,
	RequestPermissionRequest,
	SessionUpdate,
} from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import type { Client } from "../protocol/client.ts";
import type { CommandOf, Data } from "../protocol/index.ts";
import { clip } from "../text/clip.ts";
import { collapsed } from "../text/one-line.ts";

type Question = Extract<
	Data<"ExtensionUiRequest">,
	{ method: "select" | "confirm" | "input" | "editor" }
>;
type Answer = CommandOf<"extension_ui_response">["response"];

interface DialogsOptions {
	readonly sessionId: string;
	readonly editor: AgentContext;
	readonly client: Client;
	/** The editor can show a form. */
	readonly hasForms: boolean;
	show(updates: readonly SessionUpdate[]): void;
}

const CANCELLED: Answer = { cancelled: true };
const MAX_TITLE_BYTES = 500;

export function isQuestion(event: Data<"SessionEvent">): event is Question {
	return (
		event.type === "extension_ui_request" &&
		["select", "confirm", "input", "editor"].includes(event.method)
	);
}

/** Passes the questions of extensions to the user of the editor: choices as permissions, texts as forms. */
export class Dialogs {
	readonly #options: DialogsOptions;
	readonly #open = new Map<string, AbortController>();

	constructor(options: DialogsOptions) {
		this.#options = options;
	}

	/** Questions are repeated to each new subscriber; a known one is ignored. */
	ask(question: Question): void {
		const { requestId } = question;
		if (this.#open.has(requestId)) return;
		const ended = new AbortController();
		this.#open.set(requestId, ended);
		void this.#ask(question, ended.signal).finally(() => this.#open.delete(requestId));
	}

	/** Another client answered, or time is up. */
	close(requestId: string): void {
		this.#open.get(requestId)?.abort();
	}

	/** The questions stay open on the server. */
	closeAll(): void {
		for (const ended of this.#open.values()) ended.abort();
	}

	async #ask(question: Question, ended: AbortSignal): Promise<void> {
		const { client, sessionId } = this.#options;
		const { requestId } = question;
		const given = await this.#answerTo(question, ended).catch(() => undefined);
		// An editor that cannot ask must not keep the session waiting.
		const response = given ?? CANCELLED;
		if (!ended.aborted) {
			await client
				.request("extension_ui_response", { sessionId, requestId, response })
				.catch(() => {}); // another client was faster
		}
	}

	async #answerTo(question: Question, ended: AbortSignal): Promise<Answer | undefined> {
		switch (question.method) {
			case "confirm": {
				const chosen = await this.#choose(question, YES_OR_NO, ended);
				return chosen === undefined ? undefined : { confirmed: chosen === "yes" };
			}
			case "select": {
				const options = question.options.map((name, at) => ({
					...{ optionId: String(at), name, kind: "allow_once" as const },
				}));
				const chosen = await this.#choose(question, [...options, NONE], ended);
				const value = chosen === undefined ? undefined : question.options[Number(chosen)];
				return value === undefined ? undefined : { value };
			}
			default:
				return await this.#write(question, ended);
		}
	}

	async #choose(
		question: Question,
		options: PermissionOption[],
		ended: AbortSignal,
	): Promise<string | undefined> {
		const { editor, sessionId, show } = this.#options;
		const toolCallId = `question:${question.requestId}`;
		const text =
			question.method === "confirm" ? `${question.title}: ${question.message}` : question.title;
		const toolCall = {
			toolCallId,
			...{ title: clip(collapsed(text), MAX_TITLE_BYTES), kind: "other" as const },
			status: "pending" as const,
		};
		show([{ sessionUpdate: "tool_call", ...toolCall }]);
		const request: RequestPermissionRequest = { sessionId, toolCall, options };
		const chosen = await editor
			.request(methods.client.session.requestPermission, request, {
				...{ cancellationSignal: ended, stopWaitingOnCancel: true },
			})
			.then(({ outcome }) => (outcome.outcome === "selected" ? outcome.optionId : undefined))
			.catch(() => undefined);
		const status = chosen === undefined ? "failed" : "completed";
		show([{ sessionUpdate: "tool_call_update", toolCallId, status }]);
		return chosen;
	}

	async #write(
		question: Extract<Question, { method: "input" | "editor" }>,
		ended: AbortSignal,
	): Promise<Answer | undefined> {
		const { editor, sessionId, hasForms } = this.#options;
		if (!hasForms) return undefined;
		const prefill = question.method === "editor" ? question.prefill : undefined;
		const hint = question.method === "input" ? question.placeholder : undefined;
		const text = {
			...{ type: "string" as const, title: question.title },
			...(hint !== undefined && { description: hint }),
			...(prefill !== undefined && { default: prefill }),
		};
		const requestedSchema = {
			...{ type: "object" as const, properties: { text }, required: ["text"] },
		};
		const answered = await editor.request(
			methods.client.elicitation.create,
			{ mode: "form", sessionId, message: question.title, requestedSchema },
			{ cancellationSignal: ended, stopWaitingOnCancel: true },
		);
		if (answered.action !== "accept") return undefined;
		const value = (answered as { content?: { text?: unknown } | null }).content?.text;
		return typeof value === "string" ? { value } : undefined;
	}
}

const YES_OR_NO: PermissionOption[] = [
	{ optionId: "yes", name: "Yes", kind: "allow_once" },
	{ optionId: "no", name: "No", kind: "reject_once" },
];
const NONE: PermissionOption = { optionId: "none", name: "None of these", kind: "reject_once" };
