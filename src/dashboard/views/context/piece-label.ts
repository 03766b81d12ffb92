import type { ContextPiece } from "../../../protocol/index.ts";

/** The server cuts labels here, without a sign that it did. */
const CUT_AT = 120;

/** What a piece is called; a label that may go on says so, and ends with a whole character. */
export function labelOf({ label }: Pick<ContextPiece, "label">): string {
	return label.length === CUT_AT ? `${label.replace(/[\ud800-\udbff]$/, "")}…` : label;
}
