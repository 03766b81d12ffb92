import { execFileSync } from "node:child_process";

/** The output of git. Throws if git is not installed or fails. */
export function git(cwd: string, ...args: string[]): string {
	const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
	return execFileSync("git", args, { cwd, encoding: "utf8", stdio }).trimEnd();
}
