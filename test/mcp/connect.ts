import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import {
	type CallToolResult,
	ElicitRequestSchema,
	ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createMcpServer } from "../../src/mcp/index.ts";
import { atEnd, tempDir } from "../support/temp.ts";

export const SHOP = {
	"src/cart.ts": 'import { price } from "./price.ts";\n\nexport const total = () => price(2);\n',
	"src/price.ts": "export function price(count: number): number {\n\treturn count * 3;\n}\n",
};

export function writeProject(files: Record<string, string> = SHOP): string {
	const root = tempDir("shop");
	mkdirSync(join(root, ".git"));
	for (const [path, text] of Object.entries(files)) {
		mkdirSync(dirname(join(root, path)), { recursive: true });
		writeFileSync(join(root, path), text);
	}
	return root;
}

interface ClientOptions {
	readonly roots?: readonly string[];
	/** How the user answers; without it, the client cannot ask. */
	readonly consent?: (message: string) => "accept" | "decline" | "cancel";
	readonly idleMs?: number;
	/** The user's `strata.json`. */
	readonly settings?: object;
}

/** A client of the SDK, connected to a server for the folder. */
export async function connect(
	cwd: string,
	{ roots, consent, settings, idleMs }: ClientOptions = {},
) {
	const agentDir = tempDir("agent");
	const blobs = { dir: join(agentDir, "blobs") };
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify({ blobs, ...settings }));
	const server = createMcpServer({ agentDir, cwd, version: "1.2.3", ...(idleMs && { idleMs }) });
	const capabilities = { ...(roots && { roots: {} }), ...(consent && { elicitation: {} }) };
	const client = new Client({ name: "test", version: "1" }, { capabilities });
	if (roots) {
		client.setRequestHandler(ListRootsRequestSchema, () => ({
			roots: roots.map((path) => ({ uri: pathToFileURL(path).href })),
		}));
	}
	if (consent) {
		client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
			action: consent(params.message),
		}));
	}
	const [ours, theirs] = InMemoryTransport.createLinkedPair();
	await Promise.all([server.connect(theirs), client.connect(ours)]);
	atEnd(() => client.close());
	const call = async (
		name: string,
		input: Record<string, unknown> = {},
		options: Parameters<Client["callTool"]>[2] = {},
	) => {
		const result = await client.callTool({ name, arguments: input }, undefined, options);
		const { content, isError, _meta } = result as CallToolResult;
		const [block] = content;
		if (block?.type !== "text" || content.length !== 1) throw new Error("not one text");
		return { text: block.text, isError, details: _meta?.["strata/details"] };
	};
	return { client, call, blobFolder: blobs.dir };
}
