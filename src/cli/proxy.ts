import { loadConfig } from "../core/config.ts";
import { agentFolder } from "../core/places.ts";
import { type LocalProxy, startProxy, type Upstreams, upstreamsFrom } from "../proxy/index.ts";
import { counted } from "../text/figures.ts";
import { Book, summaryLine, TrafficObserver, trafficFolder } from "../traffic/index.ts";
import { type Command, FLAG, TEXT, type Terminal, UsageError } from "./command.ts";
import { watchSignals } from "./signals.ts";

const DEFAULT_PORT = 3142;

export const proxy: Command = {
	name: "proxy",
	usage: `[--port ${DEFAULT_PORT}] [--json]`,
	details: [
		"",
		"Listens on this machine only, and forwards what agents send below /anthropic, /openai, /chatgpt, /gemini",
		"and the names in proxy.upstreams of your strata.json. Requests and answers are not changed; keys pass",
		"through and are not stored. strata traffic shows what the requests cost and why caches missed. For one",
		"run of one agent, strata run is simpler and leaves nothing behind.",
		'--json prints one line when the proxy is ready: {"type":"ready","port":3142,…}.',
		"SIGTERM and SIGINT stop it after the streams in flight; a second one stops it at once.",
	],
	options: { port: TEXT, json: FLAG },
	async run(values, _words, terminal) {
		const { running, upstreams, close } = await openProxy(terminal, { port: portIn(values.port) });
		const stopAsked = Promise.withResolvers<string>();
		watchSignals(stopAsked.resolve);
		const urls = Object.fromEntries(
			[...upstreams.keys()].map((key) => [key, running.baseUrl(key)]),
		);
		if (values.json) {
			terminal.print(JSON.stringify({ type: "ready", port: running.port, urls, pid: process.pid }));
		} else for (const line of usageLines(running, urls)) terminal.print(line);
		await stopAsked.promise;
		await close();
		return 0;
	},
};

export interface OpenProxyOptions {
	readonly port: number;
	readonly secret?: string;
	readonly drainMs?: number;
}

export interface OpenedProxy {
	readonly running: LocalProxy;
	readonly upstreams: Upstreams;
	/** Ends the proxy, then waits until its requests are booked. Further calls do nothing. */
	close(): Promise<void>;
	/** One line about the requests that this proxy booked; after `close`. */
	summary(): Promise<string>;
}

/** Starts a proxy as the user's settings say. Its requests go into the book of traffic. */
export async function openProxy(
	{ env, cwd, printError }: Terminal,
	{ port, secret, drainMs }: OpenProxyOptions,
): Promise<OpenedProxy> {
	const { config, warnings } = loadConfig({ agentDir: agentFolder(env), cwd });
	for (const warning of warnings) printError(`strata: ${warning}`);
	const { websocket, maxBodyBytes, keepDays, keepTexts } = config.proxy;
	const upstreams = upstreamsFrom(config.proxy.upstreams);
	const folder = trafficFolder(env);
	const sinceMs = Date.now();
	const observer = new TrafficObserver({ folder, keepDays, keepTexts });
	const running = await startProxy({
		port,
		...(secret !== undefined && { secret }),
		upstreams,
		websocket,
		env,
		limits: { maxBodyBytes, ...(drainMs !== undefined && { drainMs }) },
		onExchange: (exchange) => observer.add(exchange),
	});
	return {
		running,
		upstreams,
		async close() {
			await running.close();
			await observer.close();
		},
		summary: () => summaryOf(running, observer, { folder, sinceMs }),
	};
}

async function summaryOf(
	{ counters }: LocalProxy,
	{ conversations, counts, lastFailure }: TrafficObserver,
	{ folder, sinceMs }: { readonly folder: string; readonly sinceMs: number },
): Promise<string> {
	if (counters.requests === 0) return "no request went through the proxy";
	const passed = `${counted(counters.requests, "request")} passed`;
	const { failed, dropped, unreadable } = counts;
	const lost = failed + dropped + unreadable;
	const note = lost > 0 ? ` (${lost} not booked${lastFailure ? `: ${lastFailure}` : ""})` : "";
	if (conversations.size === 0) return `${passed}, none was billed${note}`;
	const book = await Book.openForReading(folder);
	if (!book) return `${passed}${note}`;
	try {
		return `${summaryLine(book.sums({ sinceMs, ids: conversations }))}${note}`;
	} finally {
		book.close();
	}
}

function portIn(value: unknown): number {
	const text = String(value ?? DEFAULT_PORT);
	if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) {
		throw new UsageError(`--port needs a number from 0 to 65535, got "${text}"`);
	}
	return Number(text);
}

function usageLines({ port }: LocalProxy, urls: Record<string, string>): string[] {
	return [
		`strata proxy is listening on http://127.0.0.1:${port}`,
		`  Claude Code  ANTHROPIC_BASE_URL=${urls.anthropic} claude`,
		`  Codex        codex -c 'openai_base_url="${urls.openai}/v1"'`,
		`  Gemini CLI   GOOGLE_GEMINI_BASE_URL=${urls.gemini} gemini`,
		`  opencode     "baseURL": "${urls.anthropic}/v1" in provider.anthropic.options`,
	];
}
