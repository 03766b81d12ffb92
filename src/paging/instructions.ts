/** What an agent should be told when it is given a `read` in the form of the paging contract. */
export const instructions: readonly string[] = [
	"The `read` tool may return `truncated=true` with a `next_cursor`.",
	"To continue reading the same resource, call `read` again with the same `uri` and `cursor=next_cursor`.",
	"Stop when `truncated=false`.",
	"Prefer reading only as much as you need.",
];
