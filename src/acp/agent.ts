import { isAbsolute } from "node:path";
import {
	type AgentApp,
	type AgentContext,
	agent,
	type ClientCapabilities,
	type InitializeResponse,
	type McpServer,
	methods,
	PROTOCOL_VERSION,
} from "@agentclientprotocol/sdk";
import { type Client, createClient, type Transport } from "../protocol/client.ts";
import { AcpSession } from "./acp-session.ts";
import { asRequestError, invalidParams, sessionNotFound } from "./errors.ts";
import { createSession, findSession, listSessions, type OpenedSession } from "./server-sessions.ts";

export interface AcpOptions {
	readonly version: string;
	/** Leads to the server, on each connection; it may start one. */
	readonly transport: Transport;
}

/** Editors open one session per thread; more than this are closed, the oldest first. They can be loaded again. */
const MAX_SESSIONS = 64;

/** One editor and its sessions. Connects to the server when the first session is needed. */
export function createAcpAgent(options: AcpOptions): { app: AgentApp; close(): void } {
	const sessions = new Map<string, AcpSession>();
	let capabilities: ClientCapabilities = {};
	let client: Client | undefined;

	/** A client that could not connect for good is replaced: the reason may be gone by then. */
	function connected(): Client {
		if (client && client.state.name !== "closed") return client;
		for (const session of sessions.values()) session.close();
		sessions.clear();
		client = createClient({ transport: options.transport });
		return client;
	}

	function hold({ sessionId, cwd }: OpenedSession, editor: AgentContext): AcpSession {
		drop(sessionId);
		const [oldest] = sessions.keys();
		if (oldest !== undefined && sessions.size >= MAX_SESSIONS) drop(oldest);
		const session = new AcpSession({
			...{ sessionId, cwd, client: connected(), editor, capabilities },
			onEnd: () => {
				if (sessions.get(sessionId) === session) sessions.delete(sessionId);
			},
		});
		sessions.set(sessionId, session);
		return session;
	}

	function drop(id: string): void {
		sessions.get(id)?.close();
		sessions.delete(id);
	}

	function held(id: string): AcpSession {
		const session = sessions.get(id);
		if (!session) throw sessionNotFound(id);
		return session;
	}

	/** Opens a session that exists, with its history or without it. */
	async function reopen(
		id: string,
		mcpServers: readonly McpServer[],
		editor: AgentContext,
		isReplayed: boolean,
	) {
		const opened = await findSession(connected(), id);
		// A copy has another id, which the editor could not name.
		if (opened.sessionId !== id) throw invalidParams(opened.notices.join(" ") || "It is a copy");
		const session = hold(opened, editor);
		try {
			if (isReplayed) await session.replay();
			const configOptions = await session.configOptions();
			startLater(session, [...opened.notices, ...aboutServers(mcpServers)]);
			return { configOptions };
		} catch (error) {
			drop(id);
			throw error;
		}
	}

	const app = agent({ name: "strata" })
		.onRequest(methods.agent.initialize, ({ params }) => {
			capabilities = params.clientCapabilities ?? {};
			return description(options.version);
		})
		.onRequest(methods.agent.authenticate, ({ params }) => {
			throw invalidParams(`There is no method "${params.methodId.slice(0, 100)}": none is needed`);
		})
		.onRequest(
			methods.agent.session.new,
			async ({ params, client: editor }) =>
				await answered(async () => {
					const opened = await createSession(connected(), checkedFolder(params.cwd));
					const session = hold(opened, editor);
					const configOptions = await session.configOptions();
					startLater(session, [...opened.notices, ...aboutServers(params.mcpServers)]);
					return { sessionId: opened.sessionId, configOptions };
				}),
		)
		.onRequest(
			methods.agent.session.load,
			async ({ params, client: editor }) =>
				await answered(() => reopen(params.sessionId, params.mcpServers, editor, true)),
		)
		.onRequest(
			methods.agent.session.resume,
			async ({ params, client: editor }) =>
				await answered(() => reopen(params.sessionId, params.mcpServers ?? [], editor, false)),
		)
		.onRequest(
			methods.agent.session.list,
			async ({ params }) => await answered(() => listSessions(connected(), params)),
		)
		.onRequest(methods.agent.session.close, ({ params }) => {
			const session = held(params.sessionId);
			session.cancel();
			drop(params.sessionId);
		})
		.onRequest(methods.agent.session.prompt, ({ params, signal }) =>
			held(params.sessionId).prompt(params.prompt, signal),
		)
		.onRequest(methods.agent.session.setConfigOption, async ({ params }) => {
			const session = held(params.sessionId);
			const { configId, value } = params;
			return await answered(async () => ({
				configOptions: await session.setConfigOption(configId, value),
			}));
		})
		.onNotification(methods.agent.session.cancel, ({ params }) =>
			sessions.get(params.sessionId)?.cancel(),
		);
	return {
		app,
		close() {
			for (const session of sessions.values()) session.close();
			sessions.clear();
			client?.close();
		},
	};
}

function description(version: string): InitializeResponse {
	return {
		protocolVersion: PROTOCOL_VERSION,
		agentInfo: { name: "strata", title: "pi (strata)", version },
		agentCapabilities: {
			loadSession: true,
			promptCapabilities: { image: true, embeddedContext: true },
			sessionCapabilities: { list: {}, resume: {}, close: {} },
		},
		// The server's token is in a file of the user, and pi has the keys of its models.
		authMethods: [],
	};
}

async function answered<Answer>(work: () => Promise<Answer>): Promise<Answer> {
	try {
		return await work();
	} catch (error) {
		throw asRequestError(error);
	}
}

function checkedFolder(cwd: string): string {
	if (isAbsolute(cwd)) return cwd;
	throw invalidParams(`cwd must be an absolute path, got "${cwd.slice(0, 200)}"`);
}

/** Updates of a session may only follow the answer that names it, which is written before timers run. */
function startLater(session: AcpSession, notices: readonly string[]): void {
	setTimeout(() => session.start(notices), 0);
}

/** pi has no MCP client. strata's own tools are in every session already. */
function aboutServers(servers: readonly McpServer[]): string[] {
	const others = servers.filter(
		(server) => !("command" in server && /\bstrata\b/.test(server.command)),
	);
	if (others.length === 0) return [];
	const names = others.map(({ name }) => name.slice(0, 50)).slice(0, 10);
	return [`pi does not use MCP servers. Not connected: ${names.join(", ")}.`];
}
