import { KINDS } from "../../../src/dashboard/views/context/piece-bar.ts";
import type { Data } from "../../../src/protocol/index.ts";
import { fc } from "../../support/property.ts";

/** A piece of a context. */
export function piece(
	kind: Data<"ContextKind">,
	tokens: number,
	id = `${kind}-${tokens}`,
): Data<"ContextPiece"> {
	return { id, kind, label: `a ${kind}`, tokens, sinceMs: 0 };
}

/** Contexts of all sizes. */
export const anyPieces = fc
	.array(fc.tuple(fc.constantFrom(...KINDS), fc.nat(20_000)), { maxLength: 60 })
	.map((all) => all.map(([kind, tokens], index) => piece(kind, tokens, String(index))));
