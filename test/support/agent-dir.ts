// Extensions learn pi's user folder only from the environment, which the whole process shares: with
// two pi sessions open at a time, the one started last decides.
const VARIABLE = "PI_CODING_AGENT_DIR";
const outside = process.env[VARIABLE];
const open: string[] = [];

/** Makes `dir` the answer of pi's `getAgentDir()`. */
export function enterAgentDir(dir: string): void {
	open.push(dir);
	process.env[VARIABLE] = dir;
}

/** Restores the folder that was entered before; folders may be left in any order. */
export function leaveAgentDir(dir: string): void {
	const index = open.lastIndexOf(dir);
	if (index >= 0) open.splice(index, 1);
	const current = open.at(-1) ?? outside;
	if (current === undefined) delete process.env[VARIABLE];
	else process.env[VARIABLE] = current;
}
