import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
	CallToolRequestSchema,
	type CallToolResult,
	ListToolsRequestSchema,
	RootsListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { loadConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { decodePageToken } from "../core/read-input.ts";
import { clip } from "../text/clip.ts";
import { oneLine } from "../text/one-line.ts";
import { type Asker, answer } from "./answers.ts";
import { checkedCall, listedTools, type ToolCall } from "./tools.ts";
import { Workspace, type WorkspaceOptions } from "./workspace.ts";

export interface McpOptions extends WorkspaceOptions {
	readonly version: string;
}

/** Codex shows this as the description of all tools, Claude Code puts it into the prompt. */
const INSTRUCTIONS =
	"Exact answers about TypeScript and JavaScript (kota_*), checked against the files at each question: who uses a symbol, what a change breaks, which tests to run. read_page reads web pages, PDFs and files part by part.";

/** The user may be away. */
const CONSENT_MS = 10 * 60_000;
const ROOTS_MS = 5_000;
const MAX_ERROR_BYTES = 1_000;
/** Each progress notification is a line for the client. */
const PROGRESS_INTERVAL_MS = 100;

type Extra = Parameters<Parameters<Server["setRequestHandler"]>[1]>[1];

/** Serves the tools to one client. Connect it to a transport; closing that closes what is open. */
export function createMcpServer(options: McpOptions): Server {
	const { version, agentDir, cwd } = options;
	const server = new Server(
		{ name: "strata", version },
		{ capabilities: { tools: {} }, instructions: INSTRUCTIONS },
	);
	const workspace = new Workspace({ agentDir, cwd });
	const tools = listedTools(loadConfig({ agentDir, cwd }).config);
	let roots: Promise<void> | undefined;
	const askForRoots = async ({ requestId: relatedRequestId }: Extra) => {
		if (!server.getClientCapabilities()?.roots) return;
		// A client that does not answer works in the folder in which it started us.
		const listed = await server
			.listRoots(undefined, { timeout: ROOTS_MS, relatedRequestId })
			.catch(() => ({ roots: [] }));
		workspace.setRoots(listed.roots.map(({ uri }) => uri));
	};
	server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
		roots = undefined; // the next call asks
	});
	server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
	server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
		try {
			const isListed = tools.some(({ name }) => name === params.name);
			if (!isListed) throw new Error(`There is no tool ${oneLine(params.name).slice(0, 100)}`);
			const call = checkedCall(params.name, params.arguments);
			roots ??= askForRoots(extra);
			await roots;
			return await workspace.use(pathsIn(call), async (folder) =>
				resultOf(await answer(call, folder, askerOf(server, extra))),
			);
		} catch (error) {
			const text = clip(oneLine(describeError(error)), MAX_ERROR_BYTES);
			return { content: [{ type: "text", text }], isError: true };
		}
	});
	server.onclose = () => void workspace.close();
	return server;
}

function resultOf({ text, details }: Awaited<ReturnType<typeof answer>>): CallToolResult {
	return { content: [{ type: "text", text }], _meta: { "strata/details": details } };
}

function askerOf(server: Server, { signal, _meta, requestId, sendNotification }: Extra): Asker {
	const progressToken = _meta?.progressToken;
	let progress = 0;
	let sentMs = 0;
	const { elicitation } = server.getClientCapabilities() ?? {};
	// Without either name it is forms, as in earlier versions of the protocol.
	const isAsking = elicitation !== undefined && (elicitation.form || !elicitation.url);
	return {
		signal,
		onProgress(message) {
			const nowMs = performance.now();
			if (progressToken === undefined || nowMs - sentMs < PROGRESS_INTERVAL_MS) return;
			sentMs = nowMs;
			progress++;
			const params = { progressToken, progress, message };
			// The client may have gone; the call itself reports that.
			sendNotification({ method: "notifications/progress", params }).catch(() => {});
		},
		...(isAsking && {
			async confirm(message) {
				const requestedSchema = { type: "object" as const, properties: {} };
				const asked = { message, requestedSchema };
				const options = { signal, timeout: CONSENT_MS, relatedRequestId: requestId };
				const answered = await server.elicitInput(asked, options).catch((error: unknown) => {
					if (signal.aborted) throw error;
					return { action: "cancel" };
				});
				// Agents without a screen cancel what they cannot ask.
				return answered.action === "cancel" ? undefined : answered.action === "accept";
			},
		}),
	};
}

/** The paths that a call names, to find the folder that it is about. */
function pathsIn({ name, input }: ToolCall): string[] {
	switch (name) {
		case "kota_deps":
			return [input.file_path];
		case "kota_outline":
			return [input.target.replace(/#.*$/, "")];
		case "kota_symbol":
			return [input.symbol.replace(/#.*$/, "")];
		case "kota_usages":
			return input.file === undefined ? [] : [input.file];
		case "kota_impact":
			return [input.files_to_modify, input.files_to_create, input.files_to_delete].flatMap(
				(files) => files ?? [],
			);
		case "kota_task_context":
			return input.files;
		case "kota_index":
			return input.path === undefined ? [] : [input.path];
		case "read_page":
			return [(decodePageToken(input.uri)?.uri ?? input.uri).replace(/^file:\/\//, "")];
		default:
			return [];
	}
}
