import { homedir } from "node:os";
import { describeError, errnoOf } from "../core/errno.ts";
import { makeFolders, readConfig, removeConfig, writeConfig } from "./config-file.ts";
import type { Manifest } from "./manifest.ts";
import { planFile } from "./plan.ts";
import type { FoundAgent, PlannedFile } from "./plan-agent.ts";
import { runProgram } from "./program.ts";
import { type FileRecord, recordOf, type Undo, undoOf } from "./record.ts";

export interface Outcome {
	readonly path: string;
	/** `command`: by the agent's own command. `left`: nothing was written. */
	readonly kind: "command" | "edit" | "left";
	readonly note?: string;
}

/** An agent starts in a second or two; on a busy machine in many more. */
const COMMAND_MS = 60_000;

/** Setting up must not send anything. */
const QUIET = {
	...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_TELEMETRY: "1" },
	...{ DISABLE_AUTOUPDATER: "1", GEMINI_TELEMETRY_ENABLED: "false" },
};

/** Writes a planned change and records it. The file must be as it was when it was planned. */
export async function applyFile(
	plan: PlannedFile,
	{ agent, program }: FoundAgent,
	manifest: Manifest,
	env: NodeJS.ProcessEnv,
): Promise<Outcome> {
	const { wanted, before, calls } = plan;
	const { path } = wanted;
	const changed = {
		path,
		kind: "left",
		note: `${path} was written meanwhile: run strata setup again`,
	};
	if ((await textOf(path)) !== before) return changed as Outcome;
	const previous = manifest.recordOf(path);
	const folders: string[] = [];
	try {
		if (before === undefined) folders.push(...(await makeFolders(path)));
		const common = { agent: agent.name, wanted, before, folders };
		if (calls.length === 0 || program === undefined) {
			const { after = "", keys } = plan;
			// Recorded first: a crash in between leaves nothing that cannot be undone.
			await manifest.put(recordOf({ ...common, after, keys }, previous));
			await writeConfig(path, after);
			return { path, kind: "edit" };
		}
		const pending = recordOf({ ...common, after: plan.after ?? "", keys: plan.keys }, previous);
		await manifest.put({ ...pending, after: null });
		const failure = await runCalls(program, calls, env);
		// What the command did not do is edited.
		const written = await textOf(path);
		const known = [...plan.keys, ...(previous?.keys ?? [])];
		const rest = planFile(wanted, written, known);
		const after = rest.after ?? "";
		if (rest.keys.length > 0) await writeConfig(path, after);
		await manifest.put(recordOf({ ...common, after, keys: plan.keys }, previous));
		const hasServer = !rest.keys.some(({ kind }) => kind === "server");
		if (hasServer) return { path, kind: "command" };
		const note = `${calls.at(-1)?.slice(0, 2).join(" ")} of ${agent.title} failed${failure}; ${path} was edited instead`;
		return { path, kind: "edit", note };
	} catch (error) {
		if ((await textOf(path)) === before) {
			await (previous ? manifest.put(previous) : manifest.drop(path)).catch(() => undefined);
			if (before === undefined) await removeConfig(path, folders).catch(() => undefined);
		}
		return {
			path,
			kind: "left",
			note: `${path} cannot be written: ${errnoOf(error) ?? describeError(error)}`,
		};
	}
}

async function textOf(path: string): Promise<string | undefined> {
	const file = await readConfig(path);
	return file.kind === "read" ? file.text : undefined;
}

/** Returns how the first failing call ended, in parentheses; empty if all succeeded. */
async function runCalls(
	program: string,
	calls: PlannedFile["calls"],
	env: NodeJS.ProcessEnv,
): Promise<string> {
	for (const args of calls) {
		// Some agents store something about the folder that they are started in.
		const options = {
			cwd: env.HOME || homedir(),
			env: { ...env, ...QUIET },
			timeoutMs: COMMAND_MS,
		};
		const { status } = await runProgram(program, args, options);
		if (status !== 0) return status === null ? " (no end)" : ` (status ${status})`;
	}
	return "";
}

export interface PlannedUndo {
	readonly record: FileRecord;
	readonly before: string | undefined;
	readonly undo: Undo;
}

/** Plans how a file becomes what it was. Writes nothing. */
export async function planUndo(record: FileRecord): Promise<PlannedUndo> {
	const file = await readConfig(record.path);
	const before = file.kind === "read" ? file.text : undefined;
	if (file.kind === "unreadable")
		return { record, before, undo: { kind: "left", why: `it ${file.why}` } };
	const undo = undoOf(record, before);
	const isWriting = undo.kind === "restored" || undo.kind === "removed";
	const fault = file.kind === "read" ? file.fault : undefined;
	if (isWriting && fault !== undefined)
		return { record, before, undo: { kind: "left", why: `it ${fault}` } };
	return { record, before, undo };
}

/** Returns why the file stays as it is; `undefined` if it was undone. */
export async function applyUndo(
	{ record, before, undo }: PlannedUndo,
	manifest: Manifest,
): Promise<string | undefined> {
	const { path, folders } = record;
	if (undo.kind === "left") return `${path} is left alone: ${undo.why}`;
	try {
		if (undo.kind !== "nothing") {
			if ((await textOf(path)) !== before) {
				return `${path} was written meanwhile: run strata setup --undo again`;
			}
			if (undo.text === undefined) await removeConfig(path, folders);
			else await writeConfig(path, undo.text);
		}
		await manifest.drop(path);
		return undefined;
	} catch (error) {
		return `${path} cannot be written: ${errnoOf(error) ?? describeError(error)}`;
	}
}
