import { basename } from "node:path";
import type { AgentToolUpdateCallback, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type * as Kota from "../code/index.ts";
import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { projectRoot } from "../core/places.ts";
import { createValuesFor, guardBlobs } from "./guarded-stores.ts";
import { createPerFolder } from "./per-folder.ts";
import type { ConfigFor } from "./system.ts";

/** What is open for a working folder. */
export interface OpenKota {
	/** The door of `kota/`, which is not loaded before the first question. */
	readonly kota: typeof Kota;
	readonly project: Kota.KotaProject;
	readonly paths: Kota.ProjectPaths;
	readonly blobs: BlobStore;
	readonly settings: Config["kota"];
}

/** What the tools, the command and the briefings share: one open project at a time, that of the working folder. */
export interface KotaSession {
	/** Opens it on first use; another working folder closes the one before. */
	open(ctx: ExtensionContext): Promise<OpenKota>;
	close(): Promise<void>;
}

/** Makes the session. `openEngine` is by default the one that the settings name. */
export function createKotaSession(
	configFor: ConfigFor,
	openEngine?: typeof Kota.openEngine,
	valuesFor = createValuesFor(configFor),
): KotaSession {
	const perFolder = createPerFolder({ open: openFor, close: ({ project }) => project.close() });
	return { open: perFolder.get, close: perFolder.clear };

	async function openFor(ctx: ExtensionContext, isCurrent: () => boolean): Promise<OpenKota> {
		const { cwd } = ctx;
		const { config } = configFor(ctx);
		const root = projectRoot(cwd);
		const kota = await import("../code/index.ts");
		const project = kota.createKotaProject({
			root,
			confirmIndex: config.kota.confirmIndex,
			async open() {
				// A call that outlives its session would open what nobody closes.
				if (!isCurrent()) throw new Error("The session has ended: ask again in the new one");
				return await (openEngine ?? kota.openEngine)(config.kota, root);
			},
			onChange(progress) {
				// After a session has ended its context must not be touched any more.
				if (!isCurrent()) return;
				showKotaStatus(ctx, project, progress && kota.progressText(progress));
			},
		});
		return {
			kota,
			project,
			paths: kota.projectPaths(root, cwd),
			blobs: guardBlobs(createBlobStore(config.blobs), valuesFor(ctx)),
			settings: config.kota,
		};
	}
}

/** Who asks: whether a user can consent to indexing, and who hears of progress. */
export function kotaAsker(
	ctx: ExtensionContext,
	{ progressText }: typeof Kota,
	signal: AbortSignal | undefined,
	onUpdate?: AgentToolUpdateCallback<unknown>,
): Kota.Asker {
	return {
		...(signal && { signal }),
		onProgress(progress) {
			onUpdate?.({ content: [{ type: "text", text: progressText(progress) }], details: undefined });
		},
		...(ctx.hasUI && {
			confirm: ({ root, database }) =>
				ctx.ui.confirm(
					"Index this project?",
					`The TypeScript and JavaScript files of ${root} are read once, and an index is kept in ${database}. Nothing is written to the project or sent anywhere.`,
					signal ? { signal } : {},
				),
		}),
	};
}

/** The status line: `kota: running repo: web indexed: yes`, or how far indexing is. */
export function showKotaStatus(
	ctx: ExtensionContext,
	project?: Pick<Kota.KotaProject, "root" | "state" | "indexed">,
	progress?: string,
): void {
	const { root, state, indexed } = project ?? {
		root: projectRoot(ctx.cwd),
		state: "stopped",
		indexed: "unknown",
	};
	const words = { unknown: "not checked yet", absent: "no", partial: "in part", ready: "yes" };
	const what = progress ?? `indexed: ${words[indexed]}`;
	ctx.ui.setStatus("kota", `kota: ${state} repo: ${basename(root)} ${what}`);
}
