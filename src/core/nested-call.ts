/** Scripts call tools as `<parent>/<n>` (since pi 1.5). The answer then never reaches the model. */
export function isNestedCall(toolCallId: string): boolean {
	return /\/\d+$/.test(toolCallId);
}
