import type { Request } from "./facts.ts";
import type { ProjectState } from "./project-state.ts";
import type { Resolution } from "./reader.ts";
import type { Scan } from "./refresh-plan.ts";
import { affectedBy, type ProjectChange } from "./resolve/affected.ts";
import { createConfigReader } from "./resolve/config-files.ts";
import { createResolver, type ModuleResolution, type Resolver } from "./resolve/resolver.ts";
import type { IndexStore } from "./store/index-store.ts";

/** Resolves the requests of files to files of the store. */
export class ImportResolution {
	readonly #store: IndexStore;
	#current: { readonly inputs: string; readonly resolver: Resolver } | undefined;

	constructor(store: IndexStore) {
		this.#store = store;
	}

	/** Makes ready for a tree. The files of the tree must have been announced. */
	use({ root, tree }: Scan, { configs, links }: ProjectState): void {
		const inputs = JSON.stringify([
			tree.files.map(({ path }) => path),
			configs.map(({ path, hash }) => [path, hash]),
			links,
		]);
		if (this.#current?.inputs === inputs) return;
		const resolver = createResolver({
			root,
			files: new Set(tree.files.map(({ path }) => path)),
			configs: new Set(tree.configs.map(({ path }) => path)),
			links,
			readConfig: createConfigReader(root),
		});
		this.#current = { inputs, resolver };
	}

	/** Files that the resolver has looked for so far besides those of the scan. */
	get lookedFor(): readonly string[] {
		return [...(this.#current?.resolver.lookedFor ?? [])].sort();
	}

	resolve(from: string, requests: readonly Request[]): Resolution[] {
		return requests.map((request) => this.#resolve(from, request));
	}

	/**
	 * Resolves anew what a change of the project may have led elsewhere, and stores what differs. Before files that are
	 * gone are removed from the store, since what led there is found by their paths.
	 */
	resolveAgain(change: ProjectChange): void {
		if (change.added.length + change.removed.length + change.configs.length === 0) return;
		const removed = new Set(change.removed);
		for (const { file, requests, resolutions: before } of this.#store.imports()) {
			const from = this.#store.files.pathOf(file);
			if (from === undefined || removed.has(from)) continue;
			const after = requests.map((request, index) => {
				const old = before[index] ?? NOWHERE;
				const resolution = this.#withPath(old);
				const isAffected = affectedBy(change, { from, specifier: request.specifier, resolution });
				return isAffected ? this.#resolve(from, request) : old;
			});
			if (after.every((resolution, index) => isSame(resolution, before[index]))) continue;
			this.#store.writer.setResolutions(file, after);
			this.#store.changed(file);
		}
	}

	#resolve(from: string, { specifier, kinds }: Request): Resolution {
		const found = this.#current?.resolver.resolve(from, specifier, kinds);
		if (found?.kind !== "file") {
			return found ?? NOWHERE;
		}
		const file = this.#store.files.row(found.path)?.id;
		if (file !== undefined) return { kind: "file", file };
		return { kind: "unresolved", reason: `${found.path} is not indexed yet` };
	}

	#withPath(resolution: Resolution): ModuleResolution {
		if (resolution.kind !== "file") return resolution;
		return { kind: "file", path: this.#store.files.pathOf(resolution.file) ?? "" };
	}
}

const NOWHERE: Resolution = { kind: "unresolved", reason: "it was not looked for yet" };

function isSame(one: Resolution, other: Resolution | undefined): boolean {
	if (one.kind === "file") return other?.kind === "file" && one.file === other.file;
	if (one.kind === "external") return other?.kind === "external" && one.name === other.name;
	return other?.kind === "unresolved" && one.reason === other.reason;
}
