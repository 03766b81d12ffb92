import { stat } from "node:fs/promises";
import { AGENTS, type Agent } from "./agents.ts";
import { type ConfigFile, readConfig } from "./config-file.ts";
import { ConfigFault, type JsonObject } from "./formats/format.ts";
import type { Manifest } from "./manifest.ts";
import { type AgentPlace, agentPlace, type Machine } from "./places.ts";
import { type FilePlan, FORMATS, planFile } from "./plan.ts";
import { findProgram, isStartable } from "./program.ts";
import { type Wish, wantedOf } from "./wanted.ts";

export interface FoundAgent {
	readonly agent: Agent;
	readonly program: string | undefined;
	readonly place: AgentPlace & { readonly file: string };
	/** Its program is on the path, or its folder exists. */
	readonly isInstalled: boolean;
}

/** Looks for every agent that setup knows. */
export async function findAgents(machine: Machine): Promise<FoundAgent[]> {
	return await Promise.all(
		AGENTS.map(async (agent) => {
			const place = agentPlace(agent.name, machine);
			const program = await findProgram(agent.programs, machine);
			const existing = await firstExisting(place.files);
			const file = existing ?? place.files[0];
			const isFolder = await exists(place.folder);
			const isInstalled = program !== undefined || existing !== undefined || isFolder;
			return { agent, program, place: { ...place, file }, isInstalled };
		}),
	);
}

async function firstExisting(paths: readonly string[]): Promise<string | undefined> {
	for (const path of paths) if (await exists(path)) return path;
	return undefined;
}

function exists(path: string): Promise<boolean> {
	return stat(path).then(
		() => true,
		() => false,
	);
}

export interface PlannedFile extends FilePlan {
	/** Calls of the agent's own program that write the server; empty if setup edits the file. */
	readonly calls: readonly (readonly string[])[];
}

export interface AgentPlan {
	readonly found: FoundAgent;
	readonly files: readonly PlannedFile[];
	/** What is left alone or not possible, one sentence each. */
	readonly notes: readonly string[];
}

/** Plans what setup changes for one agent. Writes nothing. */
export async function planAgent(
	found: FoundAgent,
	wish: Wish,
	manifest: Manifest,
): Promise<AgentPlan> {
	const { agent, place } = found;
	const paths = [place.file, place.settings].filter((path) => path !== undefined);
	const read = await Promise.all(
		paths.map(async (path) => [path, await readConfig(path)] as const),
	);
	const files = new Map<string, ConfigFile>(read);
	const wanted = wantedOf(agent.name, place, wish, (path) => rootOf(files.get(path)));
	const notes: string[] = [];
	const planned = wanted.files.flatMap((one): PlannedFile[] => {
		const file = files.get(one.path) ?? { kind: "missing" };
		if (file.kind === "unreadable") {
			notes.push(`${one.path} is left alone: it ${file.why}`);
			return [];
		}
		const before = file.kind === "read" ? file.text : undefined;
		const plan = planFile(one, before, manifest.recordOf(one.path)?.keys ?? []);
		notes.push(...plan.notes);
		if (plan.keys.length === 0) return [];
		if (file.kind === "read" && file.fault !== undefined) {
			notes.push(`${one.path} is left alone: it ${file.fault}`);
			return [];
		}
		// An agent may replace a link by a file of its own.
		const isLink = file.kind === "read" && file.isLink;
		return [{ ...plan, calls: isLink ? [] : callsOf(plan, found) }];
	});
	return { found, files: planned, notes: [...notes, ...wanted.notes] };
}

function rootOf(file: ConfigFile | undefined): JsonObject {
	try {
		return file?.kind === "read" ? FORMATS.json.parse(file.text) : {};
	} catch (error) {
		if (error instanceof ConfigFault) return {};
		throw error;
	}
}

function callsOf(
	{ wanted, keys, isReplacing, isExtended }: FilePlan,
	{ program }: FoundAgent,
): string[][] {
	const { own } = wanted;
	const isServer = keys.some(({ kind }) => kind === "server");
	if (!own || !isServer || isExtended || program === undefined || !isStartable(program)) return [];
	const first = isReplacing && own.remove ? [[...own.remove]] : [];
	return [...first, [...own.add]];
}
