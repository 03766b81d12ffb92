export { type DeclaredEntity, type Entity, keyOf, type MemberEntity } from "./export-chains.ts";
export { type Linker, linkerOf } from "./linker.ts";
export { dependenciesOf, dependentsOf, pairsOf } from "./module-pairs.ts";
export {
	importersOfSymbol,
	type MemberUsages,
	type Place,
	usagesOfExport,
	usagesOfMembers,
	usagesOfSymbol,
} from "./usages.ts";
