import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CodeSystem, type CodeSystemOptions } from "../../src/code/system.ts";
import { oneSystem } from "./one-system.ts";
import type { NamedExtension } from "./pi-runtime.ts";
import { type PiHarness, type PiOptions, startPi } from "./pi-session.ts";
import { tempDir } from "./temp.ts";

/** How {@link startKota} sets up pi. */
export interface KotaOptions extends Omit<PiOptions, "extensions" | "agentDir"> {
	/** The user's settings of kota. */
	kota?: Record<string, unknown>;
	/** Default: a store in a folder of its own. */
	blobs?: Record<string, unknown>;
	/** In place of an engine that the settings name. */
	openEngine?: CodeSystemOptions["openEngine"];
	/** Other extensions, loaded afterwards. */
	after?: readonly NamedExtension[];
}

/** A pi with the kota tools. */
export interface KotaPi {
	readonly pi: PiHarness;
	/** The texts of kota's status line, in order. */
	readonly statuses: string[];
	/** The model calls a tool. */
	call(tool: string, args: Record<string, unknown>): Promise<ToolOutcome>;
	/** Runs a command and returns its report. */
	ask(line: string): Promise<string>;
}

export interface ToolOutcome {
	readonly text: string;
	readonly isError: boolean;
	readonly details: Record<string, unknown> | undefined;
}

/** Starts pi with the kota system alone. Dialogs are those of `uiContext`. */
export async function startKota(options: KotaOptions = {}): Promise<KotaPi> {
	const { kota = {}, blobs, openEngine, after = [], uiContext, ...rest } = options;
	const agentDir = tempDir();
	const store = { dir: join(tempDir(), "blobs"), ...blobs };
	writeFileSync(join(agentDir, "strata.json"), JSON.stringify({ kota, blobs: store }));
	const statuses: string[] = [];
	const code = oneSystem(
		"kota",
		(spine) => new CodeSystem(spine, { ...(openEngine && { openEngine }) }),
	);
	const pi = await startPi({
		...rest,
		agentDir,
		extensions: [code, ...after],
		...(uiContext && {
			uiContext: {
				setStatus: (key, text) => {
					if (key === "kota" && text !== undefined) statuses.push(text);
				},
				...uiContext,
			},
		}),
	});
	let calls = 0;
	return {
		pi,
		statuses,
		async call(tool, args) {
			const id = `kota-${++calls}`;
			await pi.run("go", [{ tool, args, id }, "done"]);
			const result = pi.toolResults().find(({ toolCallId }) => toolCallId === id);
			if (!result) throw new Error(`No result of ${tool}`);
			const { text, isError, details } = result;
			return { text, isError, details: details as ToolOutcome["details"] };
		},
		async ask(line) {
			const before = pi.reports.length;
			await pi.command(line);
			const texts = pi.reports.slice(before).map(({ data }) => (data as { text: string }).text);
			return texts.join("\n");
		},
	};
}
