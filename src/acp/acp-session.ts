import type {
	AgentContext,
	ClientCapabilities,
	ContentBlock,
	PromptResponse,
	SessionConfigOption,
	SessionUpdate,
} from "@agentclientprotocol/sdk";
import { methods } from "@agentclientprotocol/sdk";
import { inTime } from "../core/in-time.ts";
import {
	type Client,
	ClientError,
	type StreamFrame,
	type Subscription,
} from "../protocol/client.ts";
import type { Data } from "../protocol/index.ts";
import { configOptions, MODEL, modelValue, THINKING } from "./config-options.ts";
import { Dialogs, isQuestion } from "./dialogs.ts";
import { asRequestError, invalidParams, invalidRequest } from "./errors.ts";
import { ownCommand, ownCommands } from "./own-commands.ts";
import { promptMessage } from "./prompt-content.ts";
import { UpdateQueue } from "./update-queue.ts";
import { type Severity, UpdateTranslator } from "./updates.ts";
import { usageFacts, usageUpdate } from "./usage.ts";

interface AcpSessionOptions {
	readonly sessionId: string;
	readonly cwd: string;
	readonly client: Client;
	readonly editor: AgentContext;
	readonly capabilities: ClientCapabilities;
	/** The session was deleted, or its stream ended. */
	onEnd(): void;
}

/** A turn that was cancelled ends after this time, even if the server cannot be reached. */
const CANCEL_MS = 10_000;
/** How long the end of a turn waits for its last events. */
const CATCH_UP_MS = 10_000;

interface Turn {
	isCancelled: boolean;
	readonly gaveUp: AbortController;
	timer?: NodeJS.Timeout;
}

/** A session of the server as one editor sees it. It ends with the editor; the server's session and its runs do not. */
export class AcpSession {
	readonly #options: AcpSessionOptions;
	readonly #queue: UpdateQueue;
	readonly #translator: UpdateTranslator;
	readonly #dialogs: Dialogs;
	readonly #subscription: Subscription;
	/** Frames that arrived before {@link start}. */
	#held: StreamFrame[] | undefined = [];
	#turn: Turn | undefined;
	#caughtUp = Promise.withResolvers<void>();
	#refreshing: Promise<void> | undefined;

	constructor(options: AcpSessionOptions) {
		const { sessionId, cwd, client, editor, capabilities } = options;
		this.#options = options;
		this.#queue = new UpdateQueue((update) =>
			editor.notify(methods.client.session.update, { sessionId, update }),
		);
		this.#translator = new UpdateTranslator(cwd, (severity, text) => this.#notice(severity, text));
		this.#dialogs = new Dialogs({
			...{ sessionId, editor, client, show: (updates) => this.#queue.push(updates) },
			hasForms: capabilities.elicitation?.form != null,
		});
		this.#subscription = client.subscribe(sessionId, (frame) => this.#receive(frame), {
			onEnd: () => {
				this.#dialogs.closeAll();
				options.onEnd();
			},
		});
	}

	/** Sends the history, without what comes as events. */
	async replay(): Promise<void> {
		const { client, sessionId } = this.#options;
		const { data } = await client.request("get_entries", { sessionId });
		const { data: state } = await client.request("get_state", { sessionId });
		this.#queue.push(this.#translator.history(data.entries, data.leafId));
		if (!state.isStreaming) this.#queue.push(this.#translator.endOpenCalls());
		await this.#queue.flushed();
	}

	async configOptions(): Promise<SessionConfigOption[]> {
		const { client, sessionId } = this.#options;
		const [state, available, thinking] = await Promise.all([
			client.request("get_state", { sessionId }),
			client.request("get_available_models", { sessionId }),
			client.request("get_available_thinking_levels", { sessionId }),
		]);
		const { model, thinkingLevel: level } = state.data;
		const { models } = available.data;
		return configOptions({ model, models, level, levels: thinking.data.levels });
	}

	/** Begins with live updates, once the editor knows the session. */
	start(notices: readonly string[]): void {
		this.#queue.push(notices.map((text) => this.#notice("warning", text)));
		const held = this.#held ?? [];
		this.#held = undefined;
		for (const frame of held) this.#receive(frame);
		void this.#sendCommands();
		void this.#sendUsage();
	}

	async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
		if (this.#turn) throw invalidRequest("The session is answering: cancel that first");
		const turn: Turn = { isCancelled: false, gaveUp: new AbortController() };
		this.#turn = turn;
		const cancel = () => this.cancel();
		signal.addEventListener("abort", cancel, { once: true });
		try {
			const ended = await this.#run(blocks, turn);
			await this.#catchUp();
			return await this.#response(ended, turn);
		} catch (error) {
			if (!turn.isCancelled) {
				await this.#queue.flushed();
				throw asRequestError(error);
			}
			return { stopReason: "cancelled" };
		} finally {
			signal.removeEventListener("abort", cancel);
			clearTimeout(turn.timer);
			this.#translator.forgetEcho();
			this.#turn = undefined;
		}
	}

	cancel(): void {
		const turn = this.#turn;
		if (!turn || turn.isCancelled) return;
		turn.isCancelled = true;
		this.#dialogs.closeAll();
		this.#abort();
		turn.timer = setTimeout(() => turn.gaveUp.abort(), CANCEL_MS);
	}

	async setConfigOption(configId: string, value: unknown): Promise<SessionConfigOption[]> {
		const { client, sessionId } = this.#options;
		if (configId === MODEL) {
			const { data } = await client.request("get_available_models", { sessionId });
			const model = data.models.find((one) => modelValue(one) === value);
			if (!model) throw invalidParams(`There is no model "${String(value).slice(0, 200)}"`);
			await client.request("set_model", { sessionId, provider: model.provider, modelId: model.id });
		} else if (configId === THINKING) {
			const { data } = await client.request("get_available_thinking_levels", { sessionId });
			const level = data.levels.find((one) => one === value);
			if (!level) throw invalidParams(`thinking is one of ${data.levels.join(", ")}`);
			await client.request("set_thinking_level", { sessionId, level });
		} else throw invalidParams(`There is no option "${configId.slice(0, 200)}"`);
		return await this.configOptions();
	}

	close(): void {
		this.#dialogs.closeAll();
		this.#subscription.close();
	}

	async #run(blocks: readonly ContentBlock[], turn: Turn): Promise<{ stopReason?: string }> {
		const { client, sessionId, cwd } = this.#options;
		const { message, images } = promptOf(blocks, cwd);
		const { signal } = turn.gaveUp;
		const own = ownCommand(message);
		if (own) {
			const text = await own(client, sessionId, signal);
			this.#queue.push([{ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }]);
			return {};
		}
		this.#translator.expectEcho();
		const fields = { sessionId, message, ...(images.length > 0 && { images }) };
		// A run of another client, or of an editor that has gone, is not in the way: the message follows it.
		const behaviour = { streamingBehavior: "followUp", waitFor: "settled" } as const;
		const { data } = await client.request("prompt", { ...fields, ...behaviour }, { signal });
		if (data?.stopReason === "error" && !turn.isCancelled) {
			throw new ClientError("failed", data.errorMessage ?? "The model did not answer");
		}
		return data ?? {};
	}

	/** Waits for the events that the server sent before it answered. */
	async #catchUp(): Promise<void> {
		const { client, sessionId } = this.#options;
		const caughtUp = async () => {
			const { data } = await client.request("switch_session", { sessionId });
			while ((this.#subscription.seq ?? 0) < data.seq) await this.#caughtUp.promise;
		};
		await inTime(caughtUp(), CATCH_UP_MS).catch(() => {}); // the next turn has them
	}

	async #response({ stopReason }: { stopReason?: string }, turn: Turn): Promise<PromptResponse> {
		const stats = await this.#sendUsage();
		await this.#queue.flushed();
		const isCancelled = turn.isCancelled || stopReason === "aborted";
		return {
			stopReason: isCancelled ? "cancelled" : stopReason === "length" ? "max_tokens" : "end_turn",
			...(stats && { _meta: { "strata/usage": usageFacts(stats) } }),
		};
	}

	#receive(frame: StreamFrame): void {
		if (this.#held) {
			this.#held.push(frame);
			return;
		}
		if (frame.type === "event") this.#handle(frame.event);
		else this.#translator.gap();
		this.#caughtUp.resolve();
		this.#caughtUp = Promise.withResolvers();
	}

	#handle(event: Data<"SessionEvent">): void {
		if (isQuestion(event)) this.#dialogs.ask(event);
		else this.#queue.push(this.#translator.event(event));
		switch (event.type) {
			case "extension_ui_closed":
				this.#dialogs.close(event.requestId);
				break;
			case "agent_start":
				// The cancellation may have come before the run.
				if (this.#turn?.isCancelled) this.#abort();
				break;
			case "turn_end":
			case "compaction_end":
				void this.#sendUsage();
				break;
			case "thinking_level_changed":
				this.#refreshOptions();
				break;
			case "entry_appended":
				if (event.entry.type === "model_change") this.#refreshOptions();
				break;
			default:
		}
	}

	#abort(): void {
		const { client, sessionId } = this.#options;
		// If the server is unreachable, the turn times out.
		for (const type of ["abort", "abort_compaction"] as const) {
			client.request(type, { sessionId }, { timeoutMs: CANCEL_MS }).catch(() => {});
		}
	}

	#refreshOptions(): void {
		this.#refreshing ??= this.configOptions()
			.then((options) =>
				this.#queue.push([{ sessionUpdate: "config_option_update", configOptions: options }]),
			)
			.catch(() => {}) // the session has gone
			.finally(() => {
				this.#refreshing = undefined;
			});
	}

	async #sendUsage(): Promise<Data<"SessionStats"> | undefined> {
		const { client, sessionId } = this.#options;
		try {
			const { data } = await client.request("get_session_stats", { sessionId }, TIMED);
			const update = usageUpdate(data);
			if (update) this.#queue.push([update]);
			return data;
		} catch {
			return undefined; // the figures come with the next answer
		}
	}

	async #sendCommands(): Promise<void> {
		const { client, sessionId } = this.#options;
		const found = await client.request("get_commands", { sessionId }, TIMED).catch(() => undefined);
		const listed = (found?.data.commands ?? []).map(({ name, description = "" }) => ({
			...{ name, description: description || name, input: { hint: "arguments" } },
		}));
		const availableCommands = [...ownCommands, ...listed];
		this.#queue.push([{ sessionUpdate: "available_commands_update", availableCommands }]);
	}

	#notice(severity: Severity, text: string): SessionUpdate {
		const { capabilities } = this.#options;
		const title = text.trim() || severity;
		if (capabilities.session?.notices) return { sessionUpdate: "notice", severity, title };
		const shown = `\n\n> ${title.replaceAll("\n", "\n> ")}\n\n`;
		return { sessionUpdate: "agent_message_chunk", content: { type: "text", text: shown } };
	}
}

const TIMED = { timeoutMs: 10_000 };

function promptOf(blocks: readonly ContentBlock[], cwd: string) {
	try {
		return promptMessage(blocks, cwd);
	} catch (error) {
		throw invalidParams((error as Error).message);
	}
}
