import { linkerOf } from "../../../src/codeindex/link/linker.ts";
import { usagesOfSymbol } from "../../../src/codeindex/link/usages.ts";
import { indexProject } from "./language-project.ts";

type ProjectFiles = Readonly<Record<string, string>>;

/** Places of everything that is declared at the top level, as `path:line:column`. */
export async function declarationsOf(files: ProjectFiles): Promise<readonly string[]> {
	return [...(await usagesIn(files)).keys()];
}

/** Usages of everything at the top level, by the place of its declaration. */
export async function usagesIn(
	files: ProjectFiles,
): Promise<ReadonlyMap<string, readonly string[]>> {
	const reader = await indexProject(files);
	const linker = linkerOf(reader);
	const found = new Map<string, readonly string[]>();
	for (const [file, { path }] of reader.files) {
		for (const [binding, declared] of reader.bindings(file).entries()) {
			if (declared.kind !== "declared" || declared.partial) continue;
			const sites = usagesOfSymbol(linker, { kind: "declared", file, binding }).all();
			const places = sites.map(
				(site) => `${reader.files.get(site.file)?.path}:${site.at.join(":")}`,
			);
			found.set(`${path}:${declared.at.join(":")}`, [...new Set(places)].sort());
		}
	}
	return found;
}
