import { blobFolder, createBlobStore } from "../core/blob-store.ts";
import { loadConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { agentFolder, shownPath } from "../core/places.ts";
import {
	ClaudeHook,
	handleOpencode,
	hookFolder,
	KNOWN_TOOLS,
	noteSaved,
	type SavedSum,
	savedSums,
} from "../hook/index.ts";
import { touchesExcluded } from "../readcache/file-touch.ts";
import { counted, grouped } from "../text/figures.ts";
import {
	type Command,
	FLAG,
	hintFor,
	type OptionValues,
	TEXT,
	type Terminal,
	UsageError,
} from "./command.ts";
import { portIn } from "./option-values.ts";

const AGENTS = ["claude-code", "opencode"] as const;
type Agent = (typeof AGENTS)[number];
const WORDS = [...AGENTS, "report"];

export const hook: Command = {
	name: "hook",
	usage:
		"claude-code|opencode [--shadow] [--verbose] [--print-settings [--port <port>]] | report [--json]",
	details: [
		"",
		"Agents call it after each call of a tool. It reads one event from standard input and prints what the",
		"result is replaced by: lines that the model sees already as references to them, repeated output of",
		"commands folded. The full text is stored first. In doubt it prints nothing, and the result stays as it is.",
		"--print-settings prints what to add to the agent's own settings; nothing is written. With --port, Claude",
		"Code asks a running strata proxy instead, which takes less time.",
		"--shadow leaves results as they are and counts what would be saved. strata hook report shows the counts.",
		"--verbose prints on standard error why a result stays as it is.",
	],
	options: { shadow: FLAG, verbose: FLAG, json: FLAG, port: TEXT, "print-settings": FLAG },
	maxArguments: 1,
	words: WORDS,
	// After status 2, Claude Code shows the error to its model.
	usageStatus: 1,
	async run(values, [word = ""], terminal) {
		if (word === "report") return report(terminal, values.json === true);
		const agent = AGENTS.find((one) => one === word);
		if (!agent) throw new UsageError(`unknown agent "${word}"; ${hintFor(word, WORDS)}`);
		const isShadow = values.shadow === true;
		if (values["print-settings"]) {
			printSettings(agent, terminal, { isShadow, port: values.port });
			return 0;
		}
		const { readInput } = terminal;
		if (!readInput) {
			const advice =
				"an agent calls it; --print-settings prints what to add to the agent's settings";
			throw new Error(`expects an event of ${agent} on standard input: ${advice}`);
		}
		try {
			const input = await readInput(MAX_EVENT_BYTES);
			const why = input ? await handle(agent, input, terminal, isShadow) : "the event is too long";
			if (values.verbose && why) terminal.printError(`strata hook: ${why}`);
		} catch (error) {
			// The agent goes on with the result as it is.
			if (values.verbose) terminal.printError(`strata hook: ${describeError(error)}`);
		}
		return 0;
	},
};

/** An event holds one result; a larger one stays as it is. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

/** Returns why the result stays as it is. */
async function handle(agent: Agent, input: Buffer, terminal: Terminal, isShadow: boolean) {
	const event: unknown = JSON.parse(input.toString("utf8"));
	const options = { env: terminal.env, touchesExcluded, isShadow };
	const answer =
		agent === "opencode"
			? await handleOpencode(event, options)
			: await new ClaudeHook(options).handle(event);
	if (answer.output !== "") terminal.print(answer.output);
	await note(agent, answer, terminal);
	return answer.why;
}

type Answer = Awaited<ReturnType<ClaudeHook["handle"]>>;

async function note(agent: Agent, answer: Answer, { env, cwd }: Pick<Terminal, "env" | "cwd">) {
	const { output, savedTokens: tokens, sessionId, id } = answer;
	if (tokens <= 0 || sessionId === undefined || id === undefined) return;
	const { proxy, blobs } = loadConfig({ agentDir: agentFolder(env), cwd }).config;
	const saved = { agent, sessionId, id, isShadow: output === "", tokens };
	const isFirst = await noteSaved(hookFolder(env), saved, { keepDays: proxy.keepDays });
	// Nothing else may ever evict old texts on this machine.
	if (isFirst && output !== "") await createBlobStore(blobs).sweep();
}

/** Handles events of Claude Code for the proxy. Never rejects. */
export function claudeHookFor(terminal: Pick<Terminal, "env" | "cwd">, isShadow: boolean) {
	const running = new ClaudeHook({ env: terminal.env, touchesExcluded, isShadow });
	return async (body: Buffer): Promise<string> => {
		try {
			const answer = await running.handle(JSON.parse(body.toString("utf8")));
			// A lost count must not cost the saving, and the agent does not wait for it.
			void note("claude-code", answer, terminal).catch(() => undefined);
			return answer.output || "{}";
		} catch {
			return "{}"; // not an event: the agent goes on
		}
	};
}

function printSettings(
	agent: Agent,
	terminal: Terminal,
	{ isShadow, port }: { readonly isShadow: boolean; readonly port: OptionValues[string] },
): void {
	const { print } = terminal;
	if (agent === "opencode") {
		const plugin = pluginUrl();
		print(JSON.stringify({ plugin: [isShadow ? [plugin, { shadow: true }] : plugin] }, null, 2));
		return;
	}
	const command = `strata hook claude-code${isShadow ? " --shadow" : ""}`;
	const query = isShadow ? "?shadow" : "";
	const hook =
		port === undefined
			? { type: "command", command, timeout: 5 }
			: {
					type: "http",
					url: `http://127.0.0.1:${portIn(port)}/hook/claude-code${query}`,
					timeout: 5,
				};
	const settings = {
		permissions: { allow: [readPermission(terminal)] },
		hooks: { PostToolUse: [{ matcher: HOOK_MATCHER, hooks: [hook] }] },
	};
	print(JSON.stringify(settings, null, 2));
}

/** The tools of Claude Code whose results the hook knows. */
export const HOOK_MATCHER = KNOWN_TOOLS.join("|");

/** Lets Claude Code read stored texts, which are outside of the project. */
export function readPermission({ env, cwd }: Pick<Terminal, "env" | "cwd">): string {
	const { blobs } = loadConfig({ agentDir: agentFolder(env), cwd }).config;
	const folder = shownPath(blobFolder(blobs));
	return `Read(${folder.startsWith("~/") ? folder : `/${folder}`}/**)`;
}

/** The plugin for opencode. */
export function pluginUrl(): string {
	return new URL("../../plugins/opencode.js", import.meta.url).href;
}

async function report({ env, print }: Terminal, isJson: boolean): Promise<number> {
	const sums = await savedSums(hookFolder(env));
	if (isJson) print(JSON.stringify(sums, null, 2));
	else if (sums.length === 0) print("No result was shortened yet.");
	else for (const sum of sums) print(reportLine(sum));
	return 0;
}

function reportLine({ agent, isShadow, sessions, results, tokens }: SavedSum): string {
	const what = `${counted(results, "result")} of ${counted(sessions, "session")}`;
	const how = isShadow ? "would be" : results === 1 ? "is" : "are";
	return `${agent}: ${what} ${how} shorter by about ${grouped(tokens)} tokens in each request that carries them`;
}
