import { isDeepStrictEqual } from "node:util";
import { ByteReader } from "../core/bytes.ts";
import { type CallOptions, CodeIndexError } from "./code-index.ts";
import type { ModuleRequest } from "./facts.ts";
import type { Resolution } from "./index-reader.ts";
import type { CreateResolver, Extent, Language, RequestResolver } from "./language.ts";
import { isTestPath, languageOf } from "./languages.ts";
import type { FileOutcome } from "./parsing/file-outcome.ts";
import { ParsedAhead } from "./parsing/parsed-ahead.ts";
import { type FileParser, Parser } from "./parsing/parser.ts";
import { createConfigReader } from "./resolve/config-files.ts";
import {
	affectedBy,
	type ModuleResolution,
	type ProjectChange,
	type ResolvedModuleRequest,
} from "./resolve/specifier.ts";
import type { ProjectState, ScannedFile, ScannedTree } from "./scan/scanned-tree.ts";
import type { IndexStore } from "./store/index-store.ts";
import { requests as requestsOf } from "./store/records.ts";

/** Files per transaction of a first indexing. An interruption loses at most this many files. */
const FILES_PER_COMMIT = 250;
export const VACUUM_AFTER = 200;

export interface Scan {
	readonly root: string;
	readonly tree: ScannedTree;
	readonly scannedMs: number;
}

export interface RefreshPlan {
	readonly scan: Scan;
	readonly isFirst: boolean;
	/** How much of the added files is read. */
	readonly extent: Extent;
	readonly completes: boolean;
	/** New files to parse. Some already have an id; those in `withoutId` do not. */
	readonly added: readonly ScannedFile[];
	readonly withoutId: readonly ScannedFile[];
	readonly changed: readonly ScannedFile[];
	readonly removed: readonly string[];
	/** Files with new or inconclusive timestamps but unchanged content. */
	readonly confirmed: readonly ScannedFile[];
	readonly project: {
		readonly state: ProjectState;
		/** Paths of changed configuration files and symlinks. */
		readonly changed: readonly string[];
		/** Whether `state` must be stored, even if only timestamps changed. */
		readonly isNew: boolean;
	};
	readonly isEmpty: boolean;
}

export class RefreshRunner {
	readonly #store: IndexStore;
	readonly #imports: ImportResolver;
	readonly parser: FileParser;

	constructor(root: string, store: IndexStore, parser: FileParser = new Parser(root)) {
		this.#store = store;
		this.#imports = new ImportResolver(store);
		this.parser = parser;
	}

	/** Starts a parser process, which takes longer than the scan of a small project. */
	start(): void {
		this.parser.start?.();
	}

	/** For the files of the scan that follows. */
	parsedAhead(signal?: AbortSignal): ParsedAhead {
		return new ParsedAhead(this.parser, signal);
	}

	close(): void {
		this.parser.close();
	}

	/** Stores all changes or none. Only a first indexing keeps the files it has completed. */
	async run(plan: RefreshPlan, options: CallOptions, ahead?: ParsedAhead): Promise<void> {
		const store = this.#store;
		store.begin();
		try {
			await this.#imports.load(plan.scan);
			this.#prepare(plan);
			const done = await this.#parse(plan, options, ahead);
			const { lookedFor } = this.#imports;
			const { state, isNew } = plan.project;
			if (isNew || !isDeepStrictEqual(state.lookedFor, lookedFor)) {
				store.setProjectState({ ...state, lookedFor });
			}
			store.setState({ isComplete: plan.completes, updatedMs: Date.now() });
			store.commit();
			// After a skeleton, the database grows further.
			if (done < VACUUM_AFTER || plan.extent === "skeleton") return;
			options.onProgress?.({ phase: "storing", done, total: done });
			store.vacuum();
		} catch (error) {
			const isAborted = error instanceof CodeIndexError && error.code === "aborted";
			// An aborted first indexing is kept, since every stored file is consistent by itself.
			if (plan.isFirst && isAborted) store.commit();
			else store.rollback();
			throw error;
		}
	}

	#prepare(plan: RefreshPlan): void {
		const { writer } = this.#store;
		const { scan, project, isFirst, completes } = plan;
		for (const file of plan.withoutId) writer.register(file);
		this.#imports.use(scan, project.state);
		this.#imports.resolveAgain({
			added: plan.withoutId.map(({ path }) => path),
			removed: plan.removed,
			configs: project.changed,
			links: project.state.links,
		});
		for (const path of plan.removed) writer.remove(path);
		for (const file of plan.confirmed) writer.confirm(file, scan.scannedMs);
		if (isFirst && completes) {
			this.#store.setProjectState(project.state);
			this.#commitPart();
		}
	}

	async #parse(
		plan: RefreshPlan,
		{ signal, onProgress }: CallOptions,
		ahead: ParsedAhead | undefined,
	): Promise<number> {
		const files = [...plan.changed, ...plan.added];
		const scanned = new Map(files.map((file) => [file.path, file]));
		let done = 0;
		const take = (outcome: FileOutcome) => {
			this.#put(outcome, plan, scanned.get(outcome.path));
			done++;
			if (plan.isFirst && done % FILES_PER_COMMIT === 0) this.#commitPart();
			if (done % 32 === 0 || done === files.length) {
				onProgress?.({ phase: "parsing", done, total: files.length });
			}
		};
		// A changed file is in use, so all of it is read.
		const changed = ahead ? await ahead.take(plan.changed, take) : plan.changed;
		await this.parser.parse(changed, take, signal);
		await this.parser.parse(plan.added, take, signal, plan.extent);
		return done;
	}

	/** A file that vanished after the scan stays in the index until the next scan. */
	#put(outcome: FileOutcome, plan: RefreshPlan, scanned: ScannedFile | undefined): void {
		if (outcome.kind === "gone" || !scanned) return;
		const { path, packed, hash } = outcome;
		const requests = requestsOf(new ByteReader(packed.requests));
		this.#store.writer.put({
			scanned,
			storedMs: plan.scan.scannedMs,
			hash,
			isTest: isTestPath(path),
			packed,
			requests,
			resolutions: requests.map((request) => this.#imports.resolve(path, request)),
		});
	}

	#commitPart(): void {
		this.#store.setState({ isComplete: false, updatedMs: Date.now() });
		this.#store.commit();
		this.#store.begin();
	}
}

/** What a resolver is made from: the paths of all files, and everything else as text. */
interface ResolverInputs {
	readonly files: readonly ScannedFile[];
	readonly others: string;
}

class ImportResolver {
	readonly #store: IndexStore;
	readonly #creators = new Map<Language, CreateResolver>();
	#current:
		| { readonly inputs: ResolverInputs; readonly resolvers: Map<Language, RequestResolver> }
		| undefined;
	/** The files whose languages have resolvers. Most refreshes are of the same. */
	#loaded: readonly ScannedFile[] = [];

	constructor(store: IndexStore) {
		this.#store = store;
	}

	/** Loads the resolvers of all languages in the tree. */
	async load({ tree }: Scan): Promise<void> {
		if (haveSamePaths(tree.files, this.#loaded)) return;
		const present = new Set(tree.files.map(({ path }) => languageOf(path)));
		for (const { path } of this.#store.files.rows.values()) present.add(languageOf(path));
		for (const language of present) {
			if (!language || this.#creators.has(language)) continue;
			this.#creators.set(language, await language.loadResolver());
		}
		this.#loaded = tree.files;
	}

	/** All files of the tree must have ids before this call. */
	use({ root, tree }: Scan, { configs, links }: ProjectState): void {
		const others = JSON.stringify([configs.map(({ path, hash }) => [path, hash]), links]);
		const before = this.#current?.inputs;
		if (before?.others === others && haveSamePaths(tree.files, before.files)) return;
		const project = {
			root,
			files: new Set(tree.files.map(({ path }) => path)),
			configs: new Set(tree.configs.map(({ path }) => path)),
			links,
			readConfig: createConfigReader(root),
		};
		const resolvers = new Map(
			[...this.#creators].map(([language, create]) => [language, create(project)] as const),
		);
		this.#current = { inputs: { files: tree.files, others }, resolvers };
	}

	get lookedFor(): readonly string[] {
		const all = [...(this.#current?.resolvers.values() ?? [])];
		return all.flatMap(({ lookedFor = new Set<string>() }) => [...lookedFor]).sort();
	}

	resolve(from: string, { specifier, kinds }: ModuleRequest): Resolution {
		const language = languageOf(from);
		const resolver = language && this.#current?.resolvers.get(language);
		const found = resolver?.resolve(from, specifier, kinds);
		if (found?.kind !== "file") return found ?? NOWHERE;
		const file = this.#store.files.rows.get(found.path)?.id;
		if (file !== undefined) return { kind: "file", file };
		return { kind: "unresolved", reason: `${found.path} is not indexed yet` };
	}

	/** Must be called before removed files leave the store. */
	resolveAgain(change: ProjectChange): void {
		if (change.added.length + change.removed.length + change.configs.length === 0) return;
		const removed = new Set(change.removed);
		for (const { file, requests, resolutions: before } of this.#store.imports()) {
			const from = this.#store.files.byId.get(file)?.path;
			if (from === undefined || removed.has(from)) continue;
			const after = requests.map((request, index) => {
				const old = before[index] ?? NOWHERE;
				const resolution = this.#withPath(old);
				const isAffected = isAffectedBy(change, { from, specifier: request.specifier, resolution });
				return isAffected ? this.resolve(from, request) : old;
			});
			const isSame = (one: Resolution, index: number) =>
				one === before[index] || isDeepStrictEqual(one, before[index]);
			if (after.every(isSame)) continue;
			this.#store.writer.setResolutions(file, after);
		}
	}

	#withPath(resolution: Resolution): ModuleResolution {
		if (resolution.kind !== "file") return resolution;
		return { kind: "file", path: this.#store.files.byId.get(resolution.file)?.path ?? "" };
	}
}

/** The paths of a repeated scan are the same strings, which compare at once. */
function haveSamePaths(files: readonly ScannedFile[], others: readonly ScannedFile[]): boolean {
	return files.length === others.length && files.every(({ path }, at) => path === others[at]?.path);
}

const NOWHERE: Resolution = { kind: "unresolved", reason: "it was not looked for yet" };

/** TypeScript looks closely, since its resolver reads configurations. Others resolve again after any change of files. */
function isAffectedBy(change: ProjectChange, request: ResolvedModuleRequest): boolean {
	const language = languageOf(request.from);
	if (language === undefined || language.name === "typescript") return affectedBy(change, request);
	// A source of C++ includes headers of C.
	const familyOf = (one: Language | undefined) => one?.family ?? one?.name;
	const isOwn = (path: string) => familyOf(languageOf(path)) === familyOf(language);
	return change.configs.length > 0 || change.added.some(isOwn) || change.removed.some(isOwn);
}
