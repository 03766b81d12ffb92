import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
	type ClientCapabilities,
	type ClientContext,
	type ContentBlock,
	type CreateElicitationResponse,
	client,
	methods,
	ndJsonStream,
	PROTOCOL_VERSION,
	type RequestPermissionRequest,
	type RequestPermissionResponse,
	type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { atEnd } from "../support/temp.ts";

const STRATA = fileURLToPath(new URL("../../bin/strata.js", import.meta.url));

interface EditorOptions {
	readonly agentDir: string;
	readonly words?: readonly string[];
	readonly capabilities?: ClientCapabilities;
	permit?(request: RequestPermissionRequest): RequestPermissionResponse["outcome"];
	write?(): CreateElicitationResponse;
}

/** An editor: a client of the SDK at the standard input and output of `strata acp`. */
export interface Editor {
	readonly agent: ClientContext;
	readonly child: ChildProcess;
	readonly updates: SessionUpdate[];
	errors(): string;
	initialize(): Promise<unknown>;
	/** Ends as an editor that crashes. */
	kill(): Promise<void>;
}

export function openEditor(options: EditorOptions): Editor {
	const { agentDir, words = [], capabilities, permit, write } = options;
	const child = spawn(process.execPath, [STRATA, "acp", ...words], {
		cwd: agentDir,
		env: { ...process.env, HOME: agentDir, PI_CODING_AGENT_DIR: agentDir, PI_OFFLINE: "1" },
	});
	let printed = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		printed += text;
	});
	const exited = once(child, "close");
	const updates: SessionUpdate[] = [];
	const app = client({ name: "test" })
		.onNotification(methods.client.session.update, ({ params }) => {
			updates.push(params.update);
		})
		.onRequest(methods.client.session.requestPermission, ({ params }) => ({
			outcome: permit?.(params) ?? { outcome: "cancelled" },
		}))
		.onRequest(methods.client.elicitation.create, () => write?.() ?? { action: "cancel" });
	const stream = ndJsonStream(
		Writable.toWeb(child.stdin),
		Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
	);
	const connection = app.connect(stream);
	const kill = async () => {
		child.kill("SIGKILL");
		await exited;
		connection.close();
	};
	atEnd(kill);
	const { agent } = connection;
	return {
		...{ agent, child, updates, kill, errors: () => printed },
		initialize: () =>
			agent.request(methods.agent.initialize, {
				protocolVersion: PROTOCOL_VERSION,
				...(capabilities && { clientCapabilities: capabilities }),
			}),
	};
}

/** The text of one kind of chunk, joined. */
export function textOf(updates: readonly SessionUpdate[], kind = "agent_message_chunk"): string {
	return updates
		.flatMap((update) =>
			update.sessionUpdate === kind &&
			"content" in update &&
			update.content &&
			"text" in update.content
				? [update.content.text]
				: [],
		)
		.join("");
}

export function kindsOf(updates: readonly SessionUpdate[]): Set<string> {
	return new Set(updates.map(({ sessionUpdate }) => sessionUpdate));
}

export const say = (text: string): ContentBlock[] => [{ type: "text", text }];
