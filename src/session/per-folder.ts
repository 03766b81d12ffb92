import type { SessionView } from "./system.ts";

/** Something that is opened once for a working folder, on first use. */
export interface PerFolder<Opened> {
	/**
	 * What is open for the folder of this session, or is being opened already. Another folder closes the one before. An
	 * opening that failed is tried again by the next call.
	 */
	get(session: SessionView): Promise<Opened>;
	/** What was last asked for, once it is open: for those who must not wait. */
	readonly ready: Opened | undefined;
	/** Closes and forgets it, also while it is being opened. */
	clear(): Promise<void>;
}

/** How something is opened and closed. */
export interface PerFolderOptions<Opened> {
	/** `isCurrent` says whether it is still wanted: not after `clear`, nor once another folder is. */
	open(session: SessionView, isCurrent: () => boolean): Promise<Opened>;
	/** Left out where nothing needs closing. */
	close?(opened: Opened): Promise<void>;
}

/** Makes an empty one; nothing is opened before the first `get`. */
export function createPerFolder<Opened>({
	open,
	close,
}: PerFolderOptions<Opened>): PerFolder<Opened> {
	let current: Folder<Opened> | undefined;

	return {
		async get(session) {
			const before = current;
			if (before?.cwd === session.cwd) return await before.opening;
			const folder: Folder<Opened> = {
				cwd: session.cwd,
				opening: open(session, () => current === folder),
			};
			// At once: a call side by side must find it.
			current = folder;
			folder.opening.then(
				(opened) => {
					folder.ready = opened;
				},
				() => {
					if (current === folder) current = undefined;
				},
			);
			await leave(before);
			return await folder.opening;
		},
		get ready() {
			return current?.ready;
		},
		async clear() {
			const before = current;
			current = undefined;
			await leave(before);
		},
	};

	async function leave(folder: Folder<Opened> | undefined): Promise<void> {
		if (!folder || !close) return;
		// What could not be opened needs no closing, and those who asked for it have been told.
		await folder.opening.catch(() => undefined);
		if (folder.ready !== undefined) await close(folder.ready);
	}
}

interface Folder<Opened> {
	readonly cwd: string;
	readonly opening: Promise<Opened>;
	ready?: Opened;
}
