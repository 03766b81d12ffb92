import { homedir } from "node:os";
import { describeError, errnoOf } from "../core/errno.ts";
import { makeFolders, readConfig, removeConfig, writeConfig } from "./config-file.ts";
import type { Manifest } from "./manifest.ts";
import { planFile } from "./plan.ts";
import type { FoundAgent, PlannedFile } from "./plan-agent.ts";
import { runProgram } from "./program.ts";
import { type FileRecord, recordOf, type Undo, undoOf } from "./record.ts";

interface Outcome {
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
	found: FoundAgent,
	manifest: Manifest,
	env: NodeJS.ProcessEnv,
): Promise<Outcome> {
	const { wanted, before } = plan;
	const { path } = wanted;
	if ((await textOf(path)) !== before) {
		return { path, kind: "left", note: `${path} was written meanwhile: run strata setup again` };
	}
	const previous = manifest.recordOf(path);
	const folders: string[] = [];
	const record = (after: string) =>
		recordOf({ ...plan, agent: found.agent.name, before, after, folders }, previous);
	try {
		if (before === undefined) folders.push(...(await makeFolders(path)));
		// Recorded first: a crash in between leaves nothing that cannot be undone.
		const planned = record(plan.after ?? "");
		if (plan.calls.length === 0 || found.program === undefined) {
			await manifest.put(planned);
			await writeConfig(path, plan.after ?? "");
			return { path, kind: "edit" };
		}
		await manifest.put({ ...planned, after: null });
		const failure = await runCalls(found.program, plan.calls, env);
		// What the command did not do is edited.
		const rest = planFile(wanted, await textOf(path), planned.keys);
		if (rest.keys.length > 0) await writeConfig(path, rest.after ?? "");
		await manifest.put(record(rest.after ?? ""));
		const isMissing = rest.keys.some(({ kind }) => kind === "server");
		if (!isMissing) return { path, kind: "command", ...(rest.notes[0] && { note: rest.notes[0] }) };
		const command = plan.calls.at(-1)?.slice(0, 2).join(" ");
		const note = `${command} of ${found.agent.title} failed${failure}; ${path} was edited instead`;
		return { path, kind: "edit", note };
	} catch (error) {
		if ((await textOf(path)) === before) {
			await (previous ? manifest.put(previous) : manifest.drop(path)).catch(() => undefined);
			if (before === undefined) await removeConfig(path, folders).catch(() => undefined);
		}
		const why = errnoOf(error) ?? describeError(error);
		return { path, kind: "left", note: `${path} cannot be written: ${why}` };
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

interface PlannedUndo {
	readonly record: FileRecord;
	readonly before: string | undefined;
	readonly undo: Undo;
}

/** Plans how a file becomes what it was. Writes nothing. */
export async function planUndo(record: FileRecord): Promise<PlannedUndo> {
	const file = await readConfig(record.path);
	const before = file.kind === "read" ? file.text : undefined;
	const left = (why: string) => ({
		record,
		before,
		undo: { kind: "left", why: `it ${why}` } as const,
	});
	if (file.kind === "unreadable") return left(file.why);
	// A link is the user's, who moved the file: our keys go, and the file stays.
	const isLink = file.kind === "read" && file.isLink;
	const isOurFile = record.restore?.before === null;
	const undo = undoOf(isLink && isOurFile ? { ...record, restore: null } : record, before);
	const isWriting = undo.kind === "restored" || undo.kind === "removed";
	const fault = file.kind === "read" ? file.fault : undefined;
	return isWriting && fault !== undefined ? left(fault) : { record, before, undo };
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
