import type {
	AgentContext,
	ClientCapabilities,
	McpServer,
	SessionConfigOption,
} from "@agentclientprotocol/sdk";
import { type Client, createClient, type Transport } from "../protocol/client.ts";
import { AcpSession } from "./acp-session.ts";
import { invalidRequest, sessionNotOpen } from "./errors.ts";
import { createSession, findSession, type OpenedSession } from "./server-sessions.ts";

/** Editors open one session per thread; more than this are closed, the oldest first. They can be loaded again. */
const MAX_SESSIONS = 64;

/** How an editor names a session, with the MCP servers that it would like to have in it. */
interface Wanted {
	readonly editor: AgentContext;
	readonly mcpServers: readonly McpServer[];
}

/** The sessions that one editor has open. Connects to the server when the first is needed. */
export class EditorSessions {
	readonly #transport: Transport;
	readonly #sessions = new Map<string, AcpSession>();
	#client: Client | undefined;
	/** What the editor can show. */
	capabilities: ClientCapabilities = {};

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/** A client that could not connect for good is replaced: the reason may be gone by then. */
	get client(): Client {
		if (!this.#client || this.#client.state.name === "closed") {
			for (const id of [...this.#sessions.keys()]) this.drop(id);
			this.#client = createClient({ transport: this.#transport });
		}
		return this.#client;
	}

	find(id: string): AcpSession | undefined {
		return this.#sessions.get(id);
	}

	getOrThrow(id: string): AcpSession {
		const session = this.find(id);
		if (!session) throw sessionNotOpen(id);
		return session;
	}

	async create(cwd: string, wanted: Wanted) {
		const opened = await createSession(this.client, cwd);
		const configOptions = await this.#open(opened, wanted, false);
		return { sessionId: opened.sessionId, configOptions };
	}

	/** Opens a session that exists, with its history or without it. */
	async reopen(id: string, wanted: Wanted, isReplayed: boolean) {
		const opened = await findSession(this.client, id);
		if (opened.sessionId !== id) {
			const copy = `That session is open as "${opened.sessionId}": load it under that name`;
			throw invalidRequest(copy);
		}
		return { configOptions: await this.#open(opened, wanted, isReplayed) };
	}

	drop(id: string): void {
		this.#sessions.get(id)?.close();
		this.#sessions.delete(id);
	}

	close(): void {
		for (const id of [...this.#sessions.keys()]) this.drop(id);
		this.#client?.close();
	}

	async #open(
		{ sessionId, cwd, notices }: OpenedSession,
		{ editor, mcpServers }: Wanted,
		isReplayed: boolean,
	): Promise<SessionConfigOption[]> {
		const { client, capabilities } = this;
		this.drop(sessionId);
		const [oldest] = this.#sessions.keys();
		if (oldest !== undefined && this.#sessions.size >= MAX_SESSIONS) this.drop(oldest);
		const session = new AcpSession({
			...{ sessionId, cwd, client, editor, capabilities },
			onEnd: () => {
				if (this.find(sessionId) === session) this.#sessions.delete(sessionId);
			},
		});
		this.#sessions.set(sessionId, session);
		try {
			if (isReplayed) await session.replay();
			const options = await session.configOptions();
			// Updates may only follow the answer that names the session, which is written before timers run.
			setTimeout(() => session.start([...notices, ...aboutServers(mcpServers)]), 0);
			return options;
		} catch (error) {
			this.drop(sessionId);
			throw error;
		}
	}
}

/** pi has no MCP client. strata's own tools are in every session already. */
function aboutServers(servers: readonly McpServer[]): string[] {
	const isOwn = (server: McpServer) =>
		"command" in server && /\bstrata\b/.test([server.command, ...server.args].join(" "));
	const names = servers
		.filter((server) => !isOwn(server))
		.map(({ name }) => name.slice(0, 50))
		.slice(0, 10);
	if (names.length === 0) return [];
	return [`pi does not use MCP servers. Not connected: ${names.join(", ")}.`];
}
