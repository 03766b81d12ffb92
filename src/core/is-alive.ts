import { errnoOf } from "./errno.ts";

/** Whether a process with this id exists, of any user. Another one may have taken the id. */
export function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return errnoOf(error) === "EPERM";
	}
}
