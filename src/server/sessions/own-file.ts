import { existsSync } from "node:fs";
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import type { FileOwners } from "./file-owners.ts";
import type { FileHeader } from "./stored-sessions.ts";

/** The file of a session belongs to the session's principal, also before it is on disk. */
export class OwnFile {
	readonly #owners: Pick<FileOwners, "own" | "disown">;
	readonly #principal: string;
	/** The last known file, and whether it was ever on disk. */
	#known: { header: FileHeader; file: string | undefined; isWritten: boolean } | undefined;

	constructor(owners: Pick<FileOwners, "own" | "disown">, principal: string) {
		this.#owners = owners;
		this.#principal = principal;
	}

	/** Called before the file is written, so that other principals never see it. */
	own({ sessionManager, sessionFile: file }: AgentSession): void {
		const header = sessionManager.getHeader();
		if (!header) return;
		if (header.id !== this.#known?.header.id || file !== this.#known.file) {
			this.disownUnwritten();
			this.#known = { header, file, isWritten: false };
			this.#owners.own(this.#principal, header);
		}
		this.#known.isWritten ||= file !== undefined && existsSync(file);
	}

	/** Disowns a file that was never written, as in a session without messages. */
	disownUnwritten(): void {
		const own = this.#known;
		if (own && !own.isWritten && !(own.file && existsSync(own.file))) {
			this.#owners.disown(this.#principal, own.header);
		}
		this.#known = undefined;
	}
}
