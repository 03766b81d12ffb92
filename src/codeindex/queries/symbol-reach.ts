import { getOrAdd } from "../../core/get-or-add.ts";
import type { Binding } from "../facts.ts";
import type { FileId, IndexedFile, IndexReader } from "../index-reader.ts";
import { languageOf } from "../languages.ts";
import { linkerOf } from "../link/linker.ts";
import { dependenciesOf } from "../link/modules.ts";
import { usagesOfSymbol } from "../link/usages.ts";
import { firstLine } from "../symbol-order.ts";
import { type Reached, reach } from "./graph.ts";

/** A use of something that changes: in a symbol's body, or in statements of a file's top level. */
interface UsePlace {
	readonly file: FileId;
	readonly line: number;
	/** Import steps from what changes. 0 in the changed file itself. */
	readonly depth: number;
}

/** Symbols that are followed. Above this, whole files are followed, which reaches more. */
const MAX_SYMBOLS = 1_000;

/**
 * Files that use the symbols around the given places, and so on. A use outside of every symbol runs when
 * its file is imported, so all that import the file are reached. Re-exports do not propagate.
 */
export function reachedThrough(reader: IndexReader, places: readonly UsePlace[]): Reached[] {
	const linker = linkerOf(reader);
	const queue: { file: FileId; binding: number; depth: number }[] = [];
	const seen = new Set<string>();
	const whole = new Map<FileId, number>();
	const found = new Map<FileId, Reached>();
	const enter = ({ file, line, depth }: UsePlace) => {
		// Where usages are places of a name, only the imports of the whole file are followed further.
		const isByName = languageOf(reader.files.get(file)?.path ?? "")?.usages === "names";
		const around = isByName ? [] : bindingAround(reader.bindings(file), line);
		if (around.length === 0 || seen.size >= MAX_SYMBOLS) {
			whole.set(file, Math.min(depth, whole.get(file) ?? depth));
		}
		for (const binding of around) {
			const key = `${file} ${binding}`;
			if (seen.has(key) || seen.size >= MAX_SYMBOLS) continue;
			seen.add(key);
			queue.push({ file, binding, depth });
		}
	};
	for (const place of places.toSorted((a, b) => a.depth - b.depth)) enter(place);
	for (let at = 0; at < queue.length; at++) {
		const { file: from, binding, depth } = queue[at] as (typeof queue)[number];
		const via = reader.files.get(from);
		usagesOfSymbol(linker, { kind: "declared", file: from, binding }).each((id, [line], kind) => {
			const file = reader.files.get(id);
			if (!file || kind === "declaration") return;
			const steps = id === from ? depth : depth + 1;
			if (id !== from && !found.has(id)) found.set(id, reached(reader, file, steps, via));
			if (kind !== "import" && kind !== "re-export") enter({ file: id, line, depth: steps });
		});
	}
	return [...found.values(), ...reachedFrom(reader, whole)];
}

function reached(
	reader: IndexReader,
	file: IndexedFile,
	depth: number,
	via: IndexedFile | undefined,
): Reached {
	const edge = dependenciesOf(reader, file.id).find((one) => one.file === via?.id);
	return { file, depth, kinds: edge?.kinds ?? ["value"], ...(via && depth > 1 && { via }) };
}

function reachedFrom(reader: IndexReader, whole: ReadonlyMap<FileId, number>): Reached[] {
	const byDepth = new Map<number, IndexedFile[]>();
	for (const [id, depth] of whole) {
		const file = reader.files.get(id);
		if (file) getOrAdd(byDepth, depth, () => []).push(file);
	}
	return [...byDepth].flatMap(([depth, files]) =>
		reach(reader, files, { direction: "dependents" }).map((one) => ({
			...one,
			depth: one.depth + depth,
		})),
	);
}

/** Top-level symbols around a line, also by a member that is written elsewhere. On one line there can be several. */
function bindingAround(bindings: readonly Binding[], line: number): number[] {
	return bindings.flatMap((one, index) => {
		if (one.kind !== "declared") return [];
		const isAround = [one, ...(one.members ?? [])].some((part) => {
			return firstLine(part) <= line && line <= part.endLine;
		});
		return isAround ? [index] : [];
	});
}
