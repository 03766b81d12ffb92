/**
 * Whether a tool was called by a script inside another tool, `<parent>/<n>` (since pi 1.5): then its answer goes to a
 * program, not to the model.
 */
export function isNestedCall(toolCallId: string): boolean {
	return /\/\d+$/.test(toolCallId);
}
