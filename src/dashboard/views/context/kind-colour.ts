import type { ContextKind } from "../../../protocol/index.ts";

/** The CSS variable of a kind's colour. */
export function kindColour(kind: ContextKind): string {
	return `--series-${KIND_SERIES[kind]}`;
}

/** Kinds that often lie side by side get colours that are easily told apart. */
const KIND_SERIES: Readonly<Record<ContextKind, number>> = {
	system: 7,
	tools: 2,
	map: 3,
	file: 6,
	read: 1,
	tool: 4,
	conversation: 5,
	stub: 8,
};
