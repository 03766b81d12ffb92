import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { deleteCodeIndex, openCodeIndex } from "../codeindex/index.ts";
import { property } from "../core/property.ts";
import { createMcpServer, type McpOptions, serveStdio } from "../mcp/index.ts";
import { makeSampleProject } from "../server/demo/sample-projects.ts";
import type { Terminal } from "./command.ts";

/** So many files use one function that an answer about it is shortened. */
const REPORTS = 150;

/** Serves the sample project to an agent. Deletes it when the agent has gone. */
export async function demoOnStdio(served: McpOptions): Promise<number> {
	return await withSample(async (cwd) => {
		await serveStdio({ ...served, cwd, ignoresRoots: true });
		return 0;
	});
}

/** Calls every tool as an agent would, and prints the calls with the first lines of their answers. */
export async function demoAtTerminal(
	served: McpOptions,
	{ print }: Pick<Terminal, "print">,
): Promise<number> {
	return await withSample(async (cwd) => {
		const server = createMcpServer({ ...served, cwd, ignoresRoots: true });
		const client = new Client({ name: "strata demo", version: served.version });
		const [ours, theirs] = InMemoryTransport.createLinkedPair();
		await Promise.all([server.connect(theirs), client.connect(ours)]);
		try {
			print("A sample project, and what an agent gets from each tool. No model is asked.");
			const { tools } = await client.listTools();
			let id = "";
			for (const { name } of tools) {
				const input = name === "strata_recall" ? { id, max_chars: 500 } : INPUTS[name];
				if (!input) continue;
				const { content, _meta } = await client.callTool({ name, arguments: input });
				id = textIn(property(_meta, "strata/details")) ?? id;
				print("");
				print(`${name} ${JSON.stringify(input)}`);
				for (const line of firstLines(content)) print(`  ${line}`);
			}
			print("");
			print(
				"strata setup adds these tools to your agents. In an agent, the demo is the server: strata mcp --demo",
			);
			return 0;
		} finally {
			await client.close();
		}
	});
}

const INPUTS: Record<string, Record<string, unknown>> = {
	kota_search: { query: "discount" },
	kota_deps: { file_path: "src/cart.ts", direction: "both" },
	kota_usages: { symbol: "format" },
	kota_impact: { files_to_modify: ["src/money.ts"] },
	kota_task_context: { files: ["src/order.ts"] },
	kota_index: {},
	read_page: { uri: "docs/handbook.pdf", pages: "1-2" },
};
const SHOWN_LINES = 8;

function firstLines(content: unknown): string[] {
	const lines = String(property(property(content, "0"), "text") ?? "").split("\n");
	const rest = lines.length - SHOWN_LINES;
	return rest > 1 ? [...lines.slice(0, SHOWN_LINES), `… ${rest} more lines`] : lines;
}

/** Where the whole answer is, if it was shortened. */
function textIn(details: unknown): string | undefined {
	const id = property(details, "blobId");
	return typeof id === "string" ? id : undefined;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

async function withSample(work: (root: string) => Promise<number>): Promise<number> {
	const folder = await mkdtemp(join(tmpdir(), "strata-demo-"));
	let root: string | undefined;
	const remove = async () => {
		await rm(folder, { recursive: true, force: true, maxRetries: 3 });
		if (root !== undefined) await deleteCodeIndex(root);
	};
	// Some agents end a server by a signal.
	const endNow = () => void remove().finally(() => process.exit(0));
	for (const signal of SIGNALS) process.once(signal, endNow);
	try {
		root = await makeSampleProject(folder);
		await mkdir(join(root, ".git")); // the project ends here, wherever the folder for temporary files is
		await mkdir(join(root, "src", "reports"));
		const money = JSON.stringify("../money.ts");
		for (let day = 1; day <= REPORTS; day++) {
			const body = `(total: number) => \`day ${day}: \${format(total)}\`;\n`;
			const text = `import { format } from ${money};\n\nexport const reportOfDay${day} = ${body}`;
			await writeFile(join(root, "src", "reports", `report-of-day-${day}.ts`), text);
		}
		const index = openCodeIndex({ root });
		await index.build().finally(() => index.close());
		return await work(root);
	} finally {
		for (const signal of SIGNALS) process.off(signal, endNow);
		await remove();
	}
}
