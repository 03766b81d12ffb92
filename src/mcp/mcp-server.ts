import { fileURLToPath } from "node:url";
import { loadConfig } from "../core/config.ts";
import { describeError } from "../core/errno.ts";
import { isRecord, property } from "../core/property.ts";
import { decodePageToken } from "../core/read-input.ts";
import { clip } from "../text/clip.ts";
import { oneLine } from "../text/one-line.ts";
import { type Asker, answer } from "./answers.ts";
import { type Incoming, Peer, RpcError } from "./peer.ts";
import { checkedCall, listedTools, type ToolCall } from "./tools.ts";
import { Workspace, type WorkspaceOptions } from "./workspace.ts";

export interface McpOptions extends WorkspaceOptions {
	readonly version: string;
	/** The folder stays that of the demo, whatever the client's roots are. */
	readonly ignoresRoots?: boolean;
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

/** The newest first. A client that wants another one gets the newest, and decides. */
const PROTOCOL_VERSIONS = [
	...["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"],
] as const;
const INVALID_PARAMS = -32_602;
/** In the range that JSON-RPC leaves to servers. */
const BUSY = -32_000;
/** Agents make a few calls at a time. Each holds its input and its answer in memory. */
const MAX_CALLS = 64;
const BUSY_TEXT = `The server is busy: ${MAX_CALLS} calls are in flight. Send this one again when one of them has ended.`;

/** Serves the tools to one client. Connect it to a transport; closing that closes what is open. */
export function createMcpServer(options: McpOptions): Peer {
	const { version, agentDir, cwd, ignoresRoots = false } = options;
	const workspace = new Workspace(options);
	const tools = listedTools(loadConfig({ agentDir, cwd }).config);
	let capabilities: Readonly<Record<string, unknown>> = {};
	let calls = 0;
	const roots = new ClientRoots((uris) => workspace.setRoots(uris));
	return new Peer({
		requests: {
			initialize({ params }) {
				if (isRecord(params.capabilities)) capabilities = params.capabilities;
				const protocolVersion =
					PROTOCOL_VERSIONS.find((one) => one === params.protocolVersion) ?? PROTOCOL_VERSIONS[0];
				return {
					...{ protocolVersion, capabilities: { tools: {} } },
					...{ serverInfo: { name: "strata", version }, instructions: INSTRUCTIONS },
				};
			},
			ping: () => ({}),
			"tools/list": () => ({ tools }),
			async "tools/call"(incoming) {
				const { name, arguments: input } = incoming.params;
				if (typeof name !== "string") throw new RpcError(INVALID_PARAMS, "name must be a string");
				if (calls >= MAX_CALLS) throw new RpcError(BUSY, BUSY_TEXT);
				calls++;
				try {
					const isListed = tools.some((tool) => tool.name === name);
					if (!isListed) throw new Error(`There is no tool ${oneLine(name).slice(0, 100)}`);
					const call = checkedCall(name, input);
					if (!ignoresRoots && isRecord(capabilities.roots)) await roots.know(incoming);
					return await workspace.use(pathsIn(call), async (folder) =>
						resultOf(await answer(call, folder, askerOf(incoming, capabilities.elicitation))),
					);
				} catch (error) {
					const text = clip(oneLine(describeError(error)), MAX_ERROR_BYTES);
					return { content: [{ type: "text", text }], isError: true };
				} finally {
					calls--;
				}
			},
		},
		notifications: {
			"notifications/roots/list_changed": () => roots.forget(),
		},
		onClose: () => void workspace.close(),
	});
}

/** The client's roots. Calls share one question; if the one that asked is cancelled, another asks. */
class ClientRoots {
	readonly #take: (uris: string[]) => void;
	#asked: Promise<boolean> | undefined;

	constructor(take: (uris: string[]) => void) {
		this.#take = take;
	}

	/** Rejects when the call is cancelled: it must not wait for the question of another. */
	async know(incoming: Incoming): Promise<void> {
		const { signal } = incoming;
		const cancelled = new Promise<never>((_resolve, reject) => {
			signal.addEventListener("abort", () => reject(signal.reason), { once: true });
		});
		while (!signal.aborted) {
			this.#asked ??= this.#ask(incoming);
			const asked = this.#asked;
			if (await Promise.race([asked, cancelled])) return;
			if (this.#asked === asked) this.forget();
		}
	}

	/** The next call asks. */
	forget(): void {
		this.#asked = undefined;
	}

	/** False if the call was cancelled before the client answered. */
	async #ask({ request, signal }: Incoming): Promise<boolean> {
		// A client that does not answer works in the folder in which it started us.
		const listed = await request("roots/list", {}, ROOTS_MS).catch(() => undefined);
		if (listed === undefined && signal.aborted) return false;
		this.#take(urisIn(property(listed, "roots")));
		return true;
	}
}

function urisIn(roots: unknown): string[] {
	if (!Array.isArray(roots)) return [];
	return roots.map((root) => property(root, "uri")).filter((uri) => typeof uri === "string");
}

function resultOf({ text, details }: Awaited<ReturnType<typeof answer>>) {
	return { content: [{ type: "text", text }], _meta: { "strata/details": details } };
}

function askerOf({ params, signal, notify, request }: Incoming, elicitation: unknown): Asker {
	const progressToken = property(params._meta, "progressToken");
	let progress = 0;
	let sentMs = 0;
	// Without either name it is forms, as in earlier versions of the protocol.
	const isAsking = isRecord(elicitation) && (elicitation.form || !elicitation.url);
	return {
		signal,
		onProgress(message) {
			const nowMs = performance.now();
			if (progressToken === undefined || nowMs - sentMs < PROGRESS_INTERVAL_MS) return;
			sentMs = nowMs;
			progress++;
			notify("notifications/progress", { progressToken, progress, message });
		},
		...(isAsking && {
			async confirm(message) {
				const requestedSchema = { type: "object", properties: {} };
				const asked = request("elicitation/create", { message, requestedSchema }, CONSENT_MS);
				const answered = await asked.catch((error: unknown) => {
					if (signal.aborted) throw error;
					return undefined;
				});
				// Agents without a screen cancel what they cannot ask.
				const action = property(answered, "action");
				return action === "accept" ? true : action === "decline" ? false : undefined;
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
			return [localPath(decodePageToken(input.uri)?.uri ?? input.uri)];
		default:
			return [];
	}
}

function localPath(uri: string): string {
	try {
		return uri.startsWith("file://") ? fileURLToPath(uri) : uri;
	} catch {
		return uri; // reading it says why it is none
	}
}
