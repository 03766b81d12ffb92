import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { tempDir } from "../temp.ts";
import type { Driver } from "./drivers.ts";
import { commandOf } from "./packages.ts";

export interface AgentRun {
	/** `null` if it was ended because it took too long. */
	readonly exitCode: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

interface RunOptions {
	readonly prompt: string;
	/** Absent if the program before it leads the agent to its provider. */
	readonly base?: string;
	/** A program that starts the agent, with its arguments. */
	readonly under?: readonly string[];
}

/** A home folder in which the agent is installed, with a project of one file. */
export interface AgentHome {
	readonly home: string;
	readonly project: string;
	/** The file of the project. */
	readonly notes: string;
}

/** Far more than an agent takes, with its pauses before retries. */
const MAX_RUN_MS = 300_000;

export const NOTES = Array.from({ length: 40 }, (_, line) => `note ${line + 1}\n`).join("");

export function agentHome(driver: Driver): AgentHome {
	const home = tempDir(driver.name);
	const project = join(home, "project");
	mkdirSync(project);
	const notes = join(project, "notes.txt");
	writeFileSync(notes, NOTES);
	for (const [name, content] of Object.entries(driver.files ?? {})) {
		writeIn(home, name, content);
	}
	const words = commandOf(driver.agent).map((word) => `'${word.replaceAll("'", "'\\''")}'`);
	const program = writeIn(
		home,
		`bin/${driver.command}`,
		`#!/bin/sh\nexec ${words.join(" ")} "$@"\n`,
	);
	chmodSync(program, 0o755);
	return { home, project, notes };
}

export function writeIn(home: string, name: string, content: string): string {
	const path = join(home, name);
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, content);
	return path;
}

/** Runs an agent to its end, with nothing of this process's environment but the path of programs. */
export async function runAgent(
	driver: Driver,
	{ home, project }: AgentHome,
	{ prompt, base, under = [] }: RunOptions,
): Promise<AgentRun> {
	const aim = base === undefined ? {} : driver.aim(base);
	const [program = "", ...words] = [
		...[...under, driver.command, ...(aim.args ?? []), ...driver.args(prompt)],
	];
	const PATH = [join(home, "bin"), process.env.PATH].join(delimiter);
	const own = { PATH, HOME: home, TMPDIR: home, LANG: "C.UTF-8", TERM: "xterm-256color" };
	const child = spawn(program, words, {
		cwd: project,
		env: { ...own, ...driver.env, ...aim.env },
		stdio: ["ignore", "pipe", "pipe"],
		detached: true, // leads a group, which ends with all that the agent has started
	});
	const timer = setTimeout(() => endGroup(child.pid), MAX_RUN_MS);
	try {
		const ended = new Promise<number | null>((resolve, reject) => {
			child.once("error", reject);
			child.once("close", resolve);
		});
		const [exitCode, stdout, stderr] = await Promise.all([
			ended,
			text(child.stdout),
			text(child.stderr),
		]);
		return { exitCode, stdout, stderr };
	} finally {
		clearTimeout(timer);
		endGroup(child.pid);
	}
}

function endGroup(leader: number | undefined): void {
	try {
		if (leader !== undefined) process.kill(-leader, "SIGKILL");
	} catch {
		// All of it has ended already.
	}
}
