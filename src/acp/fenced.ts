/** Text as a block of code in Markdown. The fence is longer than any run of backticks in the text. */
export function fenced(text: string): string {
	const runs = text.match(/`{3,}/g) ?? [];
	const fence = "`".repeat(Math.max(2, ...runs.map((run) => run.length)) + 1);
	return `${fence}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}
