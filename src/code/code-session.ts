import { basename } from "node:path";
import { createBlobStore } from "../core/blob-store.ts";
import { guardBlobs } from "../core/excluded-values.ts";
import { projectRoot } from "../core/places.ts";
import { createPerFolder, type SessionView } from "../session/index.ts";
import type * as Code from "./index.ts";
import type { CodeProject } from "./project.ts";

export type CodeSession = ReturnType<typeof createCodeSession>;

/** Tools, command and briefings share one open project, that of the working folder. */
export function createCodeSession(openEngine?: typeof Code.openEngine) {
	const perFolder = createPerFolder({ open, close: ({ project }) => project.close() });
	// Opens the project on first use. A change of the working folder closes it.
	const get = (session: SessionView) => perFolder.get(session);
	return { open: get, close: () => perFolder.clear() };

	async function open(session: SessionView, isCurrent: () => boolean) {
		const { cwd, config, values } = session;
		const root = projectRoot(cwd);
		// `./index.ts` is loaded only on first use.
		const code = await import("./index.ts");
		const project: CodeProject = new code.CodeProject({
			root,
			confirmIndex: config.kota.confirmIndex,
			async open() {
				// A call that outlives its session would leak an open engine.
				if (!isCurrent()) throw new Error("The session has ended: ask again in the new one");
				const { exclude } = config.readcache;
				return await (openEngine ?? code.openEngine)(config.kota, root, { exclude });
			},
			onChange(progress) {
				// The context of an ended session is invalid.
				if (!isCurrent()) return;
				showStatus(session, project, progress && code.progressText(progress));
			},
		});
		return {
			code,
			project,
			paths: code.projectPaths(root, cwd),
			blobs: guardBlobs(createBlobStore(config.blobs), values),
			settings: config.kota,
		};
	}
}

export function callerOf(
	session: SessionView,
	{ progressText, consentText }: typeof Code,
	signal: AbortSignal | undefined,
	onUpdate?: (update: { content: { type: "text"; text: string }[]; details: undefined }) => void,
): Code.Caller {
	return {
		...(signal && { signal }),
		onProgress(progress) {
			onUpdate?.({ content: [{ type: "text", text: progressText(progress) }], details: undefined });
		},
		...(session.hasUI && {
			confirm: (status) =>
				session.ui.confirm("Index this project?", consentText(status), signal ? { signal } : {}),
		}),
	};
}

/** Shows `kota: running repo: web indexed: yes`. During indexing, progress replaces `indexed`. */
export function showStatus(
	session: SessionView,
	project?: Pick<CodeProject, "root" | "state" | "indexed">,
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
