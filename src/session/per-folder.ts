import type { SessionView } from "./system.ts";

interface Options<Opened> {
	/** `isCurrent` is false after `clear`, and once another folder is wanted. */
	open(session: SessionView, isCurrent: () => boolean): Promise<Opened>;
	close?(opened: Opened): Promise<void>;
}

/** A resource opened once per working folder, on first use. */
export function createPerFolder<Opened>({ open, close }: Options<Opened>) {
	let current: Folder<Opened> | undefined;

	return {
		/** Joins an opening in flight, retries a failed one, and closes another folder's. */
		async get(session: SessionView): Promise<Opened> {
			const before = current;
			if (before?.cwd === session.cwd) return await before.opening;
			const folder: Folder<Opened> = {
				cwd: session.cwd,
				opening: open(session, () => current === folder),
			};
			// Set before awaiting: a concurrent call must find it.
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
		/** For callers that must not wait. */
		get ready(): Opened | undefined {
			return current?.ready;
		},
		/** Also while it is opening. */
		async clear(): Promise<void> {
			const before = current;
			current = undefined;
			await leave(before);
		},
	};

	async function leave(folder: Folder<Opened> | undefined): Promise<void> {
		if (!folder || !close) return;
		// A failed opening needs no closing; its callers got the error.
		await folder.opening.catch(() => undefined);
		if (folder.ready !== undefined) await close(folder.ready);
	}
}

interface Folder<Opened> {
	readonly cwd: string;
	readonly opening: Promise<Opened>;
	ready?: Opened;
}
