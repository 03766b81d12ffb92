import { basename } from "node:path";
import { type BlobStore, createBlobStore } from "../core/blob-store.ts";
import type { Config } from "../core/config.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { projectRoot } from "../core/places.ts";
import { createPerFolder, type SessionView } from "../session/index.ts";
import type * as Code from "./index.ts";

/** What is open for a working folder. */
export interface OpenKota {
	/** The door of this folder, which is not loaded before the first question. */
	readonly kota: typeof Code;
	readonly project: Code.KotaProject;
	readonly paths: ReturnType<typeof Code.projectPaths>;
	readonly blobs: BlobStore;
	readonly settings: Config["kota"];
}

/** What the tools, the command and the briefings share: one open project at a time, that of the working folder. */
export interface KotaSession {
	/** Opens it on first use; another working folder closes the one before. */
	open(session: SessionView): Promise<OpenKota>;
	close(): Promise<void>;
}

/** Makes the session. `openEngine` is by default the one that the settings name. */
export function createKotaSession(openEngine?: typeof Code.openEngine): KotaSession {
	const perFolder = createPerFolder({ open: openFor, close: ({ project }) => project.close() });
	return { open: perFolder.get, close: perFolder.clear };

	async function openFor(session: SessionView, isCurrent: () => boolean): Promise<OpenKota> {
		const { cwd, config, values } = session;
		const root = projectRoot(cwd);
		const kota = await import("./index.ts");
		const project = kota.createKotaProject({
			root,
			confirmIndex: config.kota.confirmIndex,
			async open() {
				// A call that outlives its session would open an engine that is never closed.
				if (!isCurrent()) throw new Error("The session has ended: ask again in the new one");
				return await (openEngine ?? kota.openEngine)(config.kota, root);
			},
			onChange(progress) {
				// After a session has ended its context must not be touched any more.
				if (!isCurrent()) return;
				showKotaStatus(session, project, progress && kota.progressText(progress));
			},
		});
		return {
			kota,
			project,
			paths: kota.projectPaths(root, cwd),
			blobs: guardBlobs(createBlobStore(config.blobs), values),
			settings: config.kota,
		};
	}
}

/** Who asks: whether a user can consent to indexing, and who hears of progress. */
export function kotaAsker(
	session: SessionView,
	{ progressText }: typeof Code,
	signal: AbortSignal | undefined,
	onUpdate?: (update: { content: { type: "text"; text: string }[]; details: undefined }) => void,
): Code.Asker {
	return {
		...(signal && { signal }),
		onProgress(progress) {
			onUpdate?.({ content: [{ type: "text", text: progressText(progress) }], details: undefined });
		},
		...(session.hasUI && {
			confirm: ({ root, database }) =>
				session.ui.confirm(
					"Index this project?",
					`The TypeScript and JavaScript files of ${root} are read once, and an index is kept in ${database}. Nothing is written to the project or sent anywhere.`,
					signal ? { signal } : {},
				),
		}),
	};
}

/** The status line: `kota: running repo: web indexed: yes`, or how far indexing is. */
export function showKotaStatus(
	session: SessionView,
	project?: Pick<Code.KotaProject, "root" | "state" | "indexed">,
	progress?: string,
): void {
	const { root, state, indexed } = project ?? {
		root: projectRoot(session.cwd),
		state: "stopped",
		indexed: "unknown",
	};
	const words = { unknown: "not checked yet", absent: "no", partial: "in part", ready: "yes" };
	const what = progress ?? `indexed: ${words[indexed]}`;
	session.ui.setStatus("kota", `kota: ${state} repo: ${basename(root)} ${what}`);
}
