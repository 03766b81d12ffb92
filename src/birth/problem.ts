/** Words of lines that a reader looks for. Too many is safe: such lines are left alone. */
const PROBLEM =
	/error|warn|fail|panic|exception|traceback|exit|fatal|abort|assert|denied|refused|rejected|killed|signal|segmentation|time(?:d )?-?out|cannot|can't|could not|unable|not found|missing|invalid|undefined|unresolved|conflict|deprecated/i;

/** Whether a line of output says that something went wrong, or how a command ended. */
export function reportsProblem(line: string): boolean {
	return PROBLEM.test(line);
}
