import { isAbsolute } from "node:path";
import {
	type AgentApp,
	agent,
	type InitializeResponse,
	methods,
	PROTOCOL_VERSION,
} from "@agentclientprotocol/sdk";
import type { Transport } from "../protocol/client.ts";
import { EditorSessions } from "./editor-sessions.ts";
import { asRequestError, invalidParams } from "./errors.ts";
import { listSessions } from "./server-sessions.ts";

export interface AcpOptions {
	readonly version: string;
	/** Leads to the server, on each connection; it may start one. */
	readonly transport: Transport;
}

/** One editor and its sessions. */
export function createAcpAgent(options: AcpOptions): { app: AgentApp; close(): void } {
	const sessions = new EditorSessions(options.transport);
	const app = agent({ name: "strata" })
		.onRequest(methods.agent.initialize, ({ params }) => {
			sessions.capabilities = params.clientCapabilities ?? {};
			return description(options.version);
		})
		.onRequest(methods.agent.authenticate, ({ params }) => {
			throw invalidParams(`There is no method "${params.methodId.slice(0, 100)}": none is needed`);
		});
	handleSessions(app, sessions);
	handleTurns(app, sessions);
	return { app, close: () => sessions.close() };
}

function handleSessions(app: AgentApp, sessions: EditorSessions): void {
	const { session } = methods.agent;
	app
		.onRequest(session.new, ({ params: { cwd, mcpServers }, client: editor }) =>
			answered(() => sessions.create(checkedFolder(cwd), { editor, mcpServers })),
		)
		.onRequest(session.load, ({ params: { sessionId, mcpServers }, client: editor }) =>
			answered(() => sessions.reopen(sessionId, { editor, mcpServers }, true)),
		)
		.onRequest(session.resume, ({ params: { sessionId, mcpServers = [] }, client: editor }) =>
			answered(() => sessions.reopen(sessionId, { editor, mcpServers }, false)),
		)
		.onRequest(session.list, ({ params }) => answered(() => listSessions(sessions.client, params)))
		.onRequest(session.close, ({ params: { sessionId } }) => {
			sessions.getOrThrow(sessionId).cancel();
			sessions.drop(sessionId);
		});
}

function handleTurns(app: AgentApp, sessions: EditorSessions): void {
	const { session } = methods.agent;
	app
		.onRequest(session.prompt, ({ params, signal }) =>
			sessions.getOrThrow(params.sessionId).prompt(params.prompt, signal),
		)
		.onNotification(session.cancel, ({ params }) => sessions.find(params.sessionId)?.cancel())
		.onRequest(session.setConfigOption, ({ params: { sessionId, configId, value } }) =>
			answered(async () => {
				const configOptions = await sessions.getOrThrow(sessionId).setConfigOption(configId, value);
				return { configOptions };
			}),
		);
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
