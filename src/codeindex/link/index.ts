export { type DeclaredEntity, type Entity, keyOf, type MemberEntity } from "./entity.ts";
export { type Linker, linkerOf } from "./linker.ts";
export { dependenciesOf, dependentsOf, pairsOf } from "./module-pairs.ts";
export type { Place } from "./places.ts";
export {
	importersOfSymbol,
	type MemberUsages,
	usagesOfExport,
	usagesOfMembers,
	usagesOfSymbol,
} from "./usages.ts";
