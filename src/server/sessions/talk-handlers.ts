import type { AgentSession, PromptOptions } from "@earendil-works/pi-coding-agent";
import type { CommandOf } from "../../protocol/index.ts";
import { CommandError } from "../engine/call.ts";
import { asCommandError } from "../safe-text.ts";
import type { LiveSession } from "./live-session.ts";
import type { SessionHandlers } from "./session-handler.ts";
import { checkedMessage } from "./slash-commands.ts";

/** Talking to the model, and stopping it. */
export const talkHandlers: SessionHandlers<
	| "prompt"
	| "steer"
	| "follow_up"
	| "extension_ui_response"
	| "abort"
	| "abort_bash"
	| "abort_compaction"
	| "abort_retry"
	| "clear_queue"
	| "compact"
> = {
	prompt,
	async steer(live, { message, images }) {
		const { session } = live;
		live.checkModelUse();
		await queued(session.steer(checkedMessage(session, message), images, { source: "rpc" }));
		return {};
	},
	async follow_up(live, { message, images }) {
		const { session } = live;
		live.checkModelUse();
		await queued(session.followUp(checkedMessage(session, message), images, { source: "rpc" }));
		return {};
	},
	extension_ui_response({ dialogs }, { requestId, response }) {
		dialogs.answer(requestId, response);
		return {};
	},
	async abort(live) {
		await live.abort();
		return {};
	},
	abort_bash(live) {
		live.abortBash();
		return {};
	},
	abort_compaction({ session }) {
		session.abortCompaction();
		session.abortBranchSummary();
		return {};
	},
	abort_retry({ session }) {
		session.abortRetry();
		return {};
	},
	clear_queue: ({ session }) => session.clearQueue(),
	async compact(live, { customInstructions }, { call }) {
		const { session } = live;
		live.checkModelUse();
		const stop = () => session.abortCompaction();
		call.signal.addEventListener("abort", stop, { once: true });
		try {
			const { summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter } =
				await session.compact(customInstructions);
			return {
				summary,
				firstKeptEntryId,
				tokensBefore,
				...(estimatedTokensAfter !== undefined && { estimatedTokensAfter }),
			};
		} catch (error) {
			throw asCommandError(error, "wrong_state");
		} finally {
			call.signal.removeEventListener("abort", stop);
		}
	},
};

async function prompt(live: LiveSession, command: CommandOf<"prompt">): Promise<object> {
	const run = await live.taking(async () => {
		const { session } = live;
		const { verbatim, message } = command;
		const checked = verbatim ? command : { ...command, message: checkedMessage(session, message) };
		await refuseEarly(live, checked);
		live.ensureFile();
		const started = startPrompt(session, checked);
		await started.accepted.catch((error) => {
			throw asCommandError(error, "wrong_state");
		});
		return started;
	});
	if (command.waitFor !== "settled") return {};
	await run.ended;
	await live.session.waitForIdle();
	return outcomeOf(live);
}

/** What pi would refuse with a text that names files of the server. */
async function refuseEarly(
	live: LiveSession,
	{ streamingBehavior, message, verbatim }: CommandOf<"prompt">,
): Promise<void> {
	const { session } = live;
	if (!verbatim && isExtensionCommand(session, message)) return; // runs whatever the state is
	live.checkModelUse();
	if (session.isStreaming) {
		if (streamingBehavior) return;
		throw new CommandError(
			"wrong_state",
			"The session is answering: say how to add to it with streamingBehavior (steer or followUp), or abort first",
		);
	}
	const { model, modelRuntime } = session;
	if (!model || model.provider === NO_PROVIDER) {
		const isAny = (await modelRuntime.getAvailable()).length > 0;
		throw new CommandError("wrong_state", isAny ? NONE_CHOSEN : NONE_SET_UP);
	}
	const hasKey =
		modelRuntime.hasConfiguredAuth(model.provider) ||
		(await modelRuntime.checkAuth(model.provider)) !== undefined;
	if (!hasKey) {
		throw new CommandError(
			"wrong_state",
			`The server has no key for provider "${model.provider}": log in with pi on the server, or choose another model`,
		);
	}
}

/** What pi puts in the place of a model where there is none. */
const NO_PROVIDER = "unknown";
const NONE_CHOSEN = "The session has no model: choose one with set_model";
const NONE_SET_UP =
	"No model is set up on the server: run pi there and /login, or give the server a provider's key in its environment, then start it again. To try it without a model, start it with --demo always";

/**
 * Hands a prompt to pi. `accepted` resolves when pi has taken it and what the user said is in the session's file;
 * `ended` resolves when the run is over, and never rejects: a run that fails shows as events.
 */
function startPrompt(
	session: AgentSession,
	{ message, images, streamingBehavior, verbatim }: CommandOf<"prompt">,
): { accepted: Promise<void>; ended: Promise<void> } {
	let isTaken = false;
	let unsubscribe = () => {};
	const recorded = new Promise<void>((resolve) => {
		unsubscribe = session.subscribe((event) => {
			if (isTaken && event.type === "message_end" && event.message.role === "user") resolve();
		});
	});
	// Pi 0.87 passes a boolean here and 1.5 a word, which is only called for prompts that are taken.
	const preflightResult = ((result: unknown) => {
		isTaken = result !== false;
	}) as NonNullable<PromptOptions["preflightResult"]>;
	const run = session.prompt(message, {
		source: "rpc",
		preflightResult,
		...(images && { images }),
		...(streamingBehavior && { streamingBehavior }),
		...(verbatim && { expandPromptTemplates: false }),
	});
	const whole = run.catch((error) => {
		if (!isTaken) throw error;
	});
	return {
		accepted: Promise.race([recorded, whole]).finally(unsubscribe),
		ended: run.catch(() => {}),
	};
}

/** How a run went, for those who waited for it. */
function outcomeOf(live: LiveSession): object {
	const last = live.session.messages.findLast(({ role }) => role === "assistant");
	if (last?.role !== "assistant") return {};
	if (live.wasAborted()) return { stopReason: "aborted" };
	const { stopReason, errorMessage } = last;
	return { stopReason, ...(errorMessage && { errorMessage }) };
}

function isExtensionCommand({ extensionRunner }: AgentSession, message: string): boolean {
	const [name = ""] = message.slice(1).split(" ", 1);
	return message.startsWith("/") && extensionRunner.getCommand(name) !== undefined;
}

/** Commands of extensions cannot be queued. */
async function queued(queueing: Promise<unknown>): Promise<void> {
	await queueing.catch((error) => {
		throw asCommandError(error, "wrong_state");
	});
}
