import type {
	Binding,
	Declared,
	EdgeKind,
	Export,
	FileFacts,
	Imported,
	Member,
	ModuleRequest,
	Parameter,
	Position,
	Reference,
	Step,
	SymbolKind,
	TypeName,
	UsageKind,
} from "../../../src/codeindex/facts.ts";
import { fc } from "../../support/property.ts";

/** Few names, so that files have to do with each other, and some that are hard to store. */
export const NAMES = ["a", "render", "Täg", "default", "x\0y", "__proto__", "长"];
const name = fc.constantFrom(...NAMES);
const text = fc.string({ unit: "binary", maxLength: 30 });
const position: fc.Arbitrary<Position> = fc.tuple(
	fc.integer({ min: 1, max: 100_000 }),
	fc.integer({ min: 1, max: 70_000 }),
);
const EDGE_KINDS: EdgeKind[] = ["value", "type", "re-export", "dynamic", "require", "side-effect"];
const SYMBOLS: SymbolKind[] = ["function", "class", "interface", "type", "enum", "variable"];
const USAGES: UsageKind[] = ["call", "new", "jsx", "type", "read", "write", "declaration"];

/** An object as code makes it, which is not one without a prototype. */
function record<T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> {
	return fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
}

/** An object with some of the optional properties, absent rather than undefined. */
function optional<T extends object>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) {
	return fc.record(model, { requiredKeys: [], noNullPrototype: true }) as fc.Arbitrary<Partial<T>>;
}

const step: fc.Arbitrary<Step> = fc
	.tuple(
		record({ name }),
		optional<{ at: Position; called: true }>({ at: position, called: fc.constant(true) }),
	)
	.map(([one, more]) => ({ ...one, ...more }));
const index = fc.nat({ max: 5 });
const side = fc.constantFrom("instance" as const, "value" as const);
const typeName: fc.Arbitrary<TypeName> = fc
	.tuple(
		record({ binding: index, side }),
		optional<{ path: Step[] }>({ path: fc.array(step, { maxLength: 3 }) }),
	)
	.map(([one, more]) => ({ ...one, ...more }));

const shared = {
	name,
	at: position,
	endLine: fc.integer({ min: 1, max: 200_000 }),
	signature: fc.oneof(
		text,
		name,
		name.map((one) => `function ${one}(): void`),
	),
};
const parameters = fc.array(record<Parameter>({ index, type: typeName }), { maxLength: 2 });
const { member } = fc.letrec<{ member: Member }>((tie) => ({
	member: fc
		.tuple(
			record({
				...shared,
				symbol: fc.constantFrom("method", "property", ...SYMBOLS),
				static: fc.boolean(),
			}),
			optional<{
				alsoAt: Position[];
				startLine: number;
				type: TypeName;
				parameters: Parameter[];
				members: Member[];
			}>({
				parameters,
				startLine: fc.integer({ min: 1, max: 100_000 }),
				alsoAt: fc.array(position, { maxLength: 2 }),
				type: typeName,
				members: fc.oneof(
					{ maxDepth: 2 },
					fc.constant<Member[]>([]),
					fc.array(tie("member"), { maxLength: 2 }),
				),
			}),
		)
		.map(([one, more]) => ({ ...one, ...more }) as Member),
}));
const declared: fc.Arbitrary<Declared> = fc
	.tuple(
		record({
			...shared,
			kind: fc.constant("declared" as const),
			symbol: fc.constantFrom(...SYMBOLS),
		}),
		optional<{
			alsoAt: Position[];
			startLine: number;
			doc: string;
			heritage: TypeName[];
			type: TypeName;
			parameters: Parameter[];
			members: Member[];
			partial: true;
		}>({
			parameters,
			partial: fc.constant(true),
			startLine: fc.integer({ min: 1, max: 100_000 }),
			alsoAt: fc.array(position, { maxLength: 2 }),
			doc: text,
			heritage: fc.array(typeName, { maxLength: 2 }),
			type: typeName,
			members: fc.array(member, { maxLength: 3 }),
		}),
	)
	.map(([one, more]) => ({ ...one, ...more }));
const imported: fc.Arbitrary<Imported> = fc
	.tuple(
		record({
			kind: fc.constant("imported" as const),
			name,
			request: index,
			imported: fc.oneof(name, fc.constantFrom("*", "=")),
			typeOnly: fc.boolean(),
			at: position,
		}),
		optional<{ importedAt: Position; fallback: true }>({
			importedAt: position,
			fallback: fc.constant(true),
		}),
	)
	.map(([one, more]) => ({ ...one, ...more }));
const exported: fc.Arbitrary<Export> = fc.oneof(
	fc
		.tuple(
			record({
				kind: fc.constant("local" as const),
				name,
				binding: index,
				typeOnly: fc.boolean(),
			}),
			optional<{ at: Position[] }>({ at: fc.array(position, { maxLength: 2 }) }),
		)
		.map(([one, more]) => ({ ...one, ...more })),
	record({
		kind: fc.constant("from" as const),
		name,
		request: index,
		imported: fc.oneof(name, fc.constant("*")),
		at: fc.array(position, { maxLength: 2 }),
		typeOnly: fc.boolean(),
	}),
	record({ kind: fc.constant("star" as const), request: index, typeOnly: fc.boolean() }),
);
const reference: fc.Arbitrary<Reference> = fc
	.tuple(
		record({ binding: index, usage: fc.constantFrom(...USAGES) }),
		optional<{ at: Position; side: "instance" | "value"; steps: Step[] }>({
			at: position,
			side,
			steps: fc.array(step, { minLength: 1, maxLength: 4 }),
		}),
	)
	.map(([one, more]) => ({ ...one, ...more }));
const request: fc.Arbitrary<ModuleRequest> = record({
	specifier: text,
	// In the order that is fixed for them.
	kinds: fc.subarray(EDGE_KINDS, { minLength: 1 }),
	at: position,
});

/** Facts of a file, with indexes that may lead nowhere, as those of a broken file might. */
export const arbitraryFacts: fc.Arbitrary<FileFacts> = fc
	.tuple(
		record({
			status: fc.constantFrom("parsed" as const, "broken" as const),
			isModule: fc.boolean(),
			lines: fc.nat({ max: 100_000 }),
			requests: fc.array(request, { maxLength: 6 }),
			bindings: fc.array(fc.oneof(declared, imported) as fc.Arbitrary<Binding>, { maxLength: 6 }),
			exports: fc.array(exported, { maxLength: 5 }),
			references: fc.array(reference, { maxLength: 12 }),
			looseAccesses: fc
				.array(fc.tuple(name, fc.integer({ min: 1, max: 1000 })), { maxLength: 5 })
				.map((entries) => new Map(entries)),
		}),
		optional<{ problem: string }>({ problem: text }),
	)
	.map(([one, more]) => ({ ...one, ...more }));
