import type { TypeName } from "../facts.ts";
import type { Node, Of } from "./ast.ts";
import { access, close, fromName, fromType } from "./chains.ts";
import { firstName, isAmbient } from "./declare.ts";
import { namelessImport, request } from "./draft.ts";
import { moduleName } from "./imports.ts";
import { ANY, lookup, SPACE } from "./scope.ts";
import { enterSpace, innerOwner, ownType } from "./spaces.ts";
import type { Visits, Walk } from "./walk.ts";

/** Namespaces, and the statements that bring names in or pass them on. */
export const moduleVisits: Visits = {
	TSModuleDeclaration: moduleLike,
	TSImportEqualsDeclaration(walk, node: Of<"TSImportEqualsDeclaration">) {
		const { moduleReference } = node;
		if (walk.draft.done.has(node)) return;
		if (moduleReference.type !== "TSExternalModuleReference") {
			walk.visit({
				type: "TSTypeReference",
				typeName: moduleReference,
				typeArguments: null,
			} as unknown as Node);
		}
	},
	ImportDeclaration: () => undefined,
	ExportAllDeclaration: () => undefined,
	ExportNamedDeclaration(walk, node: Of<"ExportNamedDeclaration">) {
		walk.visit(node.declaration);
		// The top level's lists are exports. A namespace's pass names of its surroundings on.
		if (walk.scope === walk.draft.top || node.source) return;
		for (const { local, exported } of node.specifiers) {
			for (const start of new Set([moduleName(local).start, moduleName(exported).start])) {
				const { name } = moduleName(local);
				const found = lookup(walk.scope, name, ANY);
				const chain = found && fromName(walk.draft, found, { name, start, end: start });
				close(walk.draft, chain, "re-export");
			}
		}
	},
	ExportDefaultDeclaration(walk, node: Of<"ExportDefaultDeclaration">) {
		if (node.declaration.type !== "Identifier") walk.visit(node.declaration);
	},
	TSExportAssignment(walk, node: Of<"TSExportAssignment">) {
		if (node.expression.type !== "Identifier") walk.visit(node.expression);
	},
	TSNamespaceExportDeclaration: () => undefined,
};

function moduleLike(walk: Walk, node: Of<"TSModuleDeclaration">): void {
	const { draft } = walk;
	const { body } = node;
	if (!body) return;
	const { owner, adds } = ownerOfModule(walk, node);
	const scope = enterSpace(draft, walk.scope, body, owner, isAmbient(draft, node));
	walk.within(scope, () => {
		if (owner && adds) for (const one of body.body) addsTo(walk, owner, one);
		walk.visitAll(body.body);
	});
}

/** What the names inside belong to, and whether that is declared in another file. */
function ownerOfModule(
	walk: Walk,
	node: Of<"TSModuleDeclaration">,
): { owner?: TypeName | undefined; adds?: true } {
	const { draft } = walk;
	const { id } = node;
	if (node.kind === "global") return {};
	if (id.type === "Literal") {
		// In a module it adds to what another file declares; elsewhere it declares a module of that name.
		if (!draft.isModule) return {};
		const index = request(draft, id.value, "type", id.start);
		return {
			owner: { binding: namelessImport(draft, index, "*", id.start), side: "value" },
			adds: true,
		};
	}
	const first = firstName(id);
	return { owner: innerOwner(id, first && ownType(walk.scope, first.name, SPACE)) };
}

/** Notes that a declaration adds to one of another file. */
function addsTo(walk: Walk, owner: TypeName, statement: Node): void {
	const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
	const id = node && "id" in node ? (node.id as Node | null) : undefined;
	if (id?.type !== "Identifier") return;
	const { name, start } = id;
	close(walk.draft, access(walk.draft, fromType(owner), { name, start }), "declaration");
}
