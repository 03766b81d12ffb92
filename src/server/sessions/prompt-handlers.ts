import type { AgentSession, PromptOptions } from "@earendil-works/pi-coding-agent";
import type { CommandOf, CommandType, Data } from "../../protocol/index.ts";
import { nearest } from "../../text/nearest.ts";
import { CommandError } from "../engine/call.ts";
import { asCommandError, wrongState } from "../safe-text.ts";
import type { SessionHandlers } from "./held-session.ts";
import type { LiveSession } from "./live-session.ts";

export const promptHandlers = {
	prompt,
	steer: (live, command) => queue(live, "steer", command),
	follow_up: (live, command) => queue(live, "followUp", command),
	extension_ui_response: ({ dialogs }, { requestId, response }) =>
		dialogs.answer(requestId, response),
	abort: (live) => live.abort(),
	abort_bash: (live) => live.abortBash(),
	abort_compaction({ session }) {
		session.abortCompaction();
		session.abortBranchSummary();
	},
	abort_retry({ session }) {
		session.abortRetry();
	},
	clear_queue: ({ session }) => session.clearQueue(),
	async compact(live, { customInstructions }, { call }) {
		const { session } = live;
		live.checkModelUse();
		const stop = () => session.abortCompaction();
		const compacting = () => session.compact(customInstructions);
		const done = await stoppable(call.signal, stop, compacting).catch(refuse);
		const { summary, firstKeptEntryId, tokensBefore, estimatedTokensAfter } = done;
		return {
			summary,
			firstKeptEntryId,
			tokensBefore,
			...(estimatedTokensAfter !== undefined && { estimatedTokensAfter }),
		};
	},
} satisfies Partial<SessionHandlers>;

async function prompt(live: LiveSession, command: CommandOf<"prompt">): Promise<object> {
	const run = await live.accepting(async () => {
		const { session } = live;
		const { verbatim, message } = command;
		const checked = verbatim ? command : { ...command, message: checkedMessage(session, message) };
		await refuseEarly(live, checked);
		live.ensureFile();
		const started = startPrompt(session, checked);
		await started.accepted.catch(refuse);
		return started;
	});
	if (command.waitFor !== "settled") return {};
	await run.ended;
	await live.session.waitForIdle();
	return outcomeOf(live);
}

function refuse(error: unknown): never {
	throw asCommandError(error, "wrong_state");
}

/** Calls `stop` if the signal aborts during `work`. */
export async function stoppable<T>(signal: AbortSignal, stop: () => void, work: () => Promise<T>) {
	signal.addEventListener("abort", stop, { once: true });
	try {
		return await work();
	} finally {
		signal.removeEventListener("abort", stop);
	}
}

/** Refuses what pi would refuse later, because pi's messages would name files of the server. */
async function refuseEarly(live: LiveSession, command: CommandOf<"prompt">): Promise<void> {
	const { session } = live;
	const { streamingBehavior, message, verbatim } = command;
	if (!verbatim && isExtensionCommand(session, message)) return; // extension commands run in any state
	live.checkModelUse();
	if (session.isStreaming) {
		if (streamingBehavior) return;
		throw wrongState(
			"The session is answering: set streamingBehavior to steer or followUp to queue the message, or abort first",
		);
	}
	const { model, modelRuntime } = session;
	if (!model || model.provider === NO_PROVIDER) {
		const isAny = (await modelRuntime.getAvailable()).length > 0;
		throw wrongState(isAny ? NONE_CHOSEN : NONE_SET_UP);
	}
	const hasKey =
		modelRuntime.hasConfiguredAuth(model.provider) ||
		(await modelRuntime.checkAuth(model.provider)) !== undefined;
	if (!hasKey) {
		throw wrongState(
			`The server has no key for provider "${model.provider}": log in with pi on the server, or choose another model`,
		);
	}
}

/** Pi's placeholder provider for a missing model. */
const NO_PROVIDER = "unknown";
const NONE_CHOSEN = "The session has no model: choose one with set_model";
const NONE_SET_UP =
	"No model is set up on the server: run pi there and use /login, or set a provider's key in the server's environment, then restart the server. To try the server without a model, start it with --demo always";

/** `accepted` resolves when the prompt is in the file. `ended` resolves after the run, and never rejects. */
function startPrompt(
	session: AgentSession,
	{ message, images, streamingBehavior, verbatim }: CommandOf<"prompt">,
): { accepted: Promise<void>; ended: Promise<void> } {
	let isAccepted = false;
	const recorded = Promise.withResolvers<void>();
	const unsubscribe = session.subscribe((event) => {
		const isUsers = event.type === "message_end" && event.message.role === "user";
		if (isAccepted && isUsers) recorded.resolve();
	});
	// Pi 0.87 passes a boolean. Pi 1.5 passes a string, and only for accepted prompts.
	const preflightResult = ((result: unknown) => {
		isAccepted = result !== false;
	}) as NonNullable<PromptOptions["preflightResult"]>;
	const run = session.prompt(message, {
		source: "rpc",
		preflightResult,
		...(images && { images }),
		...(streamingBehavior && { streamingBehavior }),
		...(verbatim && { expandPromptTemplates: false }),
	});
	const unlessAccepted = run.catch((error) => {
		if (!isAccepted) throw error;
	});
	return {
		accepted: Promise.race([recorded.promise, unlessAccepted]).finally(unsubscribe),
		ended: run.catch(() => {}),
	};
}

function outcomeOf(live: LiveSession): object {
	const last = live.session.messages.findLast(({ role }) => role === "assistant");
	if (last?.role !== "assistant") return {};
	if (live.wasAborted) return { stopReason: "aborted" };
	const { stopReason, errorMessage } = last;
	return { stopReason, ...(errorMessage && { errorMessage }) };
}

function isExtensionCommand({ extensionRunner }: AgentSession, message: string): boolean {
	const [name = ""] = message.slice(1).split(" ", 1);
	return message.startsWith("/") && extensionRunner.getCommand(name) !== undefined;
}

/** Rejects extension commands, as pi's `steer` and `followUp` do. */
async function queue(
	live: LiveSession,
	how: "steer" | "followUp",
	{ message, images }: CommandOf<"steer" | "follow_up">,
): Promise<void> {
	const { session } = live;
	live.checkModelUse();
	const checked = checkedMessage(session, message);
	await session[how](checked, images, { source: "rpc" }).catch(refuse);
}

export function slashCommands(session: AgentSession): Data<"SlashCommand">[] {
	const command = (source: string, name: string, { description }: { description?: string }) => ({
		name,
		source,
		...(description !== undefined && { description }),
	});
	const { extensionRunner, promptTemplates, resourceLoader } = session;
	const commands = extensionRunner.getRegisteredCommands();
	const { skills } = resourceLoader.getSkills();
	return [
		...commands.map((one) => command("extension", one.invocationName, one)),
		...promptTemplates.map((one) => command("prompt", one.name, one)),
		...skills.map((one) => command("skill", `skill:${one.name}`, one)),
	];
}

/** Throws `unknown_command` for an unknown command, which pi would send to the model as text. */
function checkedMessage(session: AgentSession, message: string): string {
	const [, word, rest = ""] = /^\/(\S+)([\s\S]*)$/.exec(message) ?? [];
	if (word === undefined) return message;
	const commands = slashCommands(session);
	const known = commands.find(({ name }) => name === word);
	// Pi needs a space after the name. It accepts other whitespace only after a template's name.
	if (known) return rest === "" ? message : `/${word} ${rest.slice(1)}`;
	if (!COMMAND.test(word)) return message;
	throw new CommandError("unknown_command", refusal(word, commands));
}

/** A name starts with a letter and has no slash, so `/usr/bin`, `//` and a lone slash are text. */
const COMMAND = /^\p{L}[^/]*$/u;

const WITHOUT_EQUIVALENT =
	"bug changelog hotkeys login logout quit scoped-models settings share trust".split(" ");

/** Pi's terminal commands and their protocol equivalents. */
export const TERMINAL_COMMANDS: ReadonlyMap<string, readonly CommandType[]> = new Map(
	Object.entries<CommandType[]>({
		...Object.fromEntries(WITHOUT_EQUIVALENT.map((name) => [name, []])),
		clone: ["clone"],
		compact: ["compact"],
		copy: ["get_last_assistant_text"],
		export: ["export_html"],
		fork: ["get_fork_messages", "fork"],
		import: ["load_session"],
		model: ["get_available_models", "set_model"],
		name: ["set_session_name"],
		new: ["new_session"],
		reload: ["reload"],
		resume: ["list_stored_sessions", "load_session"],
		session: ["get_session_stats"],
		thinking: ["set_thinking_level"],
		tree: ["get_tree", "navigate_tree"],
	}),
);

function refusal(word: string, commands: readonly Data<"SlashCommand">[]): string {
	const instead = TERMINAL_COMMANDS.get(word);
	const asText = "To send it to the model as text, put a space before it.";
	if (instead) {
		const use =
			instead.length > 0 ? `use ${instead.join(" and ")} of the protocol` : "it has no effect here";
		return `"/${word}" is a command of pi's terminal: ${use}. ${asText}`;
	}
	const names = [...commands.map(({ name }) => name), ...[...TERMINAL_COMMANDS.keys()].sort()];
	const near = [nearest(word, names) ?? [], names.filter((name) => name.startsWith(word))].flat();
	const hint = [...new Set(near)].slice(0, MAX_NEAR).map((name) => `"/${name}"`);
	const meant = hint.length > 0 ? ` Did you mean ${hint.join(" or ")}?` : " See get_commands.";
	return `There is no command "/${word.slice(0, MAX_WORD)}".${meant} ${asText}`;
}

const MAX_NEAR = 3;
const MAX_WORD = 60;
