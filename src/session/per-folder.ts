import type { SessionView } from "./system.ts";

interface Options<Opened> {
	/** `isCurrent` returns false after `clear`, or after a `get` for another folder. */
	open(session: SessionView, isCurrent: () => boolean): Promise<Opened>;
	close?(opened: Opened): Promise<void>;
}

/** Opens a resource once per working folder, on first use. */
export function createPerFolder<Opened>({ open, close }: Options<Opened>) {
	let current: Folder<Opened> | undefined;
	const perFolder = {
		/** The resource if it is open, for callers that must not wait. */
		ready: undefined as Opened | undefined,
		/** Joins an `open` in flight, or retries a failed one. Closes the resource of another folder. */
		async get(session: SessionView): Promise<Opened> {
			const before = current;
			if (before?.cwd === session.cwd) return await before.opening;
			const folder: Folder<Opened> = {
				cwd: session.cwd,
				opening: open(session, () => current === folder),
			};
			// Set before awaiting: a concurrent call must find this folder.
			use(folder);
			folder.opening.then(
				(opened) => {
					if (current === folder) perFolder.ready = opened;
				},
				() => {
					if (current === folder) use(undefined);
				},
			);
			await leave(before);
			return await folder.opening;
		},
		/** Closes the resource, even if it is still opening. */
		async clear(): Promise<void> {
			const before = current;
			use(undefined);
			await leave(before);
		},
	};
	return perFolder;

	function use(folder: Folder<Opened> | undefined): void {
		current = folder;
		perFolder.ready = undefined;
	}

	async function leave(folder: Folder<Opened> | undefined): Promise<void> {
		if (!folder || !close) return;
		// If `open` failed, there is nothing to close, and its callers got the error.
		const opened = await folder.opening.catch(() => undefined);
		if (opened !== undefined) await close(opened);
	}
}

interface Folder<Opened> {
	readonly cwd: string;
	readonly opening: Promise<Opened>;
}
