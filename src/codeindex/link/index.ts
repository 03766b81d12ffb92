export { type Linker, linkerOf } from "./linker.ts";
export {
	type DeclaredEntity,
	dependenciesOf,
	dependentsOf,
	type Entity,
	keyOf,
	type MemberEntity,
	pairsOf,
} from "./modules.ts";
export {
	importersOfSymbol,
	type MemberUsages,
	type Place,
	usagesOfExport,
	usagesOfMembers,
	usagesOfSymbol,
} from "./usages.ts";
