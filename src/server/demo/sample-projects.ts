import { lstat, readdir, realpath, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { deleteCodeIndex, openCodeIndex } from "../../codeindex/index.ts";
import { describeError, errnoOf } from "../../core/errno.ts";
import { isWithin, realOrGiven } from "../../core/places.ts";
import { CommandError } from "../engine/call.ts";
import { isSampleName, makeSampleProject } from "./sample-project.ts";

/** What the demo works on, and nothing else: a project for each session, which is deleted with it. */
export interface SampleProjects {
	/** Where they all are. */
	readonly folder: string;
	/** Makes one for a session. @throws CommandError with what is wrong */
	make(): Promise<string>;
	/**
	 * Deletes the projects that the `left` folders are in, or all there are, except those that folders `inUse` are in.
	 * Touches nothing else, and follows no link. What cannot be deleted stays for the next start.
	 */
	retire(options: { left?: readonly string[]; inUse: readonly string[] }): Promise<void>;
}

export function createSampleProjects(folder: string, warn: (line: string) => void): SampleProjects {
	return {
		folder,
		async make() {
			const project = await makeSampleProject(folder).catch((error: unknown) => {
				const why = errnoOf(error) ?? "see the server's standard error";
				warn(`a sample project cannot be written: ${describeError(error)}`);
				throw new CommandError(
					"failed",
					`The sample project of the session cannot be written (${why}): name a folder with cwd, or make room on the server's disk`,
					{ cause: error },
				);
			});
			await index(project).catch((error: unknown) => {
				warn(`a sample project cannot be indexed: ${describeError(error)}`);
			});
			return project;
		},
		async retire({ left, inUse }) {
			try {
				const real = await ownFolder(folder);
				if (real === undefined) return;
				const used = new Set(projectsOf(inUse, real));
				const candidates = left ? projectsOf(left, real) : await readdir(real);
				for (const name of new Set(candidates)) {
					if (isSampleName(name) && !used.has(name)) await remove(join(real, name));
				}
			} catch (error) {
				warn(`a sample project cannot be deleted: ${describeError(error)}`);
			}
		},
	};
}

/** The folder without links on the way to it; `undefined` if it is none, or a link itself. */
async function ownFolder(folder: string): Promise<string | undefined> {
	const stats = await lstat(folder).catch(() => undefined);
	return stats?.isDirectory() ? realpath(folder) : undefined;
}

/** The names of the projects that folders are, or lie in, also by way of links. */
function projectsOf(folders: readonly string[], parent: string): string[] {
	return folders
		.map(realOrGiven)
		.filter((path) => isWithin(parent, path))
		.map((path) => relative(parent, path).split(sep)[0] as string);
}

async function remove(project: string): Promise<void> {
	const stats = await lstat(project).catch(() => undefined);
	if (!stats?.isDirectory()) return;
	await rm(project, { recursive: true, force: true, maxRetries: 3 });
	await deleteCodeIndex(project);
}

/** The project is ours, so no consent is needed to index it. */
async function index(project: string): Promise<void> {
	const code = openCodeIndex({ root: project });
	try {
		await code.build();
	} finally {
		await code.close();
	}
}
