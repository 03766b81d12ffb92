import { compareText } from "../../core/compare-text.ts";
import type { SymbolBrief } from "../answers.ts";
import type { Declared, Member, SymbolKind } from "../facts.ts";
import { type DeclaredEntity, type Entity, linkerOf, type MemberEntity } from "../link/index.ts";
import type { BindingRef, FileId, IndexReader } from "../reader.ts";

export interface FoundSymbol {
	readonly entity: DeclaredEntity | MemberEntity;
	readonly facts: Declared | Member;
	readonly exported: boolean;
	/** Outermost first. */
	readonly owners: readonly string[];
}

export function symbolsOf(reader: IndexReader, file: FileId): readonly FoundSymbol[] {
	const { byBinding } = linkerOf(reader).ownExports(file);
	const found: FoundSymbol[] = [];
	for (const [binding, declared] of reader.bindings(file).entries()) {
		if (declared.kind !== "declared") continue;
		const entity = { kind: "declared", file, binding } as const;
		found.push({ entity, facts: declared, exported: byBinding.has(binding), owners: [] });
	}
	return found.sort(byPlace);
}

/** Top level before members, tests last, then by path. The rest is counted. */
export function symbolsNamed(
	reader: IndexReader,
	name: string,
	{ limit, file, owner }: NamedOptions,
): { readonly symbols: FoundSymbol[]; readonly omitted: number } {
	const placeOf = (at: BindingRef) => `${at.file}:${at.binding}`;
	const owners = owner === undefined ? undefined : new Set(reader.named(owner).map(placeOf));
	const rows = reader
		.named(name)
		.filter((one) => file === undefined || one.file === file)
		.filter((one) => !owners || (one.isMember && owners.has(placeOf(one))));
	const all = [...new Map(rows.map((one) => [`${placeOf(one)} ${one.isMember}`, one])).values()];
	const order = ({ file, isMember }: (typeof all)[number]) =>
		(reader.files.get(file)?.isTest ? 2 : 0) + (isMember ? 1 : 0);
	const pathOf = (id: FileId) => reader.files.get(id)?.path ?? "";
	const chosen =
		all.length <= limit
			? all
			: all
					.sort((a, b) => order(a) - order(b) || compareText(pathOf(a.file), pathOf(b.file)))
					.slice(0, limit);
	const linker = linkerOf(reader);
	const symbols = chosen.flatMap((one): FoundSymbol[] => {
		if (!one.isMember)
			return listed(describe(reader, { kind: "declared", file: one.file, binding: one.binding }));
		return linker.membersAt(one, name).flatMap((member) => listed(describe(reader, member)));
	});
	return { symbols, omitted: all.length - chosen.length };
}

/** `Owner.member`, `Owner#member` and `Owner.prototype.member` name a member. */
export function splitName(symbol: string): {
	readonly name: string;
	readonly owners: readonly string[];
} {
	const names = symbol.trim().split(/\.|(?<=[\w$])#/);
	const name = names.pop() ?? "";
	return { name, owners: names.filter((owner) => owner !== "prototype") };
}

export function symbolsCalled(
	reader: IndexReader,
	symbol: string,
	{ limit, file }: Pick<NamedOptions, "limit" | "file">,
): ReturnType<typeof symbolsNamed> {
	const { name, owners } = splitName(symbol);
	const { symbols, omitted } = symbolsNamed(reader, name, {
		limit,
		...(file !== undefined && { file }),
		...(owners.length > 0 && { owner: owners.at(-1) ?? "" }),
	});
	const isMeant = (one: FoundSymbol) => {
		const offset = one.owners.length - owners.length;
		return offset >= 0 && owners.every((owner, index) => one.owners[offset + index] === owner);
	};
	return { symbols: symbols.filter(isMeant), omitted };
}

export interface NamedOptions {
	readonly limit: number;
	readonly file?: FileId;
	readonly owner?: string;
}

export function describe(reader: IndexReader, entity: Entity): FoundSymbol | undefined {
	if (entity.kind !== "declared" && entity.kind !== "member") return undefined;
	const declared = reader.bindings(entity.file)[entity.binding];
	if (declared?.kind !== "declared") return undefined;
	const exported = linkerOf(reader).ownExports(entity.file).byBinding.has(entity.binding);
	const owners: string[] = [];
	let facts: Declared | Member = declared;
	for (const index of entity.kind === "member" ? entity.path : []) {
		owners.push(facts.name);
		const inner: Member | undefined = facts.members?.[index];
		if (!inner) return undefined;
		facts = inner;
	}
	return { entity, facts, exported, owners };
}

export function toBrief({ facts, exported, owners }: FoundSymbol): SymbolBrief {
	return {
		name: facts.name,
		...(owners.length > 0 && { owner: owners.join(".") }),
		kind: facts.symbol as SymbolKind,
		line: facts.at[0],
		endLine: facts.endLine,
		exported,
		signature: facts.signature,
		...("doc" in facts && facts.doc !== undefined && { doc: facts.doc }),
	};
}

function listed(symbol: FoundSymbol | undefined): FoundSymbol[] {
	return symbol ? [symbol] : [];
}

function byPlace(a: FoundSymbol, b: FoundSymbol): number {
	return a.facts.at[0] - b.facts.at[0] || a.facts.at[1] - b.facts.at[1];
}
