/** Since pi 1.5, scripts call tools, with ids `<parent>/<n>`. The model never sees results of such calls. */
export function isNestedCall(toolCallId: string): boolean {
	return /\/\d+$/.test(toolCallId);
}
