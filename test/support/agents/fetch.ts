import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { npm, registryTrouble } from "../npm.ts";
import { AGENTS_FOLDER, type AgentPackage, folderOf, isFetched } from "./packages.ts";

const PAUSES_SECONDS = [0, 5, 15, 30]; // before each attempt: registries refuse in bursts

/**
 * Fetches a package unless it is there. Returns the registry's failure, if it refuses every attempt; other failures throw.
 * A run that was interrupted goes on with the package that was not complete.
 */
export async function fetchAgent(agent: AgentPackage): Promise<string | undefined> {
	if (isFetched(agent)) return undefined;
	console.log(`${agent.name} ${agent.version}: fetching ${agent.megabytes} MB …`);
	const startedMs = Date.now();
	let trouble: string | undefined;
	for (const pause of PAUSES_SECONDS) {
		await sleep(pause * 1000);
		trouble = await download(agent);
		if (trouble === undefined) {
			const seconds = Math.round((Date.now() - startedMs) / 1000);
			console.log(`${agent.name} ${agent.version}: ready after ${seconds} s`);
			return undefined;
		}
		if (isMissing(trouble)) break;
	}
	return trouble;
}

/** Whether the registry answers and does not have the package. */
export function isMissing(trouble: string): boolean {
	return /^(E404|ETARGET)\b/.test(trouble);
}

/** Unpacks under another name and renames the folder atomically. */
async function download(agent: AgentPackage): Promise<string | undefined> {
	mkdirSync(AGENTS_FOLDER, { recursive: true });
	const work = mkdtempSync(join(AGENTS_FOLDER, "download-"));
	try {
		const archive = await packed(agent, work);
		if (archive.trouble !== undefined) return archive.trouble;
		const integrity = await integrityOf(join(work, archive.file));
		if (integrity !== agent.integrity) {
			throw new Error(`${agent.spec} has the hash ${integrity}; expected ${agent.integrity}`);
		}
		const { status } = spawnSync("tar", ["-xzf", archive.file], { cwd: work, stdio: "inherit" });
		if (status !== 0) throw new Error(`tar cannot unpack ${archive.file}`);
		rmSync(folderOf(agent), { recursive: true, force: true });
		renameSync(join(work, "package"), folderOf(agent));
		if (!isFetched(agent)) throw new Error(`${agent.spec} has no file ${agent.program}`);
		return undefined;
	} finally {
		rmSync(work, { recursive: true, force: true });
	}
}

type Packed = { file: string; trouble?: never } | { trouble: string };

async function packed({ spec }: AgentPackage, cwd: string): Promise<Packed> {
	try {
		// No retries by npm itself: ours back off longer.
		const options = ["--prefer-offline", "--fetch-retries=0", "--loglevel=error"];
		const { stdout } = await npm(["pack", spec, ...options], { cwd });
		return { file: stdout.trim().split("\n").at(-1) ?? "" };
	} catch (error) {
		const printed = `${Object(error).stderr ?? ""}${Object(error).stdout ?? ""}`;
		const trouble = registryTrouble(printed, new Set([spec.slice(0, spec.lastIndexOf("@"))]));
		if (trouble === undefined) throw error;
		return { trouble };
	}
}

async function integrityOf(file: string): Promise<string> {
	const hash = createHash("sha512");
	for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
	return `sha512-${hash.digest("base64")}`;
}
