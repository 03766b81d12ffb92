import { compareText } from "../../core/compare-text.ts";
import { getOrAdd } from "../../core/get-or-add.ts";
import type { SearchQuery, SymbolBrief } from "../answers.ts";
import type { Declared, Member, SymbolKind } from "../facts.ts";
import type { BindingRef, FileId, IndexReader } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import { linkerOf } from "../link/linker.ts";
import type { DeclaredEntity, Entity, MemberEntity } from "../link/modules.ts";

export interface FoundSymbol {
	readonly entity: DeclaredEntity | MemberEntity;
	readonly facts: Declared | Member;
	readonly exported: boolean;
	/** Names of the enclosing symbols, outermost first. */
	readonly owners: readonly string[];
}

export function symbolsIn(reader: IndexReader, file: FileId): readonly FoundSymbol[] {
	const found: FoundSymbol[] = [];
	for (const [binding, declared] of reader.bindings(file).entries()) {
		if (declared.kind !== "declared") continue;
		const entity = { kind: "declared", file, binding } as const;
		const exported = isExported(reader, entity, declared.name);
		found.push({ entity, facts: declared, exported, owners: [] });
	}
	return found.sort(byPlace);
}

/** Some languages export all names of a module, and say by the name which ones are meant for others. */
function isExported(reader: IndexReader, { file, binding }: BindingRef, name: string): boolean {
	if (!linkerOf(reader).ownExports(file).byBinding.has(binding)) return false;
	return languageOf(reader.files.get(file)?.path ?? "")?.isPublic?.(name) ?? true;
}

/** Above `limit`, prefers non-tests, then top-level symbols, then the first by path. Counts the others. */
function symbolsNamed(
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
	const symbols = chosen.flatMap((one) => {
		const { file, binding } = one;
		if (!one.isMember) {
			const found = describe(reader, { kind: "declared", file, binding });
			// A partial declaration only adds members to a type of another file.
			return found && !("partial" in found.facts && found.facts.partial) ? found : [];
		}
		return linker.membersAt(one, name).flatMap((member) => describe(reader, member) ?? []);
	});
	return { symbols, omitted: all.length - chosen.length };
}

/** A member can be written as `Owner.member`, `Owner#member` or `Owner.prototype.member`. */
export function splitName(symbol: string) {
	const names = symbol.trim().split(/\.|(?<=[\w$])#/);
	const name = names.pop() ?? "";
	return { name, owners: names.filter((owner) => owner !== "prototype") };
}

export function symbolsByName(
	reader: IndexReader,
	symbol: string,
	{ limit, file }: Omit<NamedOptions, "owner">,
): ReturnType<typeof symbolsNamed> {
	const { name, owners } = splitName(symbol);
	const { symbols, omitted } = symbolsNamed(reader, name, { limit, file, owner: owners.at(-1) });
	const isMeant = (one: FoundSymbol) => {
		const offset = one.owners.length - owners.length;
		return offset >= 0 && owners.every((owner, index) => one.owners[offset + index] === owner);
	};
	return { symbols: symbols.filter(isMeant), omitted };
}

interface NamedOptions {
	readonly limit: number;
	readonly file?: FileId | undefined;
	readonly owner?: string | undefined;
}

export function describe(reader: IndexReader, entity: Entity): FoundSymbol | undefined {
	if (entity.kind !== "declared" && entity.kind !== "member") return undefined;
	const declared = reader.bindings(entity.file)[entity.binding];
	if (declared?.kind !== "declared") return undefined;
	const exported = isExported(reader, entity, declared.name);
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

export function toBrief({ facts, exported, owners }: Omit<FoundSymbol, "entity">): SymbolBrief {
	return {
		name: facts.name,
		...(owners.length > 0 && { owner: owners.join(".") }),
		kind: facts.symbol as SymbolKind,
		line: facts.at[0],
		...(facts.startLine !== undefined && { startLine: facts.startLine }),
		endLine: facts.endLine,
		exported,
		signature: facts.signature,
		...(facts.doc !== undefined && { doc: facts.doc }),
	};
}

export function byPlace(a: FoundSymbol, b: FoundSymbol): number {
	return a.facts.at[0] - b.facts.at[0] || a.facts.at[1] - b.facts.at[1];
}

export interface SymbolMatch {
	readonly symbol: FoundSymbol;
	readonly score: number;
}

export type SymbolFilters = Pick<SearchQuery, "symbolKinds" | "exportedOnly">;

export function matchingSymbols(
	reader: IndexReader,
	words: readonly string[],
	filters: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> {
	const found: [FoundSymbol, number][] = [];
	for (const [name, strength] of matchingNames(reader, words)) {
		if (found.length >= MAX_SYMBOLS) break;
		const limit = Math.min(MAX_SYMBOLS - found.length, MAX_PER_NAME);
		for (const symbol of symbolsNamed(reader, name, { limit }).symbols) {
			found.push([symbol, strength]);
		}
	}
	return matchesByFile(found, filters);
}

/** `name` may be `Owner.member`. Returns `undefined` if nothing has that name. */
export function exactMatches(
	reader: IndexReader,
	name: string,
	filters: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> | undefined {
	const { symbols } = symbolsByName(reader, name, { limit: MAX_PER_NAME });
	if (symbols.length === 0) return undefined;
	const found = symbols.map((symbol) => [symbol, EXACT_NAME] as const);
	return matchesByFile(found, filters);
}

export function matchesFilters(
	{ facts, exported }: FoundSymbol,
	{ symbolKinds, exportedOnly = false }: SymbolFilters,
): boolean {
	const isKind = !symbolKinds || (symbolKinds as readonly string[]).includes(facts.symbol);
	return isKind && (exported || !exportedOnly);
}

function matchesByFile(
	found: readonly (readonly [symbol: FoundSymbol, strength: number])[],
	filters: SymbolFilters,
): ReadonlyMap<FileId, readonly SymbolMatch[]> {
	const byFile = new Map<FileId, SymbolMatch[]>();
	for (const [symbol, strength] of found) {
		const { exported, entity } = symbol;
		if (!matchesFilters(symbol, filters)) continue;
		const score = strength * (exported ? 1 : 0.8) * (entity.kind === "member" ? 0.6 : 1);
		getOrAdd(byFile, entity.file, () => []).push({ symbol, score });
	}
	for (const matches of byFile.values()) {
		matches.sort((a, b) => b.score - a.score || a.symbol.facts.at[0] - b.symbol.facts.at[0]);
	}
	return byFile;
}

const MAX_NAMES = 60;
const MAX_PER_NAME = 100;
const MAX_SYMBOLS = 400;
const EXACT_NAME = 4;

function matchingNames(
	reader: IndexReader,
	words: readonly string[],
): readonly (readonly [name: string, strength: number])[] {
	const strengths = new Map<string, number>();
	const names = new Set(words.flatMap((word) => reader.namesLike(word, MAX_NAMES)));
	for (const name of names) {
		const sum = words.reduce((total, word) => total + likeness(name, word), 0);
		strengths.set(name, sum / words.length);
	}
	// The words "agent session" also match the name AgentSession.
	if (words.length > 1 && words.length <= 4) {
		const joined = words.join("");
		for (const name of reader.namesLike(joined, MAX_NAMES)) {
			strengths.set(name, Math.max(strengths.get(name) ?? 0, likeness(name, joined)));
		}
	}
	return [...strengths]
		.sort(([one, a], [other, b]) => b - a || one.length - other.length || compareText(one, other))
		.slice(0, MAX_NAMES);
}

function likeness(name: string, text: string): number {
	if (name === text) return EXACT_NAME;
	const folded = name.toLowerCase();
	const wanted = text.toLowerCase();
	if (folded === wanted) return 3.5;
	if (folded.startsWith(wanted)) return 2;
	return folded.includes(wanted) ? 1 : 0;
}
