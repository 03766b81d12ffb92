import type { IndexedFile, IndexReader } from "../reader.ts";

/**
 * Whether what a file declares is known in every other file without being imported. Such uses leave no trace in the
 * index, so that answers have to say that they are not followed.
 */
export function isGlobalFile(reader: IndexReader, file: IndexedFile): boolean {
	if (file.isModule) return false;
	// A declaration file without names of its own declares modules.
	return (
		/\.d\.ts$/.test(file.path) || reader.bindings(file.id).some(({ kind }) => kind === "declared")
	);
}
