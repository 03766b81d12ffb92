import { type Config, loadConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { agentFolder } from "../core/places.ts";
import { type LocalProxy, startProxy, type Upstreams, upstreamsFrom } from "../proxy/index.ts";
import { touchesExcluded } from "../readcache/index.ts";
import { MemoryMarks, openMarks, Rewriter, savingsFolder } from "../savings/index.ts";
import { counted } from "../text/figures.ts";
import { Book, summaryLine, TrafficObserver, trafficFolder } from "../traffic/index.ts";
import type { Exchange } from "../wire/exchange.ts";
import { type Command, FLAG, TEXT, type Terminal } from "./command.ts";
import { oneOf, portIn, SAVINGS } from "./option-values.ts";
import { watchSignals } from "./signals.ts";

const DEFAULT_PORT = 3142;

type Savings = Config["proxy"]["savings"];

/** For every command with the option. */
export const SAVINGS_DETAILS = [
	"--savings birth replaces lines of new results that an earlier result of the same request shows by references;",
	"--savings shadow only counts what that would save. A conversation that began with birth needs it to its end.",
	"WebSockets, which Codex prefers, are sent as they are: with proxy.websocket set to refuse, it uses HTTP.",
];

export const proxy: Command = {
	name: "proxy",
	usage: `[--port ${DEFAULT_PORT}] [--savings off|shadow|birth] [--json]`,
	details: [
		"",
		"Listens on this machine only, and forwards what agents send below /anthropic, /openai, /chatgpt, /gemini",
		"and the names in proxy.upstreams of your strata.json. Without savings nothing is changed; keys pass",
		"through and are not stored. strata traffic shows what the requests cost and why caches missed. For one",
		"run of one agent, strata run is simpler and leaves nothing behind.",
		...SAVINGS_DETAILS,
		'--json prints one line when the proxy is ready: {"type":"ready","port":3142,…}.',
		"SIGTERM and SIGINT stop it after the streams in flight; a second one stops it at once.",
	],
	options: { port: TEXT, savings: TEXT, json: FLAG },
	async run(values, _words, terminal) {
		const { running, upstreams, close } = await openProxy(terminal, {
			port: portIn(values.port ?? DEFAULT_PORT),
			savings: oneOf(values, "savings", SAVINGS),
		});
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
	/** Without it, as the settings say. */
	readonly savings: Savings | undefined;
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
	{ port, secret, drainMs, savings }: OpenProxyOptions,
): Promise<OpenedProxy> {
	const { config, warnings } = loadConfig({ agentDir: agentFolder(env), cwd });
	for (const warning of warnings) printError(`strata: ${warning}`);
	const { websocket, maxBodyBytes, keepDays, keepTexts } = config.proxy;
	const { exclude } = config.readcache;
	const upstreams = upstreamsFrom(config.proxy.upstreams);
	const folder = trafficFolder(env);
	const sinceMs = Date.now();
	const rewriting = await rewritingFor(savings ?? config.proxy.savings, {
		...{ env, keepDays },
		isExcluded: (input) => touchesExcluded({ input, details: undefined }, exclude, cwd),
	});
	if (rewriting.problem) printError(`strata: no savings: ${rewriting.problem}`);
	const observer = new TrafficObserver({ folder, keepDays, keepTexts });
	const running = await startProxy({
		port,
		...(secret !== undefined && { secret }),
		upstreams,
		websocket,
		env,
		limits: { maxBodyBytes, ...(drainMs !== undefined && { drainMs }) },
		...(rewriting.rewrite && { rewrite: rewriting.rewrite }),
		own: hookPaths({ env, cwd }),
		onExchange: (exchange) => observer.add(rewriting.noted(exchange)),
	});
	return {
		running,
		upstreams,
		async close() {
			await running.close();
			await observer.close();
			rewriting.close();
		},
		async summary() {
			const line = await summaryOf(running, observer, { folder, sinceMs });
			return line + rewriting.unshortened();
		},
	};
}

/** Hooks of agents may ask the proxy, which starts faster than a command. */
function hookPaths(terminal: Pick<Terminal, "env" | "cwd">) {
	const answer = (isShadow: boolean) => {
		let handler: Promise<(body: Buffer) => Promise<string>> | undefined;
		return async (body: Buffer) => {
			handler ??= import("./hook.ts").then((hook) => hook.claudeHookFor(terminal, isShadow));
			return (await handler)(body);
		};
	};
	return new Map([
		["/hook/claude-code", answer(false)],
		["/hook/claude-code?shadow", answer(true)],
	]);
}

interface ProxyRewriting {
	/** Absent if requests are forwarded as they come. */
	readonly rewrite?: Rewriter["rewrite"];
	/** The exchange with what was saved, or would have been. */
	noted(exchange: Exchange): Exchange;
	/** What savings do not cover, for the line at the end. */
	unshortened(): string;
	close(): void;
	/** Why there are no savings although they are asked for. */
	readonly problem?: string;
}

interface RewritingOptions {
	readonly env: NodeJS.ProcessEnv;
	readonly keepDays: number;
	isExcluded(input: unknown): boolean;
}

async function rewritingFor(
	savings: Savings,
	{ env, keepDays, isExcluded }: RewritingOptions,
): Promise<ProxyRewriting> {
	const off: ProxyRewriting = {
		noted: (exchange) => exchange,
		unshortened: () => "",
		close: () => undefined,
	};
	if (savings === "off") return off;
	const sockets = new UnshortenedSockets(savings === "shadow");
	const unshortened = () => sockets.text;
	if (savings === "shadow") {
		const shadow = new Rewriter({ marks: new MemoryMarks(), isExcluded });
		const noted = (exchange: Exchange) => withShadow(sockets.noted(exchange), shadow);
		return { ...off, noted, unshortened };
	}
	try {
		const marks = await openMarks(savingsFolder(env), keepDays);
		const rewriter = new Rewriter({ marks, isExcluded });
		return {
			rewrite: (request) => rewriter.rewrite(request),
			noted: (exchange) => sockets.noted(exchange),
			unshortened,
			close: () => marks.close(),
		};
	} catch (error) {
		return { ...off, problem: describeError(error) };
	}
}

const SWITCHING_PROTOCOLS = 101;

/** Requests over WebSockets, which are always sent as they are. */
class UnshortenedSockets {
	readonly #isShadow: boolean;
	#requests = 0;

	constructor(isShadow: boolean) {
		this.#isShadow = isShadow;
	}

	get text(): string {
		if (this.#requests === 0) return "";
		return `; ${counted(this.#requests, "request")} over WebSockets not shortened (see proxy.websocket)`;
	}

	noted(exchange: Exchange): Exchange {
		if (exchange.status !== SWITCHING_PROTOCOLS) return exchange;
		this.#requests++;
		const savings = { tokens: 0, results: 0, kept: "websocket" };
		return { ...exchange, savings: { ...savings, ...(this.#isShadow && { isShadow: true }) } };
	}
}

/** The body is copied: the exchange's own moves to another thread. */
function withShadow(exchange: Exchange, shadow: Rewriter): Exchange {
	const { requestBody, path, requestEncoding: encoding, status } = exchange;
	if (!requestBody || status === SWITCHING_PROTOCOLS) return exchange;
	const { savings } = shadow.rewrite({ path, encoding, body: Buffer.from(requestBody) });
	return savings ? { ...exchange, savings: { ...savings, isShadow: true } } : exchange;
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

function usageLines({ port }: LocalProxy, urls: Record<string, string>): string[] {
	return [
		`strata proxy is listening on http://127.0.0.1:${port}`,
		`  Claude Code  ANTHROPIC_BASE_URL=${urls.anthropic} claude`,
		`  Codex        codex -c 'openai_base_url="${urls.openai}/v1"'`,
		`  Gemini CLI   GOOGLE_GEMINI_BASE_URL=${urls.gemini} gemini`,
		`  opencode     "baseURL": "${urls.anthropic}/v1" in provider.anthropic.options`,
	];
}
